"""A Prometheus that is gone, slow or lying changes only the freshness of answers."""

from __future__ import annotations

import time

from tests.e2e.documents import SPREAD
from tests.e2e.prometheus import Lie
from tests.e2e.world import NAMES, World, busy
from tools.lab.processes import wait_until

EXPIRED_SECONDS = 60.0
LIES = [lie for lie in Lie if lie is not Lie.NONE]


def test_pods_schedule_whatever_prometheus_does(world: World) -> None:
    stock = world.publish("spread", SPREAD)
    world.settle(busy("a"))
    before = world.product.process_ids()
    with world.scheduling(stock):
        assert world.place(10).by_group() == {"a": 0, "b": 10}
        began = time.monotonic()
        for lie in LIES:
            world.proxy.lie = lie
            tell(world, lie)
        stop_prometheus(world)
        wait_until("neutral answers", lambda: len(scores(world)) == 1, EXPIRED_SECONDS)
        print(f"(c) neutral {time.monotonic() - began:.0f} s after the first lie")
        placed = world.place(24)
        print(f"(c) expired: 24 pods landed {placed.by_group()}")
        assert min(placed.by_group().values()) > 0
        world.plane.delete_pods()
        seconds = start_prometheus(world)
        print(f"(e) Prometheus is back: scores return after {seconds:.1f} s")
        placed = world.place(10)
        print(f"(e) Prometheus is back: 10 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 0, "b": 10}
    assert world.product.process_ids() == before, "something was restarted"


def tell(world: World, fault: str) -> None:
    """The tick says the fault in one sentence, so does the page; pods are placed."""
    known = world.product.last_tick().prometheus_error
    wait_until(
        f"a tick tells of {fault}",
        lambda: world.product.last_tick().prometheus_error not in {"", known},
        30,
    )
    sentence = world.product.last_tick().prometheus_error
    placed = world.place(5)
    print(f"\n(c) {fault}: {sentence!r}; 5 pods in {placed.seconds:.1f} s")
    assert "Traceback" not in sentence
    assert "\n" not in sentence
    assert world.product.is_alive()
    # the page makes a sentence of it: a capital and a full stop
    assert sentence[1:] in world.overview()


def stop_prometheus(world: World) -> None:
    world.proxy.close()
    world.prometheus.stop()
    tell(world, "stopped")


def start_prometheus(world: World) -> float:
    world.prometheus.start()
    world.proxy.reset()
    return wait_until("scores return", lambda: len(scores(world)) > 1, 90)


def scores(world: World) -> set[int]:
    """The different answers that the nodes get now."""
    stock = world.publish("spread", SPREAD)
    asked = world.product.priorities(stock, world.pod_as_sent(), NAMES)
    assert len(asked) == len(NAMES), "a node without an answer loses every tie"
    return set(asked.values())
