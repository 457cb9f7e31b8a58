"""How many bytes a node moves: its own day, some noise, and the bytes of its pods."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scoring.simulation.dice import Dice
from scoring.simulation.fleet import Node
from scoring.simulation.pods import Pod

DAY_SECONDS = 1200.0  # short enough to watch
NIGHT = 0.3  # of the traffic at noon
NOISE = 0.25  # largest part that noise adds or takes
_MEMORY = 0.92  # of the noise, from one second to the next
LINK_LIMIT = 0.98  # of the link; framing and gaps take the rest
_IDLE_CPU = 0.04


@dataclass(frozen=True, slots=True)
class Rates:
    """What a node does at one moment."""

    receive: float  # bytes per second
    transmit: float  # bytes per second
    cpu: float  # share of all cores, 0..1


def day_factor(moment: float, phase: float) -> float:
    """NIGHT at midnight, 1 at noon, along a cosine; `moment` in Unix seconds."""
    turn = math.tau * (moment / DAY_SECONDS + phase)
    return NIGHT + (1.0 - NIGHT) * (0.5 - 0.5 * math.cos(turn))


def next_noise(noise: float, dice: Dice) -> float:
    """A step of a slow random walk around 0 that stays within -1..1."""
    return _MEMORY * noise + (1.0 - _MEMORY) * 4.0 * (dice.random() - 0.5) * 0.5


def rates(node: Node, pods: Iterable[Pod], *, moment: float, noise: float) -> Rates:
    """What `node` does with `pods` on it, never more than its link carries."""
    own = node.share * node.pool.link * day_factor(moment, node.phase)
    own *= 1.0 + NOISE * noise
    busier = max(node.receive_part, 1.0 - node.receive_part)
    receive = own * node.receive_part / busier
    transmit = own * (1.0 - node.receive_part) / busier
    cores = _IDLE_CPU * node.pool.cores
    for pod in pods:
        receive += pod.receive
        transmit += pod.transmit
        cores += pod.cores_used
    limit = LINK_LIMIT * node.pool.link
    cpu = min(0.99, cores / node.pool.cores * (1.0 + 0.2 * noise))
    return Rates(min(receive, limit), min(transmit, limit), cpu)
