"""What Prometheus would have kept of the nodes' exporters.

Samples exist only for the moments of scrapes, each node at its own phase, so ages and
rates come out as they do in a real installation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from scoring.simulation.fleet import SCRAPE_SECONDS, Node

KEPT_SECONDS = 900.0
Sample = tuple[float, float]  # Unix seconds, value


@dataclass(frozen=True, slots=True)
class Scrape:
    """The counters of a node at one moment: bytes, and seconds of all its cores."""

    timestamp: float
    receive: float
    transmit: float
    idle: float
    busy: float


@dataclass(frozen=True, slots=True)
class Recorded:
    """One series: labels with `__name__`, and samples from old to new."""

    labels: dict[str, str]
    samples: tuple[Sample, ...]


_Read = Callable[[Node, Scrape], float]
_Child = tuple[dict[str, str], _Read]
_POD_END = "cali3f2a1b0c9d8"  # the node's end of a pod's pair: repeats its bytes


def _network(read: Callable[[Scrape], float]) -> tuple[_Child, ...]:
    return (
        ({"device": "eth0"}, lambda node, scrape: read(scrape)),
        ({"device": "lo"}, lambda node, scrape: 0.02 * read(scrape)),
        ({"device": _POD_END}, lambda node, scrape: 0.5 * read(scrape)),
    )


_FAMILIES: dict[str, tuple[_Child, ...]] = {
    "up": (({}, lambda node, scrape: 1.0),),
    "node_network_receive_bytes_total": _network(lambda scrape: scrape.receive),
    "node_network_transmit_bytes_total": _network(lambda scrape: scrape.transmit),
    "node_network_speed_bytes": (
        ({"device": "eth0"}, lambda node, scrape: node.pool.link),
        ({"device": _POD_END}, lambda node, scrape: 1.25e9),  # made up, as on Linux
    ),
    "node_cpu_seconds_total": (
        ({"cpu": "0", "mode": "idle"}, lambda node, scrape: scrape.idle),
        ({"cpu": "0", "mode": "user"}, lambda node, scrape: scrape.busy),
    ),
    "node_time_seconds": (({}, lambda node, scrape: scrape.timestamp),),
    "node_uname_info": (({"sysname": "Linux"}, lambda node, scrape: 1.0),),
}


class ScrapeLog:
    """The last KEPT_SECONDS of scrapes of every node."""

    def __init__(self, nodes: Iterable[Node]) -> None:
        self._nodes = tuple(nodes)
        kept = int(KEPT_SECONDS / SCRAPE_SECONDS) + 1
        self._scrapes: dict[str, deque[Scrape]] = {
            node.name: deque(maxlen=kept) for node in self._nodes
        }

    def add(self, node: Node, scrape: Scrape) -> None:
        """Keep a scrape; the oldest one goes."""
        self._scrapes[node.name].append(scrape)

    def select(self, metric: str, after: float, until: float) -> Iterator[Recorded]:
        """The series of `metric` that have samples in (after, until]."""
        for node in self._nodes:
            scrapes = [
                scrape
                for scrape in self._scrapes[node.name]
                if after < scrape.timestamp <= until
            ]
            if not scrapes:
                continue
            for extra, read in _FAMILIES.get(metric, ()):
                labels = {"__name__": metric, **_target_labels(node), **extra}
                if metric == "node_uname_info":
                    labels["nodename"] = node.name
                samples = tuple((one.timestamp, read(node, one)) for one in scrapes)
                yield Recorded(labels, samples)

    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics, sorted."""
        return tuple(sorted(_FAMILIES))


def _target_labels(node: Node) -> dict[str, str]:
    return {"instance": node.exporter, "job": "node-exporter"}


def due_scrape(node: Node, after: float, until: float) -> float | None:
    """The moment in (after, until] at which `node` is scraped, in milliseconds."""
    turns = (until - node.scrape_phase) // SCRAPE_SECONDS
    moment = round(turns * SCRAPE_SECONDS + node.scrape_phase, 3)
    return moment if after < moment <= until else None
