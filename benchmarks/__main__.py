"""All benchmarks, one after the other: `make bench`.

    python -m benchmarks [--only NAME ...] [--json FILE]

Each prints its own table of ratios measured in one run. With --json all figures go
into one file. Exit status 1 when a bar is missed or a benchmark cannot run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

NAMES = ("inprocess", "http", "ui_load", "tick", "real_scheduler")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--json", type=Path, help="write every figure there")
    options = parser.parse_args()
    figures: dict[str, object] = {}
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            result = Path(folder) / f"{name}.json"
            print(f"\n== {name}", flush=True)
            status = subprocess.run(
                [sys.executable, "-m", f"benchmarks.{name}", "--json", str(result)],
                check=False,
            ).returncode
            if status:
                failed.append(name)
            if result.exists():
                figures[name] = json.loads(result.read_text(encoding="utf-8"))
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    print(f"\nmissed a bar or could not run: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
