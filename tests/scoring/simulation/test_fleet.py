from __future__ import annotations

import random
from collections import Counter

import pytest

from scoring.simulation.fleet import GIGABIT, SCRAPE_SECONDS, Node, build_fleet


def fleet(count: int = 40, seed: int = 1) -> tuple[Node, ...]:
    return build_fleet(count, random.Random(seed))


def test_forty_nodes_have_mixed_links_and_all_zones() -> None:
    nodes = fleet()
    assert len({node.name for node in nodes}) == len(nodes) == 40
    assert len({node.address for node in nodes}) == 40
    links = Counter(node.pool.link / GIGABIT for node in nodes)
    assert set(links) == {1, 10, 25}
    assert min(links.values()) >= 5
    assert {node.zone for node in nodes} == {"zone-a", "zone-b", "zone-c"}


@pytest.mark.parametrize("count", [4, 40, 1000])
def test_three_special_nodes_are_three_different_ones(count: int) -> None:
    nodes = fleet(count)
    special = [
        [node.name for node in nodes if node.control_plane],
        [node.name for node in nodes if node.cordoned],
        [node.name for node in nodes if node.pauses],
    ]
    assert [len(names) for names in special] == [1, 1, 1]
    assert len({names[0] for names in special}) == 3


def test_names_do_not_depend_on_the_seed() -> None:
    assert [n.name for n in fleet(seed=1)] == [n.name for n in fleet(seed=2)]
    assert fleet(seed=1) != fleet(seed=2)
    assert fleet(seed=3) == fleet(seed=3)


def test_scrape_phases_are_spread_over_the_interval() -> None:
    phases = [node.scrape_phase for node in fleet()]
    assert all(0 <= phase < SCRAPE_SECONDS for phase in phases)
    assert min(phases) < SCRAPE_SECONDS / 3
    assert max(phases) > SCRAPE_SECONDS * 2 / 3


@pytest.mark.parametrize("count", [-1, 0, 3, 1001])
def test_other_sizes_are_refused_with_the_limits(count: int) -> None:
    with pytest.raises(ValueError, match=f"has 4 to 1000 nodes, not {count}"):
        fleet(count)
