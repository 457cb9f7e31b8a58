"""A fleet of node exporters behind one HTTP server, and its counters.

Every node has its own metrics path. Counters follow real time at the rate that was
set last, as those of a real machine would; Prometheus itself makes rates of them.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tools.lab.objects import BareNode

GIGABIT = 1.25e8  # bytes per second


@dataclass(frozen=True, slots=True)
class Load:
    """What a node does: bytes per second each way, and the share of CPU in use."""

    receive: float = 1e6
    transmit: float = 1e6
    cpu: float = 0.1


@dataclass(slots=True)
class Counter:
    """Grows at `rate` per second of real time."""

    total: float
    rate: float
    since: float

    def read(self, now: float) -> float:
        return self.total + self.rate * (now - self.since)

    def turn(self, rate: float, now: float) -> None:
        self.total, self.rate, self.since = self.read(now), rate, now


@dataclass(slots=True)
class Exporter:
    """The counters of one node; a silent one answers 503."""

    node: BareNode
    counters: dict[str, Counter]
    silent: bool = False

    def apply(self, load: Load, now: float) -> None:
        rates = {
            "receive": load.receive,
            "transmit": load.transmit,
            "user": load.cpu,
            "idle": 1.0 - load.cpu,
        }
        for name, rate in rates.items():
            self.counters.setdefault(name, Counter(1e6, 0.0, now)).turn(rate, now)

    def text(self, now: float) -> str:
        """The exposition; a loopback and a veth device are beside the real one."""
        read = {name: counter.read(now) for name, counter in self.counters.items()}
        lines = ["# TYPE node_network_receive_bytes_total counter"]
        for way in ("receive", "transmit"):
            family = f"node_network_{way}_bytes_total"
            lines.append(f'{family}{{device="eth0"}} {read[way]:.0f}')
            # more than any real link: counting it would spoil every score
            lines.append(f'{family}{{device="lo"}} {now * 1e10:.0f}')
            lines.append(f'{family}{{device="veth1a2b3c4d"}} {now * 1e10:.0f}')
        lines += [
            f'node_network_speed_bytes{{device="eth0"}} {GIGABIT:.0f}',
            'node_network_speed_bytes{device="veth1a2b3c4d"} 1250000000',
            f'node_cpu_seconds_total{{cpu="0",mode="idle"}} {read["idle"]:.3f}',
            f'node_cpu_seconds_total{{cpu="0",mode="user"}} {read["user"]:.3f}',
            f"node_time_seconds {now:.3f}",
            f'node_uname_info{{nodename="{self.node.name}",sysname="Linux"}} 1',
        ]
        return "\n".join([*lines, ""])


class Fleet:
    """Serves the exporters; use as a context manager."""

    def __init__(self, nodes: Iterable[BareNode]) -> None:
        self._lock = threading.Lock()
        self._exporters = {node.name: Exporter(node, {}) for node in nodes}
        self.loads: dict[str, Load] = {}
        self.apply({})
        fleet = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                status, body = fleet.answer(self.path)
                self.send_response(status)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """A scrape every few milliseconds is no news."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.port = int(self._server.server_address[1])
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    def __enter__(self) -> Fleet:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def apply(self, loads: Mapping[str, Load]) -> bool:
        """Sets what every node does from now on; unnamed ones are quiet.

        Returns whether anything changes.
        """
        wanted = {name: loads.get(name, Load()) for name in self._exporters}
        with self._lock:
            changed = wanted != self.loads
            now = time.time()
            for name, load in wanted.items():
                self._exporters[name].apply(load, now)
                self._exporters[name].silent = False
            self.loads = wanted
        return changed

    def silence(self, name: str) -> None:
        """That node's exporter fails until the next `apply`."""
        with self._lock:
            self._exporters[name].silent = True

    def answer(self, path: str) -> tuple[int, bytes]:
        exporter = self._exporters.get(path.strip("/").partition("/")[0])
        if exporter is None:
            return 404, b"no such node\n"
        with self._lock:
            if exporter.silent:
                return 503, b"collecting failed\n"
            return 200, exporter.text(time.time()).encode()

    def write_targets(self, path: Path) -> None:
        """The file_sd file; `instance` is ADDRESS:9100, as most installs have it."""
        groups = [
            {
                "targets": [f"127.0.0.1:{self.port}"],
                "labels": {
                    "__metrics_path__": f"/{name}/metrics",
                    "instance": f"{exporter.node.address}:9100",
                },
            }
            for name, exporter in self._exporters.items()
        ]
        path.write_text(json.dumps(groups), encoding="utf-8")
