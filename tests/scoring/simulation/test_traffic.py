from __future__ import annotations

import random

import pytest

from scoring.simulation.fleet import GIGABIT, build_fleet
from scoring.simulation.traffic import (
    DAY_SECONDS,
    LINK_LIMIT,
    NIGHT,
    day_factor,
    next_noise,
    rates,
)
from tests.scoring.simulation.worlds import START, pod

NODES = build_fleet(8, random.Random(1))
SMALL = next(node for node in NODES if node.pool.name == "small")


def test_a_day_goes_from_night_to_noon_and_back() -> None:
    factors = [day_factor(second, 0.0) for second in range(int(DAY_SECONDS))]
    assert min(factors) == pytest.approx(NIGHT)
    assert max(factors) == pytest.approx(1.0)
    assert day_factor(DAY_SECONDS, 0.0) == pytest.approx(day_factor(0.0, 0.0))
    assert day_factor(0.0, 0.5) == pytest.approx(1.0)


def test_noise_stays_within_one_and_moves() -> None:
    dice = random.Random(1)
    noise, seen = 0.0, []
    for _ in range(2000):
        noise = next_noise(noise, dice)
        seen.append(noise)
    assert -1 <= min(seen) < -0.1
    assert 0.1 < max(seen) <= 1


@pytest.mark.parametrize("count", [1, 2, 5])
def test_each_pod_adds_its_bytes(count: int) -> None:
    load = pod(receive=1e6, transmit=2e6, millicores=500)
    without = rates(SMALL, [], moment=START, noise=0.0)
    with_pods = rates(SMALL, [load] * count, moment=START, noise=0.0)
    assert with_pods.receive - without.receive == pytest.approx(count * 1e6)
    assert with_pods.transmit - without.transmit == pytest.approx(count * 2e6)
    assert with_pods.cpu > without.cpu


def test_no_node_moves_more_than_its_link_carries() -> None:
    flood = [pod(receive=GIGABIT, transmit=GIGABIT, millicores=4000)] * 9
    doing = rates(SMALL, flood, moment=START, noise=1.0)
    limit = LINK_LIMIT * SMALL.pool.link
    assert (doing.receive, doing.transmit) == (limit, limit)
    assert doing.cpu <= 0.99
