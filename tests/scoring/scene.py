"""A cluster in a few lines, for tests of the pure core: columns in, policy out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring.framework.plugin import Facts, Reservations
from scoring.framework.policy import PluginSpec, Policy
from scoring.framework.runtime import PreparedPolicy, prepare
from scoring.framework.snapshot import (
    CPU,
    RECEIVE,
    SAMPLE_AGE,
    TRANSMIT,
    NodeRow,
    NodeTable,
    Snapshot,
)
from scoring.framework.types import Floats32, Quality, Rows
from scoring.plugins.registry import build

NOW = 1_800_000_000.0
CAPACITY = 100.0  # bytes per second, so that loads read as percentages
NAN = float("nan")


@dataclass(frozen=True, slots=True)
class Scene:
    """Columns by node; a column left out is idle (`age`: fresh, `capacity`: 100)."""

    receive: Sequence[float]
    transmit: Sequence[float] | None = None
    cpu: Sequence[float] | None = None
    age: Sequence[float] | None = None
    capacity: Sequence[float] | None = None
    quality: Sequence[Quality] = ()
    names: Sequence[str] = ()
    cordoned: frozenset[int] = field(default_factory=frozenset)
    digest: str = "a"
    version: int = 1

    @property
    def rows(self) -> Rows:
        return np.arange(len(self.receive))

    def snapshot(self) -> Snapshot:
        count = len(self.receive)
        capacity = self.capacity or [CAPACITY] * count
        names = self.names or [f"n{i}" for i in range(count)]
        nodes = tuple(
            NodeRow(
                name,
                receive_capacity=size,
                transmit_capacity=size,
                cordoned=i in self.cordoned,
            )
            for i, (name, size) in enumerate(zip(names, capacity, strict=True))
        )
        columns = {
            RECEIVE: _column(self.receive),
            TRANSMIT: _column(self.transmit or [0.0] * count),
            CPU: _column(self.cpu or [0.0] * count),
            SAMPLE_AGE: _column(self.age or [5.0] * count),
        }
        quality = np.array(self.quality or [Quality.MEASURED] * count, np.uint8)
        table = NodeTable.build(nodes, self.digest)
        return Snapshot(
            self.version, "default", NOW, 60.0, 15.0, table, columns, quality
        )

    def facts(self, reserved: Reservations | None = None, *, now: float = NOW) -> Facts:
        snapshot = self.snapshot()
        return Facts(snapshot, reserved or Reservations.none(len(self.receive)), now)

    def prepared(
        self,
        *specs: PluginSpec,
        now: float = NOW,
        previous: PreparedPolicy | None = None,
    ) -> PreparedPolicy:
        plugins = tuple((spec, build(spec)) for spec in specs)
        return prepare(
            policy(*specs), plugins, self.snapshot(), None, now=now, previous=previous
        )


def policy(*specs: PluginSpec, weight: int | None = None) -> Policy:
    total = weight or max(1, sum(spec.weight for spec in specs))
    return Policy("main", 1, 1, "0" * 64, "default-scheduler", total, specs)


def traffic(weight: int = 1, *, limit: float | None = None, **args: Any) -> PluginSpec:
    """NetworkTraffic as Score when it has a weight, as Filter when it has a limit."""
    if limit is not None:
        args["maxUtilizationPercent"] = limit
    return PluginSpec("NetworkTraffic", weight > 0, limit is not None, weight, args)


def cpu(weight: int = 1, *, limit: float | None = None, **args: Any) -> PluginSpec:
    if limit is not None:
        args["thresholdPercent"] = limit
    return PluginSpec("CPUUsage", weight > 0, limit is not None, weight, args)


def _column(values: Sequence[float]) -> Floats32:
    return np.array(values, np.float32)
