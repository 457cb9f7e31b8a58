from __future__ import annotations

import math

import pytest

from scoring.framework import units


@pytest.mark.parametrize(
    ("bytes_per_second", "expected"),
    [
        (0.0, "0.0 Mbit/s"),
        (3.9e6, "31.2 Mbit/s"),
        (12.4937e6, "99.9 Mbit/s"),
        (1.25e9, "10,000 Mbit/s"),
        (math.nan, "\N{EN DASH}"),
        (math.inf, "\N{EN DASH}"),
    ],
)
def test_megabits_are_decimal(bytes_per_second: float, expected: str) -> None:
    assert units.write_megabits(bytes_per_second) == expected


@pytest.mark.parametrize(
    ("share", "expected"),
    [(0.0, "0.0 %"), (0.4565, "45.7 %"), (1.3, "130 %"), (math.nan, "\N{EN DASH}")],
)
def test_percent(share: float, expected: str) -> None:
    assert units.write_percent(share) == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (-1, "0 s"),
        (18.9, "18 s"),
        (119, "119 s"),
        (120, "2 min"),
        (3599, "59 min"),
        (3600, "1 h"),
        (12_000, "3 h 20 min"),
        (187_200, "2 d 4 h"),
        (math.nan, "\N{EN DASH}"),
    ],
)
def test_seconds(seconds: float, expected: str) -> None:
    assert units.write_seconds(seconds) == expected


def test_machines_get_numbers_or_nothing() -> None:
    assert units.megabits(3.9e6) == 31.2
    assert units.megabits(math.nan) is None
    assert units.percent(0.4565) == 45.7
    assert units.percent(math.nan) is None
