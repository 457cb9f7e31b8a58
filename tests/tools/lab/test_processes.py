"""Children of the lab: none outlives its parent, none is left when it is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tools.lab import processes

PARENT = """
import sys, time
from pathlib import Path
from tools.lab import processes
child = processes.start("sleep", ["sleep", "300"], log=Path(sys.argv[1]))
print(child.pid, flush=True)
time.sleep(300)
"""


def test_stop_ends_the_grandchildren_too(tmp_path: Path) -> None:
    child = processes.start(
        "shell",
        ["sh", "-c", "trap '' TERM; sleep 300 & echo $!; wait"],
        log=tmp_path / "log",
    )
    processes.wait_until("it says its child", lambda: child.tail() != "", 5)
    grandchild = int(child.tail())
    child.stop(gently=False)
    assert not child.alive()
    processes.wait_until("the grandchild ends", lambda: gone(grandchild), 5)


def test_a_killed_parent_leaves_nobody(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "log")],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path.cwd())},
    )
    with parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        comm = Path(f"/proc/{child}/comm")
        # setpriv runs first and then becomes the program
        processes.wait_until("it runs", lambda: comm.read_text() == "sleep\n", 5)
        parent.send_signal(signal.SIGKILL)
    processes.wait_until("the child ends", lambda: gone(child), 5)


def test_waiting_in_vain_says_for_what() -> None:
    with pytest.raises(processes.LabError, match="the moon: not within"):
        processes.wait_until("the moon", lambda: False, 0.1)


def gone(pid: int) -> bool:
    """Whether it has ended; a zombie that nobody reaps has."""
    try:
        return ") Z " in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
