"""How measured values are written for people: one unit each, in every output.

Bandwidth is in decimal megabits a second (10**6 bits), shares are in percent, times
are in the largest unit that keeps them readable. Unknown (NaN) is never a number.
"""

from __future__ import annotations

import math

MEGABITS_UNIT = "Mbit/s"
PERCENT_UNIT = "%"
UNKNOWN = "\N{EN DASH}"

_MINUTE, _HOUR, _DAY = 60, 3600, 86_400


def megabits(bytes_per_second: float) -> float | None:
    """Mbit/s rounded to one decimal, or None when unknown."""
    if not math.isfinite(bytes_per_second):
        return None
    return math.floor(bytes_per_second * 8 / 1e5 + 0.5) / 10


def percent(share: float) -> float | None:
    """A share of 1 as percent with one decimal, or None when unknown."""
    if not math.isfinite(share):
        return None
    return math.floor(share * 1000 + 0.5) / 10


def write_number(value: float | None) -> str:
    """One decimal under 100, none above, thousands set apart by commas."""
    if value is None:
        return UNKNOWN
    if abs(value) < 100:
        return f"{value:.1f}"
    return f"{math.floor(value + 0.5):,}"


def write_megabits(bytes_per_second: float) -> str:
    """Such as "31.2 Mbit/s"; a dash when unknown."""
    value = megabits(bytes_per_second)
    if value is None:
        return UNKNOWN
    return f"{write_number(value)} {MEGABITS_UNIT}"


def write_percent(share: float) -> str:
    """Such as "45.0 %"; a dash when unknown."""
    value = percent(share)
    if value is None:
        return UNKNOWN
    return f"{write_number(value)} {PERCENT_UNIT}"


def write_seconds(seconds: float) -> str:
    """Such as "18 s", "4 min", "3 h 20 min", "2 d 4 h"; a dash when unknown."""
    if not math.isfinite(seconds):
        return UNKNOWN
    whole = max(0, int(seconds))
    if whole < 2 * _MINUTE:
        return f"{whole} s"
    if whole < _HOUR:
        return f"{whole // _MINUTE} min"
    if whole < _DAY:
        return _two(whole, _HOUR, "h", _MINUTE, "min")
    return _two(whole, _DAY, "d", _HOUR, "h")


def _two(whole: int, big: int, big_name: str, small: int, small_name: str) -> str:
    rest = whole % big // small
    head = f"{whole // big} {big_name}"
    return f"{head} {rest} {small_name}" if rest else head
