"""Real servers for tests, each on a free port of loopback with its own directory."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests import components

START_SECONDS = 30.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(
    ready: Callable[[], bool], what: str, seconds: float = START_SECONDS
) -> None:
    """Poll until `ready`; AssertionError names `what` when it never is."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ready():
            return
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds:g} s")


def answers(url: str) -> bool:
    """Whether an HTTP GET of `url` is answered with a success."""
    try:
        with urllib.request.urlopen(url, timeout=2):
            return True
    except (urllib.error.URLError, OSError):
        return False


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


@contextlib.contextmanager
def running(
    arguments: list[str], log: Path, *, user: str = "", env: Mapping[str, str] = {}
) -> Iterator[subprocess.Popen[bytes]]:
    """A child process, stopped at the end, by force if need be."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            arguments,
            stdout=output,
            stderr=subprocess.STDOUT,
            user=user or None,
            env={**os.environ, **env},
        )
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(10)


@contextlib.contextmanager
def prometheus(
    directory: Path, openmetrics: str = "", config: str = "", port: int = 0
) -> Iterator[str]:
    """The URL of a Prometheus that holds `openmetrics` (ends with "# EOF")."""
    program = components.require("prometheus")
    data = directory / "data"
    data.mkdir(parents=True, exist_ok=True)
    (directory / "prometheus.yml").write_text(config or "scrape_configs: []\n")
    if openmetrics:
        backfill(directory, openmetrics)
    port = port or free_port()
    command = [
        program,
        f"--config.file={directory / 'prometheus.yml'}",
        f"--storage.tsdb.path={data}",
        f"--web.listen-address=127.0.0.1:{port}",
        "--web.enable-lifecycle",
    ]
    url = f"http://127.0.0.1:{port}"
    with running(command, directory / "prometheus.log"):
        wait_until(lambda: answers(f"{url}/-/ready"), "prometheus")
        yield url


def backfill(directory: Path, openmetrics: str) -> None:
    """Write blocks, so that a test decides every sample and its time."""
    source = directory / "openmetrics.txt"
    source.write_text(openmetrics)
    subprocess.run(
        [
            components.require("promtool"),
            *("tsdb", "create-blocks-from", "openmetrics"),
            str(source),
            str(directory / "data"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )


@contextlib.contextmanager
def redis(directory: Path, port: int = 0) -> Iterator[str]:
    """The broker URL of a Redis that writes nothing to disk."""
    port = port or free_port()
    command = [
        components.require("redis-server"),
        *("--port", str(port), "--bind", "127.0.0.1"),
        *("--save", "", "--appendonly", "no", "--dir", str(directory)),
    ]
    with running(command, directory / "redis.log"):
        wait_until(lambda: accepts(port), "redis")
        yield f"redis://127.0.0.1:{port}/0"


def _unprivileged() -> str:
    """Who runs PostgreSQL: it refuses root. Empty = this user."""
    if os.getuid() != 0:
        return ""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        components.missing("PostgreSQL refuses root, and there is no user postgres")


@dataclass(frozen=True, slots=True)
class Postgres:
    """A PostgreSQL cluster that a test may stop and start again."""

    url: str
    command: list[str]
    log: Path
    user: str
    port: int

    @contextlib.contextmanager
    def running(self) -> Iterator[str]:
        """The database URL, while the server runs."""
        with running(self.command, self.log, user=self.user) as process:
            wait_until(lambda: _serves(self.port), "postgres")
            yield self.url
            # SIGINT drops the clients; SIGTERM would wait for them
            process.send_signal(signal.SIGINT)
            process.wait(60)


@contextlib.contextmanager
def postgres(directory: Path) -> Iterator[str]:
    """The database URL of a fresh PostgreSQL cluster."""
    with new_postgres(directory).running() as url:
        yield url


def new_postgres(directory: Path) -> Postgres:
    """Make a PostgreSQL cluster, not yet running."""
    binaries = Path(components.require("postgres"))
    user = _unprivileged()
    home = directory / "postgres"
    home.mkdir()
    if user:
        shutil.chown(home, user)
        for parent in (directory, *directory.parents):
            if parent != Path("/") and parent.owner() == pwd.getpwuid(0).pw_name:
                parent.chmod(parent.stat().st_mode | 0o011)  # it must pass through
    port = free_port()
    subprocess.run(
        [
            *(str(binaries / "initdb"), "-D", str(home / "data"), "-U", "bandmaster"),
            *("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"),
        ],
        check=True,
        capture_output=True,
        user=user or None,
        cwd=home,
        timeout=180,
    )
    command = [
        *(str(binaries / "postgres"), "-D", str(home / "data"), "-p", str(port)),
        *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={home}"),
        *("-c", "fsync=off"),
    ]
    url = f"postgres://bandmaster@127.0.0.1:{port}/postgres"
    return Postgres(url, command, directory / "postgres.log", user, port)


def _serves(port: int) -> bool:
    import psycopg

    try:
        psycopg.connect(
            f"host=127.0.0.1 port={port} user=bandmaster dbname=postgres",
            connect_timeout=2,
        ).close()
    except psycopg.OperationalError:
        return False
    return True


@dataclass(slots=True)
class Reply:
    """What the scripted server answers; `delay` and `cut` are the faults."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(
        default_factory=lambda: {"Content-Type": "application/json"}
    )
    delay: float = 0.0  # seconds before the first byte
    cut: int | None = None  # bytes after which the connection ends
    pause: float = 0.0  # seconds between two bytes


@dataclass(slots=True)
class Seen:
    """One request as it arrived; names of headers in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Scripted(ThreadingHTTPServer):
    """Answers what `answer` says: for the faults that a real server cannot produce."""

    daemon_threads = True
    answer: Callable[[Seen], Reply]
    seen: list[Seen]
    closing: threading.Event

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Scripted

    def do_GET(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Seen(self.command, self.path, headers, self.rfile.read(length))
        self.server.seen.append(request)
        reply = self.server.answer(request)
        if reply.delay and self.server.closing.wait(reply.delay):
            return
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self._write(reply)
        self.close_connection = reply.cut is not None

    def _write(self, reply: Reply) -> None:
        if not reply.pause:
            self.wfile.write(reply.body[: reply.cut])
            return
        for at in range(len(reply.body)):
            self.wfile.write(reply.body[at : at + 1])
            if self.server.closing.wait(reply.pause):
                return

    do_POST = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Tests read what was asked from `seen`."""


@contextlib.contextmanager
def scripted(answer: Callable[[Seen], Reply] | Reply) -> Iterator[Scripted]:
    """A server that answers every request with the reply, or asks the function."""
    server = Scripted(("127.0.0.1", 0), _Handler)
    server.answer = (lambda _: answer) if isinstance(answer, Reply) else answer
    server.seen, server.closing = [], threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.closing.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
