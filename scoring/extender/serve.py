"""Starts granian for the extender; light, because the process that serves is a child.

`python -m scoring.extender.serve --host H --port P` is the main process: it holds the
socket and starts one worker, which loads `console.extender`. Both end when the
supervisor's lifeline closes, and the worker ends with the main process: granian alone
would leave it answering from state that nobody refreshes.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import threading
from multiprocessing.process import BaseProcess

from scoring import lifeline

TARGET = "console.extender:application"
# kube-scheduler closes idle connections after 90 s; granian allows 60 at most, and a
# client that calls once a minute would meet the close at 60
HEADER_READ_MILLISECONDS = 47_000
# a second one starts only while a call is being read or answered: one slow client must
# not keep everybody else waiting. More would be slower, and granian would warn of it
THREADS = 3
STOP_SECONDS = 3  # for the worker to finish its answers
# answers above 300 KB otherwise give their memory back each time and fault it in again
GRANIAN_ENV: dict[str, str] = {
    "MALLOC_TRIM_THRESHOLD_": "536870912",
    "MALLOC_MMAP_THRESHOLD_": "536870912",
    "MALLOC_TOP_PAD_": "16777216",
    "MALLOC_ARENA_MAX": "2",
    "OPENBLAS_NUM_THREADS": "1",
}


def granian_argv(host: str, port: int) -> list[str]:
    """The whole command, interpreter included; run it with GRANIAN_ENV added."""
    module = "scoring.extender.serve"
    return [sys.executable, "-m", module, "--host", host, "--port", str(port)]


def end_with_parent() -> bool:
    """In a worker: end at once when the main process is gone, however it went.

    False when this process is nobody's worker.
    """
    parent = multiprocessing.parent_process()
    if parent is None:
        return False
    threading.Thread(
        target=_wait_for_end, args=(parent,), name="parent-watch", daemon=True
    ).start()
    return True


def _wait_for_end(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


def main(argv: list[str] | None = None) -> None:
    """Serve until a signal or the end of the lifeline."""
    parser = argparse.ArgumentParser(prog="scoring.extender.serve")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8001)
    options = parser.parse_args(argv)
    for name, value in GRANIAN_ENV.items():
        # numpy reads its variable in the worker; malloc has read its own by now
        os.environ.setdefault(name, value)
    lifeline.watch()
    _serve(options.host, options.port)


def _serve(host: str, port: int) -> None:
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server import Server

    Server(
        TARGET,
        address=host,
        port=port,
        interface=Interfaces.WSGI,
        http=HTTPModes.http1,
        websockets=False,
        workers=1,
        blocking_threads=THREADS,
        http1_settings=HTTP1Settings(header_read_timeout=HEADER_READ_MILLISECONDS),
        log_level=LogLevels.warning,
        log_access=False,
        workers_kill_timeout=STOP_SECONDS,
    ).serve()


if __name__ == "__main__":
    main()
