// Command goextender is the yardstick of the benchmarks: a scheduler extender that
// does the least an extender can do. It decodes the call, gives every node the same
// score (or lets every node pass), and encodes the answer. Standard library only.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"strconv"
)

// extenderArgs is what kube-scheduler sends; the pod is not looked into.
type extenderArgs struct {
	Pod       json.RawMessage
	Nodes     json.RawMessage
	NodeNames *[]string
}

type filterResult struct {
	Nodes                      json.RawMessage
	NodeNames                  *[]string
	FailedNodes                map[string]string
	FailedAndUnresolvableNodes map[string]string
	Error                      string
}

type hostPriority struct {
	Host  string
	Score int64
}

func main() {
	address := flag.String("listen", "127.0.0.1:8090", "address to listen on")
	flag.Parse()
	http.HandleFunc("/filter", serve(filter))
	http.HandleFunc("/prioritize", serve(prioritize))
	http.HandleFunc("/livez", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte("ok"))
	})
	log.Fatal(http.ListenAndServe(*address, nil))
}

func filter(args extenderArgs) any {
	return filterResult{Nodes: args.Nodes, NodeNames: args.NodeNames}
}

func prioritize(args extenderArgs) any {
	if args.NodeNames == nil {
		return []hostPriority{}
	}
	priorities := make([]hostPriority, len(*args.NodeNames))
	for i, name := range *args.NodeNames {
		priorities[i] = hostPriority{Host: name, Score: 5}
	}
	return priorities
}

func serve(verb func(extenderArgs) any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var args extenderArgs
		if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		body, err := json.Marshal(verb(args))
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		// in one piece: a chunked answer would cost kube-scheduler its connection
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(body)
	}
}
