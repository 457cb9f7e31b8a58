"""Real bytes between nodes, at a steady pace.

`python -m tools.lab.traffic NODE NODE MEGABYTES SECONDS` sends from the first node to
the second; root only. A burst would be over- or underestimated by `rate()`, which
extrapolates: what shall be measured has to flow for longer than the window.
"""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.lab.place import Node

ROOT = Path(__file__).resolve().parents[2]
PORT = 5201
PAUSE_SECONDS = 0.02
CONNECT_SECONDS = 10.0


def send_between(source: Node, target: Node, total: int, seconds: float) -> None:
    """Sends `total` bytes within `seconds`; returns when all have arrived.

    Raises:
        subprocess.CalledProcessError: an end of the connection failed.
    """
    listening = subprocess.Popen(_command(target, "receive", target.address))
    try:
        sending = _command(source, "send", target.address, str(total), str(seconds))
        subprocess.run(sending, check=True, timeout=seconds + 2 * CONNECT_SECONDS)
        if listening.wait(CONNECT_SECONDS) != 0:
            raise subprocess.CalledProcessError(listening.returncode, listening.args)
    finally:
        listening.kill()
        listening.wait()


def _command(node: Node, *arguments: str) -> list[str]:
    program = [sys.executable, "-c", ENTRY.format(root=str(ROOT)), *arguments]
    return ["ip", "netns", "exec", node.netns, *program]


# the working directory may be anywhere, and -m would take the module from there
ENTRY = "import sys; sys.path.insert(0, {root!r}); from tools.lab import traffic; \
traffic.end_of_line(sys.argv[1:])"


def end_of_line(arguments: Sequence[str]) -> None:
    """One end of the connection, inside a node's network namespace."""
    if arguments[0] == "receive":
        _receive(arguments[1])
    else:
        _send(arguments[1], int(arguments[2]), float(arguments[3]))


def _receive(address: str) -> None:
    with socket.create_server((address, PORT)) as server:
        server.settimeout(CONNECT_SECONDS)
        connection, _ = server.accept()
        with connection:
            while connection.recv(1 << 20):
                pass


def _send(address: str, total: int, seconds: float) -> None:
    with _connect(address) as connection:
        started = time.monotonic()
        sent = 0
        while sent < total:
            due = int(total * min(1.0, (time.monotonic() - started) / seconds))
            connection.sendall(bytes(due - sent))
            sent = due
            time.sleep(PAUSE_SECONDS)


def _connect(address: str) -> socket.socket:
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        try:
            return socket.create_connection((address, PORT), timeout=CONNECT_SECONDS)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


if __name__ == "__main__":
    first, second, megabytes, duration = sys.argv[1:]
    send_between(
        Node(int(first.removeprefix("node-"))),
        Node(int(second.removeprefix("node-"))),
        int(float(megabytes) * 1e6),
        float(duration),
    )
