"""Whatever of ours dies or hangs, pods are placed, and all comes back by itself."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.e2e.documents import SPREAD
from tests.e2e.world import NAMES, World, busy
from tools.lab.processes import wait_until

BACK_SECONDS = 30.0
# a hung extender holds a pod for its time-out, for each of the two verbs
HUNG_SECONDS_A_POD = 0.4


def is_scoring(world: World) -> bool:
    """Whether nodes get different answers; False when nobody answers."""
    stock = world.publish("spread", SPREAD)
    try:
        asked = world.product.priorities(stock, world.pod_as_sent(), NAMES)
    except OSError:
        return False
    return len(set(asked.values())) > 1


@contextmanager
def placing(world: World) -> Iterator[None]:
    """A world that avoids group a before, and again after what happens inside."""
    stock = world.publish("spread", SPREAD)
    world.settle(busy("a"))
    with world.scheduling(stock):
        assert world.place(5).by_group()["a"] == 0
        yield
        seconds = wait_until("scores are back", lambda: is_scoring(world), BACK_SECONDS)
        world.plane.delete_pods()
        again = world.place(10).by_group()
        print(f"(e) back after {seconds:.1f} s: 10 pods landed {again}")
        assert again == {"a": 0, "b": 10}


def test_a_killed_worker_comes_back_and_ticks_again(world: World) -> None:
    with placing(world):
        os.kill(world.product.process_ids()["worker"], signal.SIGKILL)
        killed = time.time()
        placed = world.place(10)
        print(f"\n(d) worker killed: 10 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 0, "b": 10}
        world.wait_for_snapshot_after(killed + 1)


def test_a_killed_extender_is_ignored_until_it_is_back(world: World) -> None:
    with placing(world):
        names = world.create(5)
        os.kill(world.product.process_ids()["extender"], signal.SIGKILL)
        killed = time.monotonic()
        names += world.create(15)
        wait_until("all are bound", lambda: len(world.bound(names)) == len(names), 30)
        seconds = time.monotonic() - killed
        print(f"\n(d) extender killed among 20 pods: all bound after {seconds:.1f} s")


def test_a_hung_extender_delays_a_pod_by_its_timeouts_only(world: World) -> None:
    with placing(world):
        group = os.getpgid(world.product.process_ids()["extender"])
        os.killpg(group, signal.SIGSTOP)
        try:
            placed = world.place(5)
        finally:
            os.killpg(group, signal.SIGCONT)
        print(f"\n(d) extender hung: 5 pods in {placed.seconds:.1f} s")
        assert placed.seconds < 5 * HUNG_SECONDS_A_POD + 1.5


def test_a_locked_database_delays_nobody(world: World) -> None:
    with placing(world):
        with exclusive(world) as unlocked:
            placed = world.place(10)
            print(f"\n(d) database locked: 10 pods landed {placed.by_group()}")
            assert placed.by_group() == {"a": 0, "b": 10}
            # long enough for a tick to meet the lock
            time.sleep(7)
            placed = world.place(5)
            assert placed.seconds < 5
        world.wait_for_snapshot_after(unlocked[0])


@contextmanager
def exclusive(world: World) -> Iterator[list[float]]:
    """Nobody else can write to the database inside; the list then holds the end."""
    ended: list[float] = []
    connection = sqlite3.connect(world.product.database, timeout=20)
    try:
        connection.execute("begin exclusive")
        yield ended
    finally:
        connection.rollback()
        connection.close()
        ended.append(time.time())


@pytest.mark.parametrize("source", ["command", "file"])
def test_the_kill_switch_makes_answers_neutral(world: World, source: str) -> None:
    path = world.product.data / "neutral"
    with placing(world):
        if source == "command":
            world.product.manage("neutral", "on", "--reason", "a test of the switch")
        else:
            path.write_text("a test of the switch", encoding="utf-8")
        try:
            seconds = wait_until("neutral", lambda: not is_scoring(world), 5)
            placed = world.place(24)
            page = world.overview()
        finally:
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
            world.product.manage("neutral", "off")
        print(
            f"\n(d) kill switch by {source}: neutral after {seconds:.1f} s, "
            f"24 pods landed {placed.by_group()}"
        )
        assert seconds < 2
        assert "a test of the switch" in page
        assert min(placed.by_group().values()) > 0
