"""A tiny extender that gives the scores it is told: the protocol only."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Reply = tuple[int, bytes]


@dataclass(slots=True)
class Seen:
    """One request."""

    path: str
    headers: dict[str, str]
    body: Any
    client: tuple[str, int]


@dataclass(slots=True)
class Scripted:
    """What the extender answers by verb, and what it was asked."""

    replies: dict[str, Callable[[Any], Reply]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)
    port: int = 0
    at_end: list[Callable[[], None]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def score(self, **scores: int) -> None:
        """Answer prioritize with these; other nodes get 0."""
        self.replies["prioritize"] = lambda body: ok(
            [{"Host": n, "Score": scores.get(n, 0)} for n in body["NodeNames"]]
        )

    def answer(self, verb: str, document: object, status: int = 200) -> None:
        """Answer a verb with this JSON, whatever is asked."""
        self.replies[verb] = lambda body: (status, json.dumps(document).encode())


def ok(document: object) -> Reply:
    return 200, json.dumps(document).encode()


@contextlib.contextmanager
def scripted() -> Iterator[Scripted]:
    """A running extender on a free port."""
    script = Scripted()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["Content-Length"]))
            body = json.loads(raw)
            seen = Seen(self.path, dict(self.headers), body, self.client_address)
            script.seen.append(seen)
            verb = self.path.rpartition("/")[2].partition("?")[0]
            status, content = script.replies[verb](body)
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            if content.startswith(b"\x1f\x8b"):
                self.send_header("Content-Encoding", "gzip")
            self.end_headers()
            self.wfile.write(content)
            self.wfile.flush()

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    script.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield script
    finally:
        for close in script.at_end:
            close()
        server.shutdown()
        server.server_close()
        thread.join()
