"""One lab a machine: whoever holds the name may start one, or sweep.

The name is an abstract Unix socket. The kernel lets go of it with the process, so
that a crash leaves no stale lock, and it tells who holds it.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager

NAME = "\0bandmaster-lab"
PEER = struct.Struct("3i")  # process id, user, group


class TakenError(Exception):
    """Another process holds the name."""


@contextmanager
def holding(seconds: float, *, name: str = NAME) -> Iterator[None]:
    """Holds the name; waits that long for a holder that is just ending.

    Raises:
        TakenError: it is still held.
    """
    deadline = time.monotonic() + seconds
    with socket.socket(socket.AF_UNIX) as held:
        while True:
            try:
                held.bind(name)
                break
            except OSError as exc:
                if time.monotonic() > deadline:
                    raise TakenError from exc
                time.sleep(0.1)
        held.listen()
        yield


def holder(*, name: str = NAME) -> int | None:
    """The process id of the holder; None = nobody."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.settimeout(1.0)
        try:
            asking.connect(name)
        except OSError:
            return None
        told = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEER.size)
    return int(PEER.unpack(told)[0])
