"""From one node's sample to the integer that kube-scheduler is sent, step by step.

Every number comes from the runtime that answers calls, over the eligible nodes as
candidates. A real call has its own candidates - those that passed kube-scheduler's own
filters - so its integers can differ; the steps are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scoring.framework.normalize import fill_unknown, percentile_rank
from scoring.framework.runtime import (
    PreparedPlugin,
    PreparedPolicy,
    neutral_priority,
    priorities,
)
from scoring.framework.snapshot import CPU, RECEIVE, TRANSMIT, NodeRow, Snapshot
from scoring.framework.types import NO_ESTIMATE, Age, PodInfo, Quality, Rows
from scoring.plugins.networktraffic import capacities

ANY_POD = PodInfo()  # no namespace, no labels: exempt from nothing


class UnknownNode(Exception):
    """The snapshot has no node of this name."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What was measured: bytes/s, shares of 1, seconds; NaN = unknown."""

    receive: float
    transmit: float
    cpu: float
    receive_capacity: float
    transmit_capacity: float
    seconds: float  # age of the sample
    age: Age
    quality: Quality

    @property
    def receive_share(self) -> float:
        return self.receive / self.receive_capacity

    @property
    def transmit_share(self) -> float:
        return self.transmit / self.transmit_capacity


@dataclass(frozen=True, slots=True)
class PluginSteps:
    """One Score plugin: load -> node score -> points. Loads as the plugin counts them.

    `least`, `ninth_tenth` (nearest-rank 90th percentile) and `most` are those of the
    candidates with data; all NaN when there is none.
    """

    name: str
    known: bool  # the node has a usable datum; else `load` is what it counts as
    load: float
    least: float
    ninth_tenth: float
    most: float
    score: int
    weight: int

    @property
    def points(self) -> int:
        return self.score * self.weight


@dataclass(frozen=True, slots=True)
class Explanation:
    """How `node` comes to `priority` at one moment under one policy."""

    node: NodeRow
    snapshot_version: int
    sample: Sample
    candidates: int
    plugins: tuple[PluginSteps, ...]
    num: int  # sum of the points
    weight: int  # W
    priority: int | None  # None: the policy has no Score of ours
    answerable: bool  # False: no data, so every node is sent the neutral integer
    refused: str  # the Filter's constant reason; empty when it passes

    @property
    def added(self) -> int:
        """Points that kube-scheduler adds to the node's total."""
        return (self.priority or 0) * 10 * self.weight


def explain_node(
    prepared: PreparedPolicy,
    snapshot: Snapshot,
    node_name: str,
    *,
    now: float,
    weight: int | None = None,
) -> Explanation:
    """`prepared` from this `snapshot`; `now` in Unix seconds; `weight` = the call's W.

    A node that is not eligible is explained as one more candidate. Raises UnknownNode.
    """
    row = snapshot.table.index.get(node_name)
    if row is None:
        raise UnknownNode(node_name)
    weight = weight or prepared.policy.total_weight
    rows = np.union1d(np.flatnonzero(snapshot.table.eligible), [row])
    place = int(np.searchsorted(rows, row))
    steps = tuple(
        _steps(plugin, rows, place) for plugin in prepared.plugins if plugin.spec.score
    )
    num = int(prepared.score_points(rows, ANY_POD)[place])
    outcome = prepared.filter(rows, ANY_POD)
    return Explanation(
        node=snapshot.table.rows[row],
        snapshot_version=snapshot.version,
        sample=_sample(snapshot, row, now, max_sample_age(prepared)),
        candidates=rows.size,
        plugins=steps,
        num=num,
        weight=weight,
        priority=_priority(prepared, num, weight),
        answerable=prepared.answerable,
        refused=outcome.texts[int(outcome.reasons[place])],
    )


def max_sample_age(prepared: PreparedPolicy) -> float:
    """Seconds from which the strictest plugin takes a sample for expired."""
    return min(
        (plugin.plugin.max_sample_age for plugin in prepared.plugins),
        default=float("inf"),
    )


def _priority(prepared: PreparedPolicy, num: int, weight: int) -> int | None:
    if not prepared.scores:
        return None
    if not prepared.answerable:
        return neutral_priority(prepared.policy, weight)
    return int(priorities(np.array([num]), weight)[0])


def _steps(prepared: PreparedPlugin, rows: Rows, place: int) -> PluginSteps:
    loads = prepared.table.loads.at(rows, NO_ESTIMATE)
    known = np.sort(loads[loads >= 0])
    bounds = (float("nan"),) * 3
    if known.size:
        middle = known[percentile_rank(known.size)]
        bounds = (float(known[0]), float(middle), float(known[-1]))
    return PluginSteps(
        prepared.spec.name,
        bool(loads[place] >= 0),
        float(fill_unknown(loads)[place]),
        *bounds,
        score=int(prepared.score(rows, NO_ESTIMATE)[place]),
        weight=prepared.spec.weight,
    )


def _sample(snapshot: Snapshot, row: int, now: float, max_age: float) -> Sample:
    receive, transmit = capacities(snapshot.table)
    return Sample(
        receive=float(snapshot.column(RECEIVE)[row]),
        transmit=float(snapshot.column(TRANSMIT)[row]),
        cpu=float(snapshot.column(CPU)[row]),
        receive_capacity=float(receive[row]),
        transmit_capacity=float(transmit[row]),
        seconds=float(snapshot.sample_age(now)[row]),
        age=snapshot.age(row, now, max_age),
        quality=Quality(int(snapshot.quality[row])),
    )
