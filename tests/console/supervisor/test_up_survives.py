"""kill -9 of anything: it comes back alone, once, and nobody is left on a port."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from tests.console.supervisor.rig import MARKS, Up
from tests.servers import wait_until

Start = Callable[..., Up]
TICK = 2  # seconds
FAST = {"BANDMASTER_TICK_SECONDS": str(TICK)}
TICKS = "select fence, started_at from scoring_tick order by started_at"


def kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def wait_for_more_ticks(up: Up, more: int = 3) -> None:
    before = len(up.query(TICKS))
    wait_until(lambda: len(up.query(TICKS)) >= before + more, f"ticks\n{up.output}")


def assert_no_tick_doubled(up: Up) -> None:
    """Each tick has a fence of its own, and they are not closer than the interval.

    A restarted worker ticks at once, so one shorter gap per restart is right; a second
    clock would make every other gap short.
    """
    fences = [row[0] for row in up.query(TICKS)]
    assert len(set(fences)) == len(fences)
    gaps = up.query(
        "select (julianday(started_at) - julianday(lag(started_at) over "
        "(order by started_at))) * 86400 from scoring_tick"
    )
    short = [gap for (gap,) in gaps if isinstance(gap, float) and gap < TICK * 0.6]
    restarts = up.output.count("worker ended") + up.output.count("ready after")
    assert len(short) <= restarts + 1, gaps


def test_each_killed_child_comes_back_once(start: Start) -> None:
    up = start(environ=FAST).wait_ready()
    for name in MARKS:
        old = up.pid_of(name)
        family = [pid for pid in up.processes() if os.getpgid(pid) == old]
        kill(old)
        told = f"{name} ended (killed by SIGKILL): starting it again in 0.5 s"
        wait_until(lambda told=told: told in up.lines, told)  # type: ignore[misc]
        wait_until(
            lambda family=family: not set(family) & set(up.processes()),  # type: ignore[misc]
            f"the end of all of {name}",
        )
    wait_until(up.pages_answer, "the pages")
    wait_until(up.extender_answers, "the extender")
    wait_for_more_ticks(up)
    assert_no_tick_doubled(up)
    mains = [pid for pid in up.processes() if os.getpgid(pid) == pid]
    assert len(mains) == len(MARKS)


@pytest.mark.parametrize("name", ["web", "extender"])
def test_a_killed_server_process_comes_back(start: Start, name: str) -> None:
    """The process that answers, beneath the child's main process."""
    up = start().wait_ready()
    main = up.pid_of(name)
    kill(next(pid for pid in up.processes() if os.getpgid(pid) == main and pid != main))
    answers = up.pages_answer if name == "web" else up.extender_answers
    wait_until(lambda: not answers(), "the fall", 5) if name == "extender" else None
    wait_until(answers, f"{name}\n{up.output}")


def test_nobody_survives_a_killed_supervisor(start: Start) -> None:
    up = start(environ=FAST).wait_ready()
    up.processes()
    up.process.kill()
    up.process.wait()
    wait_until(up.all_gone, "the end of all children", 15)


def test_a_killed_supervisor_can_be_started_again_at_once(start: Start) -> None:
    first = start(environ=FAST).wait_ready()
    wait_for_more_ticks(first)
    first.processes()
    first.process.kill()
    first.process.wait()
    again = start(environ=FAST, ports=(first.port, first.extender_port)).wait_ready()
    assert first.all_gone()
    wait_for_more_ticks(again)
    assert_no_tick_doubled(again)
