"""Clients that stop in the middle of a body."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from scoring.extender.serve import THREADS
from scoring.extender.slowclients import LONGEST_READ, Reads
from scoring.extender.wsgi import SLOW_CLIENT
from tests.scoring.extender import granian, material
from tests.scoring.extender.granian import Extender
from tests.scoring.extender.material import FILTER
from tests.servers import wait_until

NAMES = list(material.USE)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """The server's end and the client's end of one TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        server, _ = listener.accept()
        with closing(server), closing(client):
            yield server, client


@pytest.mark.parametrize(
    ("waited", "address", "other_port", "cut"),
    [
        pytest.param(LONGEST_READ + 1, "127.0.0.1", 0, 1, id="too-long"),
        pytest.param(LONGEST_READ - 1, "127.0.0.1", 0, 0, id="in-time"),
        pytest.param(LONGEST_READ + 1, "127.0.0.2", 0, 0, id="of-another-client"),
        pytest.param(LONGEST_READ + 1, "127.0.0.1", 1, 0, id="on-another-port"),
    ],
)
def test_only_what_takes_too_long_is_cut_off(
    pair: tuple[socket.socket, socket.socket],
    waited: float,
    address: str,
    other_port: int,
    cut: int,
) -> None:
    server, _ = pair
    now = 100.0
    reads = Reads(clock=lambda: now)
    with reads.one(address):
        now += waited
        assert reads.cut_off(server.getsockname()[1] + other_port) == cut
    server.setblocking(False)
    if cut:
        assert server.recv(1) == b""
    else:
        with pytest.raises(BlockingIOError):
            server.recv(1)


def test_a_body_that_was_read_is_forgotten(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    now = 100.0
    reads = Reads(clock=lambda: now)
    with pytest.raises(OSError, match="gone"), reads.one("127.0.0.1"):
        raise OSError("gone")
    now += LONGEST_READ + 1
    assert reads.cut_off(pair[0].getsockname()[1]) == 0


def half_a_call(extender: Extender) -> socket.socket:
    body = material.extender_args(NAMES)
    head = (
        f"POST {FILTER} HTTP/1.1\r\nHost: x\r\nAuthorization: {material.AUTHORIZATION}"
        f"\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    client = socket.create_connection(("127.0.0.1", extender.port), timeout=30)
    client.sendall(head.encode() + body[:-5])
    return client


def test_slow_clients_neither_block_others_nor_stay(tmp_path: Path) -> None:
    extender = granian.new(tmp_path / "data")
    with extender.running():
        extender.wait_loaded()
        with closing(half_a_call(extender)):
            started = time.monotonic()
            assert extender.scores(NAMES)
            assert time.monotonic() - started < LONGEST_READ / 2
        slow = [half_a_call(extender) for _ in range(THREADS)]
        for client in slow:  # without a bound these would never end
            client.recv(1000)
            client.close()
        assert extender.scores(NAMES)
        wait_until(
            lambda: SLOW_CLIENT in extender.get("/readyz")["detail"], "the sentence", 20
        )
    assert "Traceback" not in extender.log
