"""The simulator's HTTP server: Prometheus and Kubernetes behind one port."""

from __future__ import annotations

import hmac
import logging
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit

from scoring.simulator import kubernetesapi, prometheusapi
from scoring.simulator.answers import Answer, text_answer
from scoring.simulator.cluster import SimulatedCluster

logger = logging.getLogger(__name__)

HOST = "127.0.0.1"
LARGEST_BODY = 1024 * 1024  # bytes
IDLE_SECONDS = 75.0  # after which an unused connection is closed
_ALIVE = frozenset({"/readyz", "/livez", "/healthz"})


class Server(ThreadingHTTPServer):
    """Serves one cluster on loopback; whoever has `token` may use Kubernetes' part."""

    daemon_threads = True  # an open watch must not keep the process
    request_queue_size = 64

    def __init__(self, port: int, cluster: SimulatedCluster, token: str) -> None:
        super().__init__((HOST, port), _Handler)
        self.cluster = cluster
        self._authorization = f"Bearer {token}".encode()

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that went away is no event; anything else is a flaw of ours."""
        if not isinstance(sys.exception(), ConnectionError):
            logger.exception("a request could not be answered")

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://{HOST}:{self.server_address[1]}"

    def admits(self, authorization: str) -> bool:
        """Whether the header carries the token."""
        given = authorization.encode("utf-8", "replace")
        return hmac.compare_digest(given, self._authorization)


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "bandmaster-simulator"
    sys_version = ""
    timeout = IDLE_SECONDS
    wbufsize = -1  # head and body in one piece
    disable_nagle_algorithm = True
    server: Server

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        try:
            body = self._body()
            answer = self._route(body)
            if answer.stream is None:
                self._send(answer)
            else:
                self._send_stream(answer, answer.stream)
        except (ConnectionError, TimeoutError):
            self.close_connection = True

    def _body(self) -> bytes | None:
        """None when it is too large or of unknown length."""
        length = self.headers.get("Content-Length") or "0"
        chunked = "Transfer-Encoding" in self.headers
        if chunked or not length.isdigit() or int(length) > LARGEST_BODY:
            self.close_connection = True
            return None
        return self.rfile.read(int(length))

    def _route(self, body: bytes | None) -> Answer:
        if body is None:
            sentence = "send a body of at most 1 MB with its Content-Length"
            return text_answer(sentence, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path in _ALIVE:
            return text_answer("ok")
        form = query | dict(parse_qsl(body.decode("utf-8", "replace")))
        found = prometheusapi.answer(self.server.cluster, parts.path, form)
        if found is not None:
            return found
        if not self.server.admits(self.headers.get("Authorization", "")):
            sentence = "use the token of the simulator's kubeconfig"
            return kubernetesapi.failure(HTTPStatus.UNAUTHORIZED, sentence)
        if self.command == "GET":
            return kubernetesapi.read(self.server.cluster, parts.path, query)
        return kubernetesapi.write(self.server.cluster, parts.path, body)

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    def _send_stream(self, answer: Answer, pieces: Iterator[bytes]) -> None:
        self.close_connection = True
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        for piece in pieces:
            if piece:
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: object) -> None:
        """Requests come every few seconds and tell nothing."""
