"""A fleet of nodes for tests: its samples as OpenMetrics, its Node objects as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml


@dataclass(frozen=True, slots=True)
class FleetNode:
    """A node that receives and sends at a steady rate, in bytes per second."""

    name: str
    receive: float = 1e6
    transmit: float = 5e5
    devices: tuple[str, ...] = ("eth0",)
    speed: float = 1.25e9  # bytes per second, of the first device
    busy: float = 0.25  # share of one core
    instance: str = ""  # default: name:9100
    ends: float = 0.0  # seconds before the end at which its samples stop
    labels: dict[str, str] = field(default_factory=dict)
    addresses: tuple[tuple[str, str], ...] = ()

    @property
    def exporter(self) -> str:
        return self.instance or f"{self.name}:9100"


def openmetrics(
    nodes: Sequence[FleetNode], *, end: float, seconds: float = 300, scrape: float = 15
) -> str:
    """Counters of node_exporter with samples up to `end` (Unix seconds)."""
    lines: list[str] = []
    for direction in ("receive", "transmit"):
        family = f"node_network_{direction}_bytes"
        lines.append(f"# TYPE {family} counter")
        for node in nodes:
            rate = node.receive if direction == "receive" else node.transmit
            for device in node.devices:
                labels = f'device="{device}",instance="{node.exporter}"'
                series = f"{family}_total{{{labels}}}"
                lines += _counter(series, rate, node, end, seconds, scrape)
    lines.append("# TYPE node_cpu_seconds counter")
    for node in nodes:
        for mode, share in (("idle", 1 - node.busy), ("user", node.busy)):
            labels = f'cpu="0",mode="{mode}",instance="{node.exporter}"'
            lines += _counter(
                f"node_cpu_seconds_total{{{labels}}}", share, node, end, seconds, scrape
            )
    lines += _gauges(nodes, end, seconds, scrape)
    return "\n".join([*lines, "# EOF", ""])


def _gauges(
    nodes: Sequence[FleetNode], end: float, seconds: float, scrape: float
) -> Iterator[str]:
    yield "# TYPE node_network_speed_bytes gauge"
    for node in nodes:
        labels = f'device="{node.devices[0]}",instance="{node.exporter}"'
        for at in _times(node, end, seconds, scrape):
            yield f"node_network_speed_bytes{{{labels}}} {node.speed} {at:.3f}"
    yield "# TYPE node_time_seconds gauge"
    for node in nodes:
        for at in _times(node, end, seconds, scrape):
            yield f'node_time_seconds{{instance="{node.exporter}"}} {at:.3f} {at:.3f}'


def _counter(
    series: str, rate: float, node: FleetNode, end: float, seconds: float, scrape: float
) -> Iterator[str]:
    start = end - seconds
    for at in _times(node, end, seconds, scrape):
        yield f"{series} {1e6 + rate * (at - start):.3f} {at:.3f}"


def _times(
    node: FleetNode, end: float, seconds: float, scrape: float
) -> Iterator[float]:
    steps = int(seconds / scrape)
    for step in range(steps, -1, -1):
        at = end - step * scrape
        if at <= end - node.ends:
            yield at


def node_list(nodes: Sequence[FleetNode]) -> bytes:
    """What the API server answers to GET /api/v1/nodes."""
    return json.dumps(
        {"kind": "NodeList", "metadata": {}, "items": [_node(node) for node in nodes]}
    ).encode()


def _node(node: FleetNode) -> dict[str, object]:
    addresses = node.addresses or (("Hostname", node.name),)
    return {
        "metadata": {"name": node.name, "labels": node.labels},
        "spec": {},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": t, "address": a} for t, a in addresses],
        },
    }


def kubeconfig(path: Path, server: str, user: dict[str, object] | None = None) -> str:
    """Write a kubeconfig that points at `server`; returns its path."""
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": server}}],
        "users": [{"name": "u", "user": user or {"token": "t"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
    path.write_text(yaml.safe_dump(document))
    return str(path)
