"""Signals as something to wait for: no polling while nothing happens."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from types import FrameType

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Wakeup:
    """Counts the requests to stop; `wait` also returns when a child ends."""

    def __init__(self) -> None:
        self.stop_requests = 0
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)

    def install(self) -> None:
        """Take over the signals of this process, once, for the rest of its life."""
        signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        for number in STOPPING:
            signal.signal(number, self._note)
        signal.signal(signal.SIGCHLD, _nothing)

    def wait(self, seconds: float) -> None:
        """Return after `seconds`, or earlier at a signal."""
        select.select([self._reader], [], [], max(0.0, seconds))
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.stop_requests += 1


def _nothing(number: int, frame: FrameType | None) -> None:
    """A handler, because an ignored SIGCHLD would not wake anybody."""
