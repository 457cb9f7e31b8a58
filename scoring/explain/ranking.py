"""The nodes of a cluster as a policy ranks them, to be read by people and programs.

A pure function of snapshot, policy and time that asks the same runtime that answers
kube-scheduler. Arrays stay arrays until a page of rows is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from scoring.framework.policy import Policy
from scoring.framework.runtime import PreparedPolicy, neutral_priority, priorities
from scoring.framework.snapshot import (
    CPU,
    DEFAULT_MAX_SAMPLE_AGE,
    RECEIVE,
    TRANSMIT,
    NodeRow,
    Snapshot,
)
from scoring.framework.types import Age, Floats, Ints, PodInfo, Quality, Rows
from scoring.plugins.networktraffic import capacities, use

ELIGIBLE, REFUSED = "eligible", "refused"
CORDONED, NOT_READY, CONTROL_PLANE = "cordoned", "not ready", "control plane"
STATES = (ELIGIBLE, REFUSED, CORDONED, NOT_READY, CONTROL_PLANE)
ANY_POD = PodInfo()  # no namespace, no labels: exempt from nothing
AGES = tuple(str(age) for age in Age)
QUALITIES = tuple(quality.name.lower() for quality in Quality)


@dataclass(frozen=True, slots=True)
class RankedRow:
    """One node; rates and capacity in bytes/s, NaN = unknown, times in Unix seconds."""

    position: int | None  # from 1; None = not ranked
    node: NodeRow
    score: int | None  # 0..100
    priority: int | None  # the integer that is sent, 0..10 unless extended
    receive: float
    transmit: float
    receive_capacity: float
    transmit_capacity: float
    use: float  # busier direction's share of its capacity
    cpu: float
    sample_at: float | None
    sample_age: float
    age: str
    quality: str
    state: str
    reason: str

    @property
    def capacity(self) -> float:
        """The smaller direction's."""
        return min(self.receive_capacity, self.transmit_capacity)

    @property
    def receive_share(self) -> float:
        return self.receive / self.receive_capacity

    @property
    def transmit_share(self) -> float:
        return self.transmit / self.transmit_capacity

    @property
    def usable(self) -> bool:
        """Whether the numbers are current enough to be scored."""
        return self.age in {Age.FRESH, Age.AGEING} and self.quality != "invalid"


@dataclass(frozen=True, eq=False)
class Ranking:
    """All nodes of one snapshot under one policy at `now`."""

    policy: Policy
    prepared: PreparedPolicy
    snapshot: Snapshot
    now: float
    neutral: bool = False

    def __len__(self) -> int:
        return len(self.snapshot.table)

    @cached_property
    def eligible(self) -> Rows:
        """Rows that take part: Ready, not cordoned, not a control plane."""
        return np.flatnonzero(self.snapshot.table.eligible)

    @property
    def scored(self) -> bool:
        """Whether the policy can tell nodes apart now."""
        return self.prepared.scores and self.prepared.answerable

    @cached_property
    def points(self) -> Ints:
        """int64[eligible]: sum of w_i * s_i."""
        return self.prepared.score_points(self.eligible, ANY_POD)

    @cached_property
    def scores(self) -> Floats:
        """float64[N]: 0..100 as the weighted mean of the plugins; NaN = no score."""
        found = np.full(len(self), np.nan)
        total = self.policy.score_weight
        if self.scored and self.eligible.size:
            found[self.eligible] = (2 * self.points + total) // (2 * total)
        return found

    @cached_property
    def sent(self) -> Floats:
        """float64[N]: the integer that kube-scheduler gets; NaN = none."""
        found = np.full(len(self), np.nan)
        weight = self.policy.total_weight
        if not self.prepared.scores or not self.eligible.size:
            return found
        if self.neutral or not self.prepared.answerable:
            found[self.eligible] = neutral_priority(self.policy, weight)
        else:
            found[self.eligible] = priorities(self.points, weight)
        return found

    @cached_property
    def refused(self) -> Mapping[int, str]:
        """Row -> the constant reason that kube-scheduler gets."""
        if not self.prepared.filters or not self.eligible.size or self.neutral:
            return {}
        outcome = self.prepared.filter(self.eligible, ANY_POD)
        over = np.flatnonzero(~outcome.passed)
        return {
            int(self.eligible[i]): outcome.texts[int(outcome.reasons[i])] for i in over
        }

    @cached_property
    def use(self) -> Floats:
        """float64[N]: share of capacity of the busier direction; NaN = unknown."""
        return use(self.snapshot)

    @cached_property
    def capacities(self) -> tuple[Floats, Floats]:
        """Receive and transmit capacity, float64[N], bytes/s."""
        return capacities(self.snapshot.table)

    @property
    def capacity(self) -> Floats:
        """float64[N]: the smaller direction's capacity, bytes/s."""
        return np.minimum(*self.capacities)

    @cached_property
    def ages(self) -> tuple[str, ...]:
        """The age class of each node's datum."""
        seconds = self.snapshot.sample_age(self.now)
        missing = np.isnan(seconds) | np.isnan(self.snapshot.column(RECEIVE))
        classes = np.select(
            [missing, seconds > self.max_age, seconds <= self.snapshot.fresh_limit],
            [3, 2, 0],
            1,
        )
        return tuple(AGES[i] for i in classes.tolist())

    @property
    def max_age(self) -> float:
        """Seconds after which the policy takes a sample for expired."""
        return min(
            (prepared.plugin.max_sample_age for prepared in self.prepared.plugins),
            default=DEFAULT_MAX_SAMPLE_AGE,
        )

    @cached_property
    def order(self) -> Rows:
        """Rows from best to worst: score, then use, then name order."""
        use = np.where(np.isnan(self.use), np.inf, self.use)
        scores = np.where(np.isnan(self.scores), -1.0, self.scores)
        return np.lexsort((use, -scores))

    @cached_property
    def positions(self) -> Mapping[int, int]:
        """Row -> place among the nodes that have a score, from 1."""
        ranked = (int(row) for row in self.order if not np.isnan(self.scores[row]))
        return {row: place for place, row in enumerate(ranked, 1)}

    def state(self, row: int) -> str:
        node = self.snapshot.table.rows[row]
        if not node.ready:
            return NOT_READY
        if node.cordoned:
            return CORDONED
        if node.control_plane:
            return CONTROL_PLANE
        return REFUSED if row in self.refused else ELIGIBLE

    def quality(self, row: int) -> str:
        return QUALITIES[int(self.snapshot.quality[row])]

    def rows(self, numbers: Iterable[int]) -> Iterator[RankedRow]:
        """Full rows, in the order given."""
        seconds = self.snapshot.sample_age(self.now)
        receive_capacity, transmit_capacity = self.capacities
        for row in numbers:
            age = float(seconds[row])
            yield RankedRow(
                position=self.positions.get(row),
                node=self.snapshot.table.rows[row],
                score=_whole(self.scores[row]),
                priority=_whole(self.sent[row]),
                receive=float(self.snapshot.column(RECEIVE)[row]),
                transmit=float(self.snapshot.column(TRANSMIT)[row]),
                receive_capacity=float(receive_capacity[row]),
                transmit_capacity=float(transmit_capacity[row]),
                use=float(self.use[row]),
                cpu=float(self.snapshot.column(CPU)[row]),
                sample_at=None if np.isnan(age) else self.now - age,
                sample_age=age,
                age=self.ages[row],
                quality=self.quality(row),
                state=self.state(row),
                reason=self.refused.get(row, ""),
            )


def _whole(value: np.float64) -> int | None:
    return None if np.isnan(value) else int(value)
