"""From one node's sample to the integer that kube-scheduler is sent, step by step.

Every number comes from the runtime that answers calls, over the eligible nodes as
candidates; the plugins tell their own steps. A real call has its own candidates -
those that passed kube-scheduler's own filters - so its integers can differ; the steps
are the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from scoring.explain.ranking import ANY_POD, RankedRow, Ranking
from scoring.framework.normalize import fill_unknown, percentile_rank
from scoring.framework.plugin import Standing
from scoring.framework.runtime import (
    Gate,
    PreparedPlugin,
    neutral_priority,
    priorities,
)
from scoring.framework.types import NO_ESTIMATE, Rows

_NAN = float("nan")
_NO_DATA = "No candidate has current data."


@dataclass(frozen=True, slots=True)
class Part:
    """One Score plugin's share: `score` * `weight` = `points`.

    Loads as the plugin counts them; `least`, `ninth_tenth` and `most` are those of the
    candidates with data, all NaN when there is none.
    """

    name: str
    known: bool  # the node has a usable datum; else `load` is what it counts as
    load: float
    least: float
    ninth_tenth: float
    most: float
    score: int
    weight: int
    steps: tuple[str, ...]  # how the load becomes the score, in sentences

    @property
    def points(self) -> int:
        return self.score * self.weight


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the filters say of the node."""

    asked: bool  # False: the policy has no Filter that can refuse, or is neutral
    refused: str  # the constant reason that kube-scheduler gets; empty when it passes
    steps: tuple[str, ...]  # load, limit, hysteresis and floor of each Filter


@dataclass(frozen=True, slots=True)
class Explanation:
    """How a node comes to `priority` at one moment under one policy."""

    row: RankedRow
    candidates: int
    parts: tuple[Part, ...]
    num: int  # sum of the points
    weight: int  # W
    priority: int | None  # None: the policy has no Score of ours
    answerable: bool  # False: no data, so every node is sent the neutral integer
    neutral: bool  # the kill switch is on, so every node is sent the neutral integer
    verdict: Verdict

    @property
    def added(self) -> int:
        """Points that kube-scheduler adds to the node's total."""
        return (self.priority or 0) * 10 * self.weight

    @property
    def most(self) -> int:
        """Points that it adds to the best node's."""
        return 100 * self.weight


def explain(ranking: Ranking, row: int, *, weight: int | None = None) -> Explanation:
    """The node in row `row`; `weight` = the call's W.

    A node that is not eligible is explained as one more candidate.
    """
    prepared = ranking.prepared
    weight = weight or ranking.policy.total_weight
    rows = np.union1d(ranking.eligible, [row])
    place = int(np.searchsorted(rows, row))
    num = int(prepared.score_points(rows, ANY_POD)[place])
    return Explanation(
        row=next(ranking.rows((row,))),
        candidates=rows.size,
        parts=tuple(
            _part(ranking, one, rows, place)
            for one in prepared.plugins
            if one.spec.score
        ),
        num=num,
        weight=weight,
        priority=_priority(ranking, num, weight),
        answerable=prepared.answerable,
        neutral=ranking.neutral,
        verdict=_verdict(ranking, rows, place),
    )


def _priority(ranking: Ranking, num: int, weight: int) -> int | None:
    if not ranking.prepared.scores:
        return None
    if ranking.neutral or not ranking.prepared.answerable:
        return neutral_priority(ranking.policy, weight)
    return int(priorities(np.array([num]), weight)[0])


def _part(ranking: Ranking, prepared: PreparedPlugin, rows: Rows, place: int) -> Part:
    loads = prepared.table.loads.at(rows, NO_ESTIMATE)
    missing = bool(loads[place] < 0)
    known = np.sort(loads[loads >= 0])
    load, least, ninth, most = _NAN, _NAN, _NAN, _NAN
    steps: tuple[str, ...] = (_NO_DATA,)
    if known.size:
        load = float(fill_unknown(loads)[place])
        least, most = float(known[0]), float(known[-1])
        ninth = float(known[percentile_rank(known.size)])
        number = int(rows[place])
        steps = prepared.plugin.tell(
            Standing(ranking.snapshot, number, missing, load, least, ninth, most)
        )
    return Part(
        name=prepared.spec.name,
        known=not missing,
        load=load,
        least=least,
        ninth_tenth=ninth,
        most=most,
        score=int(prepared.score(rows, NO_ESTIMATE)[place]),
        weight=prepared.spec.weight,
        steps=steps,
    )


def _verdict(ranking: Ranking, rows: Rows, place: int) -> Verdict:
    prepared = ranking.prepared
    if not prepared.filters or not prepared.answerable or ranking.neutral:
        return Verdict(asked=False, refused="", steps=())
    outcome = prepared.filter(rows, ANY_POD)
    refused = outcome.texts[int(outcome.reasons[place])]
    steps = tuple(_filter_steps(ranking, rows, place, refused))
    return Verdict(asked=True, refused=refused, steps=steps)


def _filter_steps(
    ranking: Ranking, rows: Rows, place: int, refused: str
) -> Iterator[str]:
    """One sentence for each Filter that was asked: the first that refuses ends it."""
    for prepared in ranking.prepared.plugins:
        gate = prepared.gate
        if gate is None:
            continue
        load = float(prepared.table.loads.at(rows[place : place + 1], NO_ESTIMATE)[0])
        over = bool(gate.refused.rows[rows[place]])
        here = refused in {gate.rule.reason, gate.rule.missing_reason}
        told = _gate_sentence(prepared, gate, load, over=over)
        if over and not here:
            told += (
                " It passes all the same: too few candidates would be left, and the "
                "floor keeps the least loaded ones."
            )
        yield f"{prepared.spec.name}: {told}"
        if here:
            return


def _gate_sentence(
    prepared: PreparedPlugin, gate: Gate, load: float, *, over: bool
) -> str:
    rule, write = gate.rule, prepared.plugin.write_load
    limit, readmit = write(rule.limit), write(rule.readmit)
    if load < 0:
        if not rule.reject_missing:
            return "no current data; that is no reason to refuse."
        return (
            "no current data, which is a reason to refuse while at least half of the "
            "candidates have some."
        )
    if load > rule.limit:
        return f"{write(load)} is above the limit of {limit}."
    if over:
        return (
            f"{write(load)} is not above the limit of {limit}, but it was before: it "
            f"comes back below {readmit}."
        )
    if load >= rule.readmit:
        return (
            f"{write(load)} is not above the limit of {limit}; had it been, it would "
            f"come back below {readmit} only."
        )
    return f"{write(load)} is under the limit of {limit}."
