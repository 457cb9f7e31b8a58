from __future__ import annotations

import pytest

from scoring.bandwidth.capacity import (
    ASSUMED,
    FROM_FLEET,
    FROM_NOTHING,
    FROM_SPEED,
    GLITCH_RATE,
    Capacity,
    capacities,
    credible_speed,
)


@pytest.mark.parametrize(
    ("device", "speed", "expected"),
    [
        pytest.param("eth0", 1.25e9, 1.25e9, id="a link"),
        pytest.param("eth0", 1e11, 1e11, id="the fastest link"),
        pytest.param("veth1", 1.25e9, 0.0, id="a veth invents its speed"),
        pytest.param("br0", 1.25e9, 0.0, id="so does a bridge"),
        pytest.param("eth0", -125000.0, 0.0, id="K17 unknown speed"),
        pytest.param("eth0", 0.0, 0.0, id="K17 zero"),
        pytest.param("eth0", 1e6, 0.0, id="too slow to be one"),
        pytest.param("eth0", 1.1e11, 0.0, id="too fast to be one"),
        pytest.param("eth0", float("nan"), 0.0, id="not a number"),
    ],
)
def test_only_credible_speeds_count(device: str, speed: float, expected: float) -> None:
    assert credible_speed(device, speed) == expected


def test_unknown_speed_falls_to_the_median_of_the_fleet() -> None:
    found = capacities((1e9, 0.0, 2e9, 5e9))
    assert [one.bytes_per_second for one in found] == [1e9, 2e9, 2e9, 5e9]
    assert [one.origin for one in found] == [
        FROM_SPEED,
        FROM_FLEET,
        FROM_SPEED,
        FROM_SPEED,
    ]


def test_without_any_speed_ten_gigabit_is_assumed_and_said() -> None:
    assert capacities((0.0,)) == (Capacity(ASSUMED, FROM_NOTHING),)
    assert ASSUMED * 8 == 10e9


@pytest.mark.parametrize(
    ("capacity", "highest"),
    [
        pytest.param(Capacity(1e9, FROM_SPEED), 1.1e9, id="measured"),
        pytest.param(
            Capacity(1e9, FROM_FLEET), GLITCH_RATE, id="guessed: not narrowed"
        ),
        pytest.param(
            Capacity(9e10, FROM_SPEED), GLITCH_RATE, id="never beyond 50 GB/s"
        ),
    ],
)
def test_what_rate_is_believed(capacity: Capacity, highest: float) -> None:
    assert capacity.highest_rate == pytest.approx(highest)
