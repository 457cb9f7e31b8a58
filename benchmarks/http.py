"""What a call costs over HTTP, and what the extender holds in memory.

Four servers answer the same prioritize calls over one connection each, in turn, in one
run: `pong` (reads the body, constant answer), `neutral` (ours with the kill switch on:
decode and a constant score), `full` (ours, the whole formula) and `go` (a trivial
extender in Go). Servers and client are pinned to different cores where there are two.

    python -m benchmarks.http [--rounds N] [--calls N] [--memory-calls N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.real_scheduler import go_extender
from scoring.extender.serve import GRANIAN_ENV, HEADER_READ_MILLISECONDS
from tests.scoring.extender import granian, material
from tests.scoring.extender.material import FILTER, PRIORITIZE, QUERY
from tests.servers import accepts, free_port, wait_until

KNOWN_NODES = 5000
SIZES = (10, 100, 500, 1000, 5000)
FULL_OVER_PONG = {500: 8.0}  # bar by number of names
PSS_BAR = 160.0  # MB, main process and worker
FLAT_BAR = 8.0  # MB that 20,000 calls may add
MEMORY_NAMES = 500  # what a cluster of 5,000 nodes sends with the default sampling


@dataclass(frozen=True, slots=True)
class Timing:
    """Median microseconds of a call, by server, for one verb and number of names."""

    verb: str
    names: int
    pong: float
    neutral: float
    full: float
    go: float | None

    @property
    def full_over_pong(self) -> float:
        return self.full / self.pong

    @property
    def full_over_go(self) -> float | None:
        return None if self.go is None else self.full / self.go


@dataclass(frozen=True, slots=True)
class Memory:
    """Proportional set size in MB, main process and worker together."""

    nodes: int
    calls: int
    before: float
    after: float


class Caller:
    """One keep-alive connection that sends ready-made bytes and reads the answer."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def call(self, request: bytes) -> float:
        """Seconds from the first byte sent to the last one read."""
        started = time.perf_counter()
        self._socket.sendall(request)
        data = self._socket.recv(1 << 20)
        head, _, rest = data.partition(b"\r\n\r\n")
        missing = _content_length(head) - len(rest)
        while missing > 0:
            missing -= len(self._socket.recv(1 << 20))
        seconds = time.perf_counter() - started
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(head.decode(errors="replace").splitlines()[0])
        return seconds

    def close(self) -> None:
        self._socket.close()


def _content_length(head: bytes) -> int:
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            return int(line.partition(b":")[2])
    raise RuntimeError("an answer without Content-Length")


def request(path: str, names: list[str]) -> bytes:
    body = material.extender_args(names)
    head = (
        f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        f"Authorization: {material.AUTHORIZATION}\r\nAccept-Encoding: gzip\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def _pin(pid: int, core: int) -> None:
    """Every thread of a process to one core; without two cores there is no choice."""
    if not hasattr(os, "sched_setaffinity") or (os.cpu_count() or 1) < 2:
        return
    for task in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), {core})


def _listener(port: int) -> int:
    """The process of ours that listens on a port."""
    sockets = Path("/proc/net/tcp").read_text().splitlines()[1:]
    inodes = {
        f"socket:[{fields[9]}]"
        for fields in map(str.split, sockets)
        if int(fields[1].partition(":")[2], 16) == port and fields[3] == "0A"
    }
    for pid in granian.children(os.getpid()):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            if entry.is_symlink() and str(entry.readlink()) in inodes:
                return pid
    raise RuntimeError(f"nobody listens on port {port}")


@contextmanager
def pong() -> Iterator[int]:
    port = free_port()
    command = [
        *(sys.executable, "-m", "granian", "--interface", "wsgi", "--http", "1"),
        *("--no-ws", "--workers", "1", "--blocking-threads", "1", "--no-access-log"),
        *("--http1-header-read-timeout", str(HEADER_READ_MILLISECONDS)),
        *("--log-level", "warning", "--port", str(port), "benchmarks.pong:application"),
    ]
    environ = {**os.environ, **GRANIAN_ENV}
    with subprocess.Popen(command, env=environ, cwd=granian.ROOT) as process:
        try:
            wait_until(lambda: accepts(port), "pong listens")
            for pid in (process.pid, *granian.children(process.pid)):
                _pin(pid, 1)
            yield port
        finally:
            process.terminate()


@contextmanager
def ours(directory: Path, *, neutral: str = "") -> Iterator[granian.Extender]:
    extender = granian.new(directory)
    extender.seed("snapshot", f"fleet={KNOWN_NODES}")
    with extender.running(environ={"BANDMASTER_NEUTRAL": neutral}) as process:
        extender.wait_loaded()
        for pid in (process.pid, *granian.children(process.pid)):
            _pin(pid, 1)
        yield extender


def timings(directory: Path, *, rounds: int, calls: int) -> list[Timing]:
    names = list(material.fleet(KNOWN_NODES))
    with ExitStack() as stack:
        ports = {
            "pong": stack.enter_context(pong()),
            "neutral": stack.enter_context(ours(directory / "n", neutral="x")).port,
            "full": stack.enter_context(ours(directory / "f")).port,
        }
        if shutil.which("go"):
            port = ports["go"] = stack.enter_context(go_extender(directory))
            wait_until(lambda: accepts(port), "the Go extender listens")
            _pin(_listener(port), 1)
        callers = {server: Caller(port) for server, port in ports.items()}
        for caller in callers.values():
            stack.callback(caller.close)
        _pin(os.getpid(), 0)
        return [
            _timing(callers, path, names[:size], rounds=rounds, calls=calls)
            for path in (PRIORITIZE, FILTER)
            for size in SIZES
        ]


def _timing(
    callers: dict[str, Caller], path: str, names: list[str], *, rounds: int, calls: int
) -> Timing:
    verb = path.rpartition("/")[2]
    own = request(f"{path}?{QUERY}", names)
    requests = dict.fromkeys(callers, own) | {"go": request(f"/{verb}", names)}
    count = max(20, calls // (1 + len(names) // 500))
    seen: dict[str, list[float]] = {server: [] for server in callers}
    for _ in range(rounds):
        for server, caller in callers.items():
            times = [caller.call(requests[server]) for _ in range(count)]
            seen[server].append(statistics.median(times))
    median = {server: statistics.median(t) * 1e6 for server, t in seen.items()}
    return Timing(
        verb,
        len(names),
        median["pong"],
        median["neutral"],
        median["full"],
        median.get("go"),
    )


def memory(directory: Path, calls: int) -> Memory:
    names = list(material.fleet(KNOWN_NODES))
    with ours(directory) as extender:
        caller = Caller(extender.port)
        requests = [
            request(f"{path}?{QUERY}", names[start : start + MEMORY_NAMES])
            for start in range(0, KNOWN_NODES, MEMORY_NAMES)
            for path in (PRIORITIZE, FILTER)
        ]
        requests.append(request(f"{PRIORITIZE}?{QUERY}", names))
        for i in range(1000):
            caller.call(requests[i % len(requests)])
        before = _pss(extender.pid)
        for i in range(calls):
            caller.call(requests[i % len(requests)])
        after = _pss(extender.pid)
        caller.close()
    return Memory(KNOWN_NODES, calls, before, after)


def _pss(pid: int) -> float:
    both = (pid, *granian.children(pid))
    return sum(granian.pss_megabytes(each) for each in both)


def report(measured: Sequence[Timing], held: Memory) -> str:
    lines = ["verb       names   pong neutral    full      go  full/pong  full/go"]
    for row in measured:
        go = f"{row.go:7.0f}" if row.go is not None else "      -"
        over = (
            f"{row.full_over_go:8.2f}" if row.full_over_go is not None else "       -"
        )
        lines.append(
            f"{row.verb:10s} {row.names:5d} {row.pong:6.0f} {row.neutral:7.0f} "
            f"{row.full:7.0f} {go} {row.full_over_pong:10.2f} {over}"
        )
    lines.append(
        f"PSS of main and worker at {held.nodes} nodes: {held.before:.1f} MB, "
        f"{held.after:.1f} MB after {held.calls} calls more"
    )
    return "\n".join(lines)


def missed(measured: Sequence[Timing], held: Memory) -> list[str]:
    found = [
        f"{row.names} names: full/pong {row.full_over_pong:.2f} is over {bar}"
        for row in measured
        if row.verb == "prioritize"
        and (bar := FULL_OVER_PONG.get(row.names)) is not None
        and row.full_over_pong > bar
    ]
    if held.after > PSS_BAR:
        found.append(f"PSS {held.after:.0f} MB is over {PSS_BAR:.0f} MB")
    if held.after - held.before > FLAT_BAR:
        found.append(f"{held.calls} calls added {held.after - held.before:.1f} MB")
    return found


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--calls", type=int, default=200, help="calls of a round")
    parser.add_argument("--memory-calls", type=int, default=20_000)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="bandmaster-http-") as name:
        directory = Path(name)
        held = memory(directory / "m", options.memory_calls)
        measured = timings(directory, rounds=options.rounds, calls=options.calls)
    print(report(measured, held))
    if options.json:
        rows = [
            {
                **asdict(row),
                "full_over_pong": row.full_over_pong,
                "full_over_go": row.full_over_go,
            }
            for row in measured
        ]
        found = {"http": rows, "memory": asdict(held)}
        options.json.write_text(json.dumps(found, indent=2) + "\n")
    over = missed(measured, held)
    print("\n".join(over) or "every bar is met")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
