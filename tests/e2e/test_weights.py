"""What a profile's pods get, by kube-scheduler's own arithmetic.

A pod names two nodes. NodeAffinity, with weight 10, is the only other score: the pod
prefers the busy node by D per cent, which is worth 10 x D points. Ours prefers the
quiet one by `priority x W x 10` points, where W is the greatest sum of weights of any
profile. Just below that the pod lands on the quiet node, just above it on the busy one.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.e2e.documents import WEIGHTS, weighed
from tests.e2e.world import NODES, World, busy

BUSIEST, QUIET = NODES[0], NODES[-1]
W = max(WEIGHTS.values())


def points(weight: int) -> int:
    """Of the quiet node (score 100) over the busy one (0), as kube-scheduler adds."""
    priority = (weight * 100 + 5 * W) // (10 * W)
    return priority * W * 10


def preference(percent: int) -> dict[str, Any]:
    """A pod of exactly two nodes that prefers the busy one by that much."""

    def named(name: str, weight: int) -> dict[str, Any]:
        term = {"key": "metadata.name", "operator": "In", "values": [name]}
        return {"weight": weight, "preference": {"matchFields": [term]}}

    both = {
        "key": "kubernetes.io/hostname",
        "operator": "In",
        "values": [BUSIEST.name, QUIET.name],
    }
    preferred = [named(BUSIEST.name, 100)]
    if percent < 100:
        preferred.append(named(QUIET.name, 100 - percent))
    return {
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [both]}]
                },
                "preferredDuringSchedulingIgnoredDuringExecution": preferred,
            }
        }
    }


def test_worked_examples_are_what_the_formula_gives() -> None:
    assert {name: points(weight) for name, weight in WEIGHTS.items()} == {
        "four": 400,
        "two": 200,
        "one": 120,
        "without": 0,
    }


@pytest.mark.parametrize("profile", WEIGHTS)
def test_each_profile_gets_its_own_weight(world: World, profile: str) -> None:
    stock = world.publish("weights", weighed())
    world.settle(busy("a"))
    worth = points(WEIGHTS[profile]) // 10
    with world.scheduling(stock):
        for percent, expected in ((worth - 1, QUIET), (worth + 1, BUSIEST)):
            if percent < 0:
                continue
            placed = world.place(
                6, scheduler_name=profile, spec=preference(percent)
            ).nodes
            print(
                f"\n(f) {profile}: preference {percent * 10} against "
                f"{worth * 10} points: {sorted(set(placed.values()))}"
            )
            assert set(placed.values()) == {expected.name}


def test_a_profile_without_our_plugins_is_left_alone(world: World) -> None:
    stock = world.publish("weights", weighed())
    pod = world.pod_as_sent("without")
    assert world.product.ask(stock, "prioritize", pod, [BUSIEST.name]) == []
