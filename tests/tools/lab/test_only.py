"""One lab a machine: who holds the name, and that it outlasts nobody."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid

import pytest

from tools.lab import only

HOLD = """
import sys, time
from tools.lab import only
with only.holding(0, name=chr(0) + sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def name() -> str:
    return f"\0bandmaster-test-{uuid.uuid4()}"


def test_a_second_holder_is_refused_and_told_who_holds(name: str) -> None:
    with only.holding(0, name=name):
        assert only.holder(name=name) == os.getpid()
        with pytest.raises(only.TakenError), only.holding(0, name=name):
            pass
    assert only.holder(name=name) is None


def test_a_killed_holder_lets_go(name: str) -> None:
    holding = subprocess.Popen(
        [sys.executable, "-c", HOLD, name[1:]], stdout=subprocess.PIPE
    )
    with holding:
        assert holding.stdout is not None
        assert holding.stdout.readline() == b"held\n"
        assert only.holder(name=name) == holding.pid
        holding.kill()
    started = time.monotonic()
    with only.holding(5, name=name):
        assert time.monotonic() - started < 5
