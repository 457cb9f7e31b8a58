"""Cuts off clients that do not send the body they announced.

Nothing else bounds the reading of a body: a scheduler whose machine died in the middle
of a call would hold its thread for ever, and a few of them would hold all there are.
The server tells the address of a client but not its port, so all connections from that
address are ended: kube-scheduler opens new ones by itself.
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST_READ = 5.0  # seconds; kube-scheduler itself gives up after 5 by default
_DESCRIPTORS = Path("/dev/fd")


class Reads:
    """The bodies that are being read now. Safe to use from several threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._open: dict[object, tuple[float, str]] = {}

    @contextmanager
    def one(self, address: str) -> Iterator[None]:
        """Around the reading of one body from this address."""
        mark = object()
        self._open[mark] = (self._clock(), address)
        try:
            yield
        finally:
            del self._open[mark]

    def cut_off(self, port: int) -> int:
        """End for reading what takes too long; returns how many connections.

        `port` is the extender's own: other connections of the process stay.
        """
        latest = self._clock() - LONGEST_READ
        slow = {a for since, a in list(self._open.values()) if since < latest}
        return sum(_end_if(descriptor, slow, port) for descriptor in _sockets(slow))


def _sockets(wanted: set[str]) -> Iterator[int]:
    if not wanted:
        return
    for path in list(_DESCRIPTORS.iterdir()):
        with contextlib.suppress(OSError):  # closed meanwhile
            if stat.S_ISSOCK(os.fstat(int(path.name)).st_mode):
                yield int(path.name)


def _end_if(descriptor: int, addresses: set[str], port: int) -> bool:
    # a copy, so that the number cannot come to mean another connection meanwhile
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as one:
        if one.family not in (socket.AF_INET, socket.AF_INET6):
            return False
        if one.getsockname()[1] == port and one.getpeername()[0] in addresses:
            one.shutdown(socket.SHUT_RD)
            return True
    return False
