"""Small simulated worlds for tests."""

from __future__ import annotations

import random

from scoring.simulation import placement
from scoring.simulation.fleet import build_fleet
from scoring.simulation.pods import Pod, new_pod
from scoring.simulation.world import World

START = 1_800_000_000.0


def world(count: int = 8, *, seed: int = 1, lived: float = 0.0) -> World:
    """A world that has lived for some seconds, its scheduler having no extender."""
    dice = random.Random(seed)
    made = World(build_fleet(count, dice), dice, start=START)
    placement.live_through(made, dice, START + lived)
    return made


def pod(seed: int = 1, **changes: object) -> Pod:
    """A waiting pod with some fields of one's own."""
    from dataclasses import replace

    made = new_pod(random.Random(seed), "default-scheduler", START)
    return replace(made, **changes)  # type: ignore[arg-type]
