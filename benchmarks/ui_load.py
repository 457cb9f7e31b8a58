"""What people's pages cost kube-scheduler: prioritize with and without a busy UI.

The web process and the extender share a machine and a database, as `up` runs them. One
client reads a page as fast as it can; another sends prioritize calls. Quiet and busy
rounds alternate in one run; the ratio of their medians is the figure.

    python -m benchmarks.ui_load [--rounds N] [--calls N] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.http import KNOWN_NODES, Caller, ours, request
from tests.scoring.extender import granian, material
from tests.scoring.extender.material import PRIORITIZE, QUERY
from tests.servers import accepts, free_port, wait_until

NAMES = 500
BAR = 2.0  # busy / quiet
PAGE = "/login"  # a whole page of templates, which everybody may read


@dataclass(frozen=True, slots=True)
class Result:
    """Median microseconds of a prioritize call, and pages read meanwhile."""

    names: int
    quiet: float
    busy: float
    pages: int

    @property
    def ratio(self) -> float:
        return self.busy / self.quiet


@contextmanager
def web(extender: granian.Extender) -> Iterator[int]:
    """The web process on the extender's data."""
    port = free_port()
    command = [
        *(sys.executable, "-m", "gunicorn", "--no-control-socket"),
        *("--worker-class", "gthread", "--workers", "1", "--threads", "4"),
        *("--log-level", "error", "--bind", f"127.0.0.1:{port}"),
        "console.wsgi:application",
    ]
    environ = {**extender.environ, "DJANGO_SETTINGS_MODULE": "console.settings"}
    environ["BANDMASTER_LOG_LEVEL"] = "ERROR"
    with subprocess.Popen(command, env=environ, cwd=granian.ROOT) as process:
        try:
            wait_until(lambda: accepts(port), "the pages answer", 30)
            yield port
        finally:
            process.terminate()


class Reader:
    """Reads a page over and over, in a thread, until told to stop."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self.pages = 0

    def __enter__(self) -> Reader:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(10)

    def _read(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
        while not self._stop.is_set():
            connection.request("GET", PAGE)
            response = connection.getresponse()
            response.read()
            if response.status != 200:
                raise RuntimeError(f"{PAGE} answered {response.status}")
            self.pages += 1
        connection.close()


def measure(directory: Path, *, rounds: int, calls: int) -> Result:
    own = request(f"{PRIORITIZE}?{QUERY}", list(material.fleet(KNOWN_NODES))[:NAMES])
    quiet: list[float] = []
    busy: list[float] = []
    pages = 0
    with ours(directory) as extender, web(extender) as port:
        caller = Caller(extender.port)
        for _ in range(rounds):
            quiet.append(statistics.median(caller.call(own) for _ in range(calls)))
            with Reader(port) as reader:
                busy.append(statistics.median(caller.call(own) for _ in range(calls)))
            pages += reader.pages
        caller.close()
    if not pages:
        raise RuntimeError("no page was read: the rounds were too short")
    return Result(
        NAMES, statistics.median(quiet) * 1e6, statistics.median(busy) * 1e6, pages
    )


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--calls", type=int, default=1500, help="calls of a round")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="bandmaster-ui-") as name:
        found = measure(Path(name) / "d", rounds=options.rounds, calls=options.calls)
    print(
        f"prioritize of {found.names} names: {found.quiet:.0f} us quiet, "
        f"{found.busy:.0f} us while {found.pages} pages are read: "
        f"{found.ratio:.2f} (bar {BAR})"
    )
    if options.json:
        row = asdict(found) | {"ratio": found.ratio}
        options.json.write_text(json.dumps(row, indent=2) + "\n")
    return 1 if found.ratio > BAR else 0


if __name__ == "__main__":
    sys.exit(main())
