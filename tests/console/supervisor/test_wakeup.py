"""Every way to ask a program to end is heard."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

LISTEN = """
from console.supervisor.wakeup import Wakeup
wakeup = Wakeup()
wakeup.install()
print("listening", flush=True)
while not wakeup.stop_requests:
    wakeup.wait(60)
print("heard", flush=True)
"""


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda n: n.name
)
def test_a_request_to_stop_is_heard_at_once(number: signal.Signals) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", LISTEN], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "listening\n"
    process.send_signal(number)
    output, _ = process.communicate(timeout=30)
    assert (output, process.returncode) == ("heard\n", 0)
