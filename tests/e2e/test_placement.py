"""Pods go where the network is least used, and follow when the traffic moves."""

from __future__ import annotations

import time

from tests.e2e.documents import SPREAD
from tests.e2e.product import TICK_SECONDS, WINDOW_SECONDS
from tests.e2e.prometheus import SCRAPE_SECONDS
from tests.e2e.world import World, busy

# half the window until the rates cross, a scrape and a tick until that is known
FOLLOW_SECONDS = WINDOW_SECONDS / 2 + SCRAPE_SECONDS + 2 * TICK_SECONDS


def test_pods_avoid_the_busy_nodes_and_follow_the_traffic(world: World) -> None:
    stock = world.publish("spread", SPREAD)
    world.settle(busy("a"))
    with world.scheduling(stock):
        placed = world.place(30)
        print(f"\n(a) group a busy: 30 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 0, "b": 30}
        assert len(set(placed.nodes.values())) > 1, "all on one node"
        world.plane.delete_pods()
        lag = follow(world, "b")
        print(f"(a) traffic moved to b: placements follow after {lag:.1f} s")
        assert lag <= FOLLOW_SECONDS
        world.plane.delete_pods()
        world.settle(busy("b"))
        placed = world.place(30)
        print(f"(a) group b busy: 30 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 30, "b": 0}


def follow(world: World, moved_to: str) -> float:
    """Moves the traffic; the seconds until no pod lands on the newly busy group."""
    world.fleet.apply(busy(moved_to))
    started, last_wrong = time.monotonic(), 0.0
    while (now := time.monotonic() - started) < FOLLOW_SECONDS + TICK_SECONDS:
        placed = world.place(2)
        if placed.by_group()[moved_to]:
            last_wrong = now
        time.sleep(0.5)
    return last_wrong
