module bandmaster.local/benchmarks/goextender

go 1.22
