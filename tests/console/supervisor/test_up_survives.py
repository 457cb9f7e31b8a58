"""kill -9 of anything: it comes back alone, once, and nobody is left on a port."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from functools import partial

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


def test_each_killed_child_comes_back_once(up: Up) -> None:
    for name in MARKS:
        old = up.pid_of(name)
        family = {pid for pid in up.processes() if os.getpgid(pid) == old}
        falls = up.output.count(f"{name} ended")
        kill(old)
        wait_until(
            partial(lambda n, f: up.output.count(f"{n} ended") > f, name, falls),
            f"the fall of {name}",
        )
        wait_until(
            partial(lambda pids: not pids & set(up.processes()), family),
            f"the end of all of {name}",
        )
    wait_until(up.pages_answer, "the pages")
    wait_until(up.extender_answers, "the extender")
    wait_for_more_ticks(up)
    assert_no_tick_doubled(up)
    mains = [pid for pid in up.processes() if os.getpgid(pid) == pid]
    assert len(mains) == len(MARKS)


@pytest.mark.parametrize("name", ["web", "extender"])
def test_a_killed_server_process_comes_back(up: Up, name: str) -> None:
    """The process that answers, beneath the child's main process."""
    answers = up.pages_answer if name == "web" else up.extender_answers
    wait_until(answers, f"{name}\n{up.output}")
    main = up.pid_of(name)
    beneath = {pid for pid in up.processes() if os.getpgid(pid) == main} - {main}
    for pid in beneath:
        kill(pid)
    wait_until(lambda: not beneath & set(up.processes()), "the fall")
    wait_until(answers, f"{name}\n{up.output}")


def test_a_killed_supervisor_takes_all_along_and_can_be_started_at_once(
    start: Start,
) -> None:
    first = start(environ=FAST).wait_ready()
    wait_for_more_ticks(first)
    first.processes()
    first.process.kill()
    first.process.wait()
    again = start(environ=FAST, ports=(first.port, first.extender_port)).wait_ready()
    assert first.all_gone()
    wait_for_more_ticks(again)
    assert_no_tick_doubled(again)


def test_nobody_survives_a_killed_supervisor(start: Start) -> None:
    """Not even without a next start, which would wait for them."""
    up = start()
    wait_until(lambda: "web" in names(up), "the pages' process")
    up.process.kill()
    up.process.wait()
    wait_until(up.all_gone, "the end of all children", 45)


def names(up: Up) -> set[str]:
    commands = up.processes().values()
    return {n for n, mark in MARKS.items() for text in commands if mark in text}
