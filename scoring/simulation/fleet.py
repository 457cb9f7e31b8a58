"""The machines of the simulated cluster."""

from __future__ import annotations

from dataclasses import dataclass

from scoring.simulation.dice import Dice, between

SMALLEST = 4  # one control plane, one silent, one cordoned, one ordinary node
LARGEST = 1000
GIGABIT = 1.25e8  # bytes per second
ZONES = ("zone-a", "zone-b", "zone-c")
SCRAPE_SECONDS = 15.0


@dataclass(frozen=True, slots=True)
class Pool:
    """Machines of one kind; `link` in bytes per second each way."""

    name: str
    link: float
    cores: int
    memory: int  # GiB


SMALL = Pool("small", 1 * GIGABIT, 8, 32)
STANDARD = Pool("standard", 10 * GIGABIT, 16, 64)
FAST = Pool("fast", 25 * GIGABIT, 32, 128)
CONTROL = Pool("control", 10 * GIGABIT, 4, 16)
_ORDER = (SMALL, STANDARD, FAST, STANDARD, SMALL, FAST, STANDARD, SMALL)


@dataclass(frozen=True, slots=True)
class Node:
    """One machine, and the character of the traffic that is not from pods."""

    name: str
    pool: Pool
    zone: str
    address: str
    phase: float  # part of the day by which its curve is shifted, 0..1
    share: float  # of the link, that its own traffic takes at noon
    receive_part: float  # of that, how much is received rather than sent
    scrape_phase: float  # seconds within the scrape interval
    control_plane: bool = False
    cordoned: bool = False
    pauses: bool = False  # its exporter stops now and then

    @property
    def exporter(self) -> str:
        """What Prometheus calls its exporter."""
        return f"{self.address}:9100"


def build_fleet(count: int, dice: Dice) -> tuple[Node, ...]:
    """`count` nodes; names and pools depend on the count alone.

    The first is the control plane; the last two are a node whose exporter pauses and
    a cordoned one.
    """
    if not SMALLEST <= count <= LARGEST:
        raise ValueError(
            f"a simulated cluster has {SMALLEST} to {LARGEST} nodes, not {count}"
        )
    nodes = [_node(0, CONTROL, "control-plane-1", dice, count)]
    numbers: dict[str, int] = {}
    for index in range(1, count):
        pool = _ORDER[index % len(_ORDER)]
        numbers[pool.name] = numbers.get(pool.name, 0) + 1
        name = f"{pool.name}-{numbers[pool.name]:02d}"
        nodes.append(_node(index, pool, name, dice, count))
    return tuple(nodes)


def _node(index: int, pool: Pool, name: str, dice: Dice, count: int) -> Node:
    zone = index % len(ZONES)
    # every fifth machine has a busy life of its own, so that there is much to avoid
    low, high = (0.55, 0.8) if index % 5 == 4 else (0.05, 0.35)
    return Node(
        name=name,
        pool=pool,
        zone=ZONES[zone],
        address=f"10.20.{index // 250}.{index % 250 + 1}",
        phase=(zone / len(ZONES) + between(dice, 0.0, 0.15)) % 1.0,
        share=0.03 if index == 0 else between(dice, low, high),
        receive_part=between(dice, 0.25, 0.75),
        scrape_phase=round(between(dice, 0.0, SCRAPE_SECONDS), 3),
        control_plane=index == 0,
        cordoned=index == count - 1,
        pauses=index == count - 2,
    )
