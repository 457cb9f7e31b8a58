from __future__ import annotations

import random
from collections import Counter

from scoring.simulation import placement
from tests.scoring.simulation.worlds import START, pod, world


def test_cordoned_nodes_and_the_control_plane_take_no_pods() -> None:
    made = world(lived=30)
    names = {node.name for node in placement.feasible(made, pod())}
    unfit = {n.name for n in made.nodes if n.cordoned or n.control_plane}
    assert names == {node.name for node in made.nodes} - unfit
    assert len(unfit) == 2


def test_a_pod_goes_only_where_it_fits() -> None:
    made = world()
    large = pod(millicores=9_000)  # a small node has 8 cores
    assert {n.pool.name for n in placement.feasible(made, large)} == {
        "standard",
        "fast",
    }
    assert placement.feasible(made, pod(memory=1024 * 1024)) == ()


def test_least_allocated_is_the_mean_of_what_is_left() -> None:
    made = world()
    node = next(n for n in made.nodes if n.pool.name == "small")
    # 8 cores and 32 GiB; the log shipper has 100m and 128 MiB
    asked = pod(millicores=3900, memory=8064)
    assert placement.least_allocated(made, node, asked) == (50 + 75) // 2


def test_an_extender_adds_ten_times_weight_per_point() -> None:
    totals = placement.add_extender(
        {"a": 50, "b": 60, "c": 7}, [("a", 9), ("b", 2), ("ghost", 10), ("a", 1)], 5
    )
    assert totals == {"a": 50 + 500, "b": 60 + 100, "c": 7}


def test_ties_are_broken_by_chance() -> None:
    dice = random.Random(1)
    totals = {"a": 7, "b": 7, "c": 6}
    seen = Counter(placement.choose(totals, dice) for _ in range(200))
    assert set(seen) == {"a", "b"}
    assert min(seen.values()) > 60


def test_the_past_is_lived_with_pods_in_place() -> None:
    made = world(40, lived=600)
    assert made.now == START + 600
    assert not made.waiting()
    assert 60 < sum(not one.daemon for one in made.pods()) < 150
