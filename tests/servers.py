"""Real servers for tests, each on a free port of loopback with its own directory."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
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

START_SECONDS = 30.0
_POSTGRES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]


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


def has_prometheus() -> bool:
    return bool(shutil.which("prometheus") and shutil.which("promtool"))


@contextlib.contextmanager
def prometheus(
    directory: Path, openmetrics: str = "", config: str = "", port: int = 0
) -> Iterator[str]:
    """The URL of a Prometheus that holds `openmetrics` (ends with "# EOF")."""
    data = directory / "data"
    data.mkdir(parents=True, exist_ok=True)
    (directory / "prometheus.yml").write_text(config or "scrape_configs: []\n")
    if openmetrics:
        backfill(directory, openmetrics)
    port = port or free_port()
    command = [
        "prometheus",
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
            *("promtool", "tsdb", "create-blocks-from", "openmetrics"),
            str(source),
            str(directory / "data"),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )


def has_redis() -> bool:
    return shutil.which("redis-server") is not None


@contextlib.contextmanager
def redis(directory: Path) -> Iterator[str]:
    """The broker URL of a Redis that writes nothing to disk."""
    port = free_port()
    command = [
        *("redis-server", "--port", str(port), "--bind", "127.0.0.1"),
        *("--save", "", "--appendonly", "no", "--dir", str(directory)),
    ]
    with running(command, directory / "redis.log"):
        wait_until(lambda: accepts(port), "redis")
        yield f"redis://127.0.0.1:{port}/0"


def has_postgres() -> bool:
    return bool(_POSTGRES) and _unprivileged() is not None


def _unprivileged() -> str | None:
    """Who may run PostgreSQL: it refuses root. Empty = this user."""
    if os.getuid() != 0:
        return ""
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        return None


@contextlib.contextmanager
def postgres(directory: Path) -> Iterator[str]:
    """The database URL of a fresh PostgreSQL cluster."""
    user = _unprivileged() or ""
    home = directory / "postgres"
    home.mkdir()
    if user:
        shutil.chown(home, user)
        for parent in (directory, *directory.parents):
            if parent != Path("/") and parent.owner() == pwd.getpwuid(0).pw_name:
                parent.chmod(parent.stat().st_mode | 0o011)  # it must pass through
    port, binaries = free_port(), _POSTGRES[0]
    subprocess.run(
        [
            *(str(binaries / "initdb"), "-D", str(home / "data"), "-U", "bandmaster"),
            *("-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"),
        ],
        check=True,
        capture_output=True,
        user=user or None,
        cwd=home,
        timeout=60,
    )
    command = [
        *(str(binaries / "postgres"), "-D", str(home / "data"), "-p", str(port)),
        *("-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={home}"),
        *("-c", "fsync=off"),
    ]
    with running(command, directory / "postgres.log", user=user):
        wait_until(lambda: _serves(port), "postgres")
        yield f"postgres://bandmaster@127.0.0.1:{port}/postgres"


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


@dataclass(slots=True)
class Seen:
    """One request as it arrived."""

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
        request = Seen(
            self.command, self.path, dict(self.headers), self.rfile.read(length)
        )
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
            self.wfile.write(reply.body[: reply.cut])
        self.close_connection = reply.cut is not None

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
