"""Run a policy: filter -> score -> normalize -> the integer that is sent.

`prepare` does all that does not depend on the candidates, off the request path; a
`PreparedPolicy` is immutable and answers calls without looking at a clock. This is
also the one place that turns node scores (0..100) into extender priorities (0..10).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from scoring.framework.plugin import (
    Facts,
    FilterRule,
    LoadTable,
    Plugin,
    RefusedSet,
    Reservations,
)
from scoring.framework.policy import PluginSpec, Policy
from scoring.framework.snapshot import NodeTable, Snapshot
from scoring.framework.types import (
    NEUTRAL_NODE_SCORE,
    NO_ESTIMATE,
    Bools,
    Estimate,
    ExtensionPoint,
    Floats,
    Ints,
    PodInfo,
    Rows,
)

__all__ = [
    "FilterOutcome",
    "PreparedPlugin",
    "PreparedPolicy",
    "Reservations",
    "neutral_priority",
    "prepare",
    "priorities",
]


def priorities(num: Ints, weight: int) -> Ints:
    """Extender priorities from points: (num + 5*W) // (10*W), rounded once.

    `num` = sum of w_i * s_i, what a compiled-in plugin set would have added; `weight`
    = W, what kube-scheduler multiplies the answer with (times 10).
    """
    return (num + 5 * weight) // (10 * weight)


def neutral_priority(policy: Policy, weight: int) -> int:
    """What every host gets when no answer is possible: 50 from each plugin."""
    points = NEUTRAL_NODE_SCORE * policy.score_weight
    return (points + 5 * weight) // (10 * weight)


@dataclass(frozen=True, slots=True)
class FilterOutcome:
    """Per candidate: whether it passed, and else which of `texts` says why."""

    passed: Bools
    reasons: Ints  # index into `texts`; 0 where passed
    texts: tuple[str, ...]
    floor_used: bool = False  # refused nodes were kept because too few were left


@dataclass(frozen=True, slots=True)
class Gate:
    """A plugin's Filter, ready: whom it refuses in this snapshot."""

    rule: FilterRule
    refused: RefusedSet

    def refuses(
        self, rows: Rows, loads: Floats, missing: Bools, candidates: int
    ) -> tuple[Bools, bool]:
        """bool[n] refused, and whether the floor kept some that it would refuse.

        `candidates` of the call, of which `rows` are those that got this far.
        """
        over = self.refused.rows[rows] | (loads > self.rule.limit)
        if self.rule.reject_missing and 2 * np.count_nonzero(missing) <= rows.size:
            over |= missing
        floor = min(rows.size, self._floor(candidates))
        short = floor - (rows.size - int(np.count_nonzero(over)))
        if short <= 0:
            return over, False
        order = np.flatnonzero(over)
        # those without data come last: what is not known is never the least loaded
        burden = np.where(missing, np.inf, loads)[order]
        over[order[np.argsort(burden, kind="stable")[:short]]] = False
        return over, True

    def _floor(self, candidates: int) -> int:
        share = math.ceil(candidates * self.rule.min_percent / 100)
        return max(self.rule.min_nodes, share)


@dataclass(frozen=True, slots=True)
class PreparedPlugin:
    """A plugin with its loads; `gate` is None where its Filter is off or inert."""

    spec: PluginSpec
    plugin: Plugin
    table: LoadTable
    gate: Gate | None

    def score(self, rows: Rows, estimate: Estimate) -> Ints:
        """int64[n]: node scores 0..100 of the candidates."""
        return self.plugin.normalize_score(self.table.loads.at(rows, estimate))


@dataclass(frozen=True, slots=True)
class PreparedPolicy:
    """A policy ready to answer from one snapshot, until `valid_until`.

    Row N of everything (N = nodes of the snapshot) stands for a name not known.
    """

    policy: Policy
    snapshot_version: int
    nodes: NodeTable
    valid_until: float  # Unix seconds; from then on prepare again
    plugins: tuple[PreparedPlugin, ...]
    answerable: bool  # False: no plugin has a usable datum of any node

    @property
    def scores(self) -> bool:
        """Whether this policy has a Score of ours."""
        return any(p.spec.score for p in self.plugins)

    @property
    def filters(self) -> bool:
        """Whether this policy has a Filter of ours that can refuse."""
        return any(p.gate is not None for p in self.plugins)

    def exempts(self, pod: PodInfo, point: ExtensionPoint) -> bool:
        """Whether every plugin at this point leaves the pod alone."""
        return all(p.plugin.exempts(pod, point) for p in self._at(point))

    def score_points(
        self, rows: Rows, pod: PodInfo, estimate: Estimate = NO_ESTIMATE
    ) -> Ints:
        """int64[n]: sum of w_i * s_i per candidate.

        A plugin that exempts the pod counts 50 for every node: leaving it out would
        inflate the others.
        """
        points = np.zeros(rows.size, np.int64)
        for prepared in self.plugins:
            if not prepared.spec.score:
                continue
            if prepared.plugin.exempts(pod, ExtensionPoint.SCORE):
                points += prepared.spec.weight * NEUTRAL_NODE_SCORE
            else:
                scores = prepared.score(rows, estimate)
                scores *= prepared.spec.weight
                points += scores
        return points

    def filter(
        self,
        rows: Rows,
        pod: PodInfo,
        *,
        nominated: bool = False,
        estimate: Estimate = NO_ESTIMATE,
    ) -> FilterOutcome:
        """Refuse candidates, plugin after plugin; each sees who is left.

        `nominated`: the only candidate is the pod's nominated node. It passes, since
        other pods may already have been evicted for it.
        """
        passed = np.ones(rows.size, np.bool_)
        reasons = np.zeros(rows.size, np.int64)
        texts = [""]
        floor_used = False
        for prepared in () if nominated else self.plugins:
            gate = prepared.gate
            if gate is None or prepared.plugin.exempts(pod, ExtensionPoint.FILTER):
                continue
            left = np.flatnonzero(passed)
            loads = prepared.table.loads.at(rows[left], estimate)
            missing = loads < 0
            over, kept = gate.refuses(rows[left], loads, missing, rows.size)
            floor_used |= kept
            passed[left[over]] = False
            reasons[left[over]] = len(texts) + missing[over]
            texts += [gate.rule.reason, gate.rule.missing_reason]
        return FilterOutcome(passed, reasons, tuple(texts), floor_used)

    def _at(self, point: ExtensionPoint) -> Iterable[PreparedPlugin]:
        if point is ExtensionPoint.SCORE:
            return (p for p in self.plugins if p.spec.score)
        return (p for p in self.plugins if p.spec.filter)


def prepare(  # noqa: PLR0913 - one value per thing that a policy depends on
    policy: Policy,
    plugins: tuple[tuple[PluginSpec, Plugin], ...],
    snapshot: Snapshot | None,
    reserved: Reservations | None,
    *,
    now: float,
    previous: PreparedPolicy | None = None,
) -> PreparedPolicy:
    """Compute all that the candidates do not change.

    `previous` is what the policy was before, for the hysteresis of its filters. No
    `snapshot` gives a policy that is not answerable; no `reserved` counts as none.
    """
    if snapshot is None:
        empty = NodeTable.build((), "")
        snapshot = Snapshot(0, "", now, 0.0, 0.0, empty, {}, np.zeros(0, np.uint8))
    reserved = reserved or Reservations.none(len(snapshot.table))
    facts = Facts(snapshot, reserved, now)
    prepared = tuple(
        _prepare_plugin(spec, plugin, facts, previous) for spec, plugin in plugins
    )
    return PreparedPolicy(
        policy=policy,
        snapshot_version=snapshot.version,
        nodes=snapshot.table,
        valid_until=min((p.table.valid_until for p in prepared), default=math.inf),
        plugins=prepared,
        answerable=any(bool(p.table.known.any()) for p in prepared),
    )


def _prepare_plugin(
    spec: PluginSpec, plugin: Plugin, facts: Facts, previous: PreparedPolicy | None
) -> PreparedPlugin:
    table = plugin.load_table(facts)
    rule = plugin.filter_rule() if spec.filter else None
    if rule is None:
        return PreparedPlugin(spec, plugin, table, None)
    before = _refused_before(spec, previous)
    rows = np.arange(len(facts.snapshot.table) + 1)
    loads = table.loads.at(rows, NO_ESTIMATE)
    refused = loads > rule.limit
    if before is not None:
        refused |= before.carried_to(facts.snapshot.table) & (loads >= rule.readmit)
    gate = Gate(rule, RefusedSet(facts.snapshot.table, refused))
    return PreparedPlugin(spec, plugin, table, gate)


def _refused_before(
    spec: PluginSpec, previous: PreparedPolicy | None
) -> RefusedSet | None:
    """Nothing is carried over once the arguments have changed."""
    for prepared in previous.plugins if previous else ():
        same = prepared.spec.name == spec.name and prepared.spec.args == spec.args
        if same and prepared.gate:
            return prepared.gate.refused
    return None
