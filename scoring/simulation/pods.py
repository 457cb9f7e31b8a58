"""The pods of the simulated cluster: what they ask for, what they move, how long."""

from __future__ import annotations

from dataclasses import dataclass, replace

from scoring.simulation.dice import Dice, between, identifier, pick
from scoring.simulation.fleet import GIGABIT, Node

ARRIVAL_SECONDS = 4.0  # mean time between two arrivals
SHORTEST_LIFE = 120.0  # seconds
LONGEST_LIFE = 600.0  # seconds
DEFAULT_SCHEDULER = "default-scheduler"


@dataclass(frozen=True, slots=True)
class Workload:
    """A kind of pod; traffic in Gbit/s, cpu in thousandths of a core, memory MiB."""

    app: str
    namespace: str
    share: int  # of a hundred arrivals
    receive: tuple[float, float]
    transmit: tuple[float, float]
    millicores: tuple[int, ...]
    memory: tuple[int, ...]


WORKLOADS = (
    Workload("web", "shop", 40, (0.01, 0.06), (0.05, 0.3), (250, 500), (256, 512)),
    Workload("cache", "shop", 20, (0.1, 0.5), (0.1, 0.6), (500, 1000), (1024, 2048)),
    Workload("stream", "media", 15, (0.02, 0.1), (0.4, 1.5), (500, 1000), (512,)),
    Workload("ingest", "data", 10, (0.8, 2.5), (0.1, 0.3), (1000, 2000), (2048, 4096)),
    Workload("report", "data", 15, (0.0, 0.005), (0.0, 0.005), (250, 1000), (512,)),
)


@dataclass(frozen=True, slots=True)
class Pod:
    """One pod; without a node it waits. Moments in Unix seconds."""

    uid: str
    name: str
    namespace: str
    app: str
    scheduler_name: str
    millicores: int  # requested
    memory: int  # MiB, requested
    receive: float  # bytes per second that it wants to move
    transmit: float
    life: float  # seconds from the binding to the end; infinite for a DaemonSet's
    created_at: float
    node: str = ""
    bound_at: float = 0.0
    daemon: bool = False

    @property
    def cores_used(self) -> float:
        """Most pods use less than they ask for."""
        return 0.6 * self.millicores / 1000.0

    @property
    def ends_at(self) -> float:
        """The moment at which a bound pod is done."""
        return self.bound_at + self.life

    @property
    def key(self) -> str:
        """namespace/name."""
        return f"{self.namespace}/{self.name}"

    def bound_to(self, node: str, at: float) -> Pod:
        """The same pod, running on `node`."""
        return replace(self, node=node, bound_at=at)


def next_arrival(dice: Dice) -> float:
    """Seconds until the next pod comes; half to one and a half times the mean."""
    return between(dice, 0.5, 1.5) * ARRIVAL_SECONDS


def new_pod(dice: Dice, scheduler_name: str, at: float) -> Pod:
    """A pod that waits for a node."""
    kind = _kind(dice)
    return Pod(
        uid=_uid(dice),
        name=f"{kind.app}-{identifier(dice, 8)}",
        namespace=kind.namespace,
        app=kind.app,
        scheduler_name=scheduler_name,
        millicores=pick(dice, kind.millicores),
        memory=pick(dice, kind.memory),
        receive=GIGABIT * between(dice, *kind.receive),
        transmit=GIGABIT * between(dice, *kind.transmit),
        life=between(dice, SHORTEST_LIFE, LONGEST_LIFE),
        created_at=at,
    )


def daemon_pod(dice: Dice, node: Node, at: float) -> Pod:
    """The log shipper that a DaemonSet keeps on every node."""
    return Pod(
        uid=_uid(dice),
        name=f"log-shipper-{identifier(dice, 5)}",
        namespace="kube-system",
        app="log-shipper",
        scheduler_name=DEFAULT_SCHEDULER,
        millicores=100,
        memory=128,
        receive=1e4,
        transmit=GIGABIT * between(dice, 0.002, 0.008),
        life=float("inf"),
        created_at=at,
        node=node.name,
        bound_at=at,
        daemon=True,
    )


def _kind(dice: Dice) -> Workload:
    drawn = dice.random() * sum(kind.share for kind in WORKLOADS)
    for kind in WORKLOADS:
        drawn -= kind.share
        if drawn < 0:
            return kind
    return WORKLOADS[-1]


def _uid(dice: Dice) -> str:
    return "-".join(identifier(dice, digits) for digits in (8, 4, 4, 4, 12))
