from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from scoring.lifeline import DESCRIPTOR_VARIABLE

READY = (
    "import signal, time, scoring.lifeline as l; {}; l.watch(); print('on', flush=True)"
)
SLEEP = "time.sleep(60)"
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN); l.GRACE_SECONDS = 0.2"


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        try:
            os.close(descriptor)
        except OSError:
            continue


def child(
    reader: int | str, *, before: str = "pass", after: str = SLEEP
) -> subprocess.Popen[bytes]:
    """A process that has run `before`, watches, and then does `after`."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{READY.format(before)}; {after}"],
        env={**os.environ, DESCRIPTOR_VARIABLE: str(reader)},
        pass_fds=(reader,) if isinstance(reader, int) else (),
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"on\n"
    process.stdout.close()
    return process


def test_the_end_of_the_pipe_ends_the_process(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    process = child(reader)
    assert process.poll() is None
    os.close(writer)
    assert process.wait(30) == -15


def test_a_process_that_does_not_stop_is_ended(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    process = child(reader, before=DEAF)
    os.close(writer)
    assert process.wait(30) == 1


def test_without_a_supervisor_nothing_happens() -> None:
    process = child("", after="pass")
    assert process.wait(30) == 0
