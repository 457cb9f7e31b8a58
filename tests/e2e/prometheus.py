"""A real Prometheus that scrapes the fleet, and a proxy that can lie before it."""

from __future__ import annotations

import http.client
import json
import threading
import time
import urllib.parse
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.e2e.fleet import Fleet
from tools.lab.processes import Child, free_port, start, wait_until

SCRAPE_SECONDS = 5
CONFIG = """\
global: {{scrape_interval: {seconds}s, scrape_timeout: {seconds}s}}
scrape_configs:
- job_name: node-exporter
  file_sd_configs: [{{files: ["{targets}"]}}]
"""


class Prometheus:
    """The Debian program; it may be stopped and started again on the same data."""

    def __init__(self, directory: Path, fleet: Fleet) -> None:
        directory.mkdir(parents=True)
        self._directory = directory
        self.port = free_port()
        targets = directory / "targets.json"
        fleet.write_targets(targets)
        (directory / "prometheus.yml").write_text(
            CONFIG.format(seconds=SCRAPE_SECONDS, targets=targets), encoding="utf-8"
        )
        self._child: Child | None = None

    def __enter__(self) -> Prometheus:
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def start(self) -> None:
        self._child = start(
            "prometheus",
            [
                "prometheus",
                f"--config.file={self._directory / 'prometheus.yml'}",
                f"--storage.tsdb.path={self._directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            log=self._directory / "prometheus.log",
        )
        wait_until("prometheus", self._is_ready, 30)

    def stop(self) -> None:
        if self._child is not None:
            self._child.stop()
            self._child = None

    def _is_ready(self) -> bool:
        if self._child is not None:
            self._child.require_alive()
        try:
            return _exchange(self.port, "GET", "/-/ready", b"", {})[0] == 200
        except OSError:
            return False

    def values(self, query: str) -> dict[str, float]:
        """Address of the node -> value of an instant query."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": query})
        _, _, body = _exchange(self.port, "GET", path, b"", {})
        return {
            series["metric"].get("instance", "").rpartition(":")[0]: float(
                series["value"][1]
            )
            for series in json.loads(body)["data"]["result"]
        }


class Lie(StrEnum):
    """What a Prometheus, or what stands before it, may do wrong."""

    NONE = "none"
    SLOW = "slow"
    HTML = "html"
    UNAVAILABLE = "503"
    UNAUTHORIZED = "401"
    EMPTY = "empty"
    TRUNCATED = "truncated"


EMPTY_ANSWER = json.dumps(
    {"status": "success", "data": {"resultType": "vector", "result": []}}
).encode()
SCRIPTED = {
    Lie.HTML: (200, "text/html", b"<html><title>Log in</title></html>"),
    Lie.UNAVAILABLE: (503, "text/plain", b"Service Unavailable"),
    Lie.UNAUTHORIZED: (401, "text/plain", b"Unauthorized"),
    Lie.EMPTY: (200, "application/json", EMPTY_ANSWER),
}


class FaultProxy:
    """Passes everything on to Prometheus until it is told to lie."""

    def __init__(self, upstream: int) -> None:
        self.upstream = upstream
        self.lie = Lie.NONE
        self.port = free_port()
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> FaultProxy:
        self.open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def open(self) -> None:
        """Listens; nothing happens when it does already."""
        if self._server is not None:
            return
        self._server = ThreadingHTTPServer(
            ("127.0.0.1", self.port), type("Handler", (Handler,), {"proxy": self})
        )
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        """Connections are refused from now on, as by a machine without the service."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def reset(self) -> None:
        self.lie = Lie.NONE
        self.open()


class Handler(BaseHTTPRequestHandler):
    """One request to the proxy that the class names."""

    proxy: FaultProxy

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if self.proxy.lie in SCRIPTED:
            self._answer(*SCRIPTED[self.proxy.lie])
            return
        if self.proxy.lie is Lie.SLOW:
            self._drag()
            return
        kind = self.headers.get("Content-Type", "")
        headers = {"Content-Type": kind} if kind else {}
        try:
            status, kind, answer = _exchange(
                self.proxy.upstream, self.command, self.path, body, headers
            )
        except (OSError, http.client.HTTPException):
            self.close_connection = True
            return
        self._answer(status, kind, answer, cut=self.proxy.lie is Lie.TRUNCATED)

    def _answer(
        self, status: int, kind: str, body: bytes, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = True

    def _drag(self) -> None:
        """Says nothing until the other side is long gone, or the lie is over."""
        deadline = time.monotonic() + 60
        while self.proxy.lie is Lie.SLOW and time.monotonic() < deadline:
            time.sleep(0.1)
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Queries come every few seconds; the product's own log tells of them."""


def _exchange(
    port: int, method: str, path: str, body: bytes, headers: dict[str, str]
) -> tuple[int, str, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, body or None, headers)
        response = connection.getresponse()
        kind = response.headers.get("Content-Type", "")
        return response.status, kind, response.read()
    finally:
        connection.close()
