"""Both filters keep pods off, and a pod that is refused everywhere says why."""

from __future__ import annotations

from tests.e2e.documents import FILTERS
from tests.e2e.fleet import Load
from tests.e2e.world import BUSY, NAMES, World, busy
from tools.lab.processes import wait_until

HOT = Load(cpu=0.95)
REASON = f"{len(NAMES)} Bandmaster: network use above limit"


def test_filters_keep_pods_off_busy_networks_and_busy_processors(
    world: World,
) -> None:
    stock = world.publish("filters", FILTERS)
    refused_by_network, refused_by_cpu = NAMES[:3], NAMES[3:6]
    world.settle(
        dict.fromkeys(refused_by_network, BUSY) | dict.fromkeys(refused_by_cpu, HOT)
    )
    with world.scheduling(stock):
        placed = world.place(24)
    print(f"\n(b) 3 nodes of a busy, 3 hot: 24 pods landed {placed.by_group()}")
    assert placed.by_group() == {"a": 0, "b": 24}


def test_a_pod_refused_everywhere_carries_our_reason(world: World) -> None:
    stock = world.publish("filters", FILTERS)
    world.settle(busy("a") | busy("b"))
    with world.scheduling(stock):
        [pod] = world.create(1)
        wait_until("an event", lambda: bool(world.plane.events(pod)), 15)
        events = world.plane.events(pod)
        assert world.bound([pod]) == {}
    print(f"\n(b) refused everywhere: {events[0]}")
    assert REASON in events[0]
