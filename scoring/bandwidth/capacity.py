"""How much a node's network can carry, and how that is known.

Reported speeds are trusted only within what hardware has: an unknown one reads
-125000 bytes per second, and devices of software invent 10 Gbit/s.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median_low

from scoring.bandwidth.devices import has_real_speed

SLOWEST = 1e6  # bytes per second; what is at or below is no speed
FASTEST = 1e11  # bytes per second
ASSUMED = 1.25e9  # bytes per second: 10 Gbit/s
GLITCH_FACTOR = 1.1  # a rate above this times a measured capacity cannot be true
GLITCH_RATE = 5e10  # bytes per second: beyond it no rate is believed

FROM_SPEED = "link speed"
FROM_FLEET = "fleet median"
FROM_NOTHING = "assumed 10 Gbit/s"


@dataclass(frozen=True, slots=True)
class Capacity:
    """Bytes per second in each direction; links are full duplex."""

    bytes_per_second: float
    origin: str

    @property
    def highest_rate(self) -> float:
        """The largest believable rate; only a measured capacity narrows it."""
        if self.origin != FROM_SPEED:
            return GLITCH_RATE
        return min(GLITCH_RATE, GLITCH_FACTOR * self.bytes_per_second)


def credible_speed(device: str, speed: float) -> float:
    """`speed` in bytes per second when a wire can have it, else 0."""
    if SLOWEST < speed <= FASTEST and has_real_speed(device):
        return speed
    return 0.0


def capacities(node_speeds: Iterable[float]) -> tuple[Capacity, ...]:
    """One capacity per node, from the sum of its credible speeds; 0 = unknown."""
    listed = tuple(node_speeds)
    known = [speed for speed in listed if speed > 0]
    fallback = (
        Capacity(median_low(known), FROM_FLEET)
        if known
        else Capacity(ASSUMED, FROM_NOTHING)
    )
    # a fleet has few kinds of node: one value for each kind
    kinds = {speed: Capacity(speed, FROM_SPEED) for speed in set(known)}
    return tuple(kinds.get(speed, fallback) for speed in listed)
