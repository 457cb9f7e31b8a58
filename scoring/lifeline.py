"""Ends this process when its supervisor is gone, however it went.

The supervisor keeps the write end of a pipe open and hands the read end to every
child. A `kill -9` of the supervisor closes the write end: the child reads the end of
the file, and stops. Needs neither signals of the kernel's own nor Linux.
"""

from __future__ import annotations

import os
import signal
import threading
import time

DESCRIPTOR_VARIABLE = "BANDMASTER_LIFELINE_FD"
GRACE_SECONDS = 10.0  # between the request to stop and the end without one

_watched: set[int] = set()  # process ids: a forked child needs a thread of its own


def watch() -> None:
    """Watch the pipe named in the environment from a thread; once per process.

    Without the variable nothing happens: the process was started by hand. A variable
    that names no open descriptor counts as a supervisor that is gone.
    """
    raw = os.environ.get(DESCRIPTOR_VARIABLE, "")
    if not raw.isascii() or not raw.isdigit() or os.getpid() in _watched:
        return
    _watched.add(os.getpid())
    threading.Thread(
        target=_stop_at_end, args=(int(raw),), name="lifeline", daemon=True
    ).start()


def _stop_at_end(descriptor: int) -> None:
    try:
        while os.read(descriptor, 64):
            pass
    except OSError:  # closed or never open: nobody supervises this process
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(GRACE_SECONDS)
    os._exit(1)
