"""What a plugin is to the framework: facts in, loads and node scores out.

A **load** is one float64 per node, at least 0, and more is worse. A negative load says
"no usable datum": it is -(1 + s), where s is the share of the node that reservations
take, because that share is known even when the measurement is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from scoring.framework.snapshot import NodeTable, Snapshot
from scoring.framework.types import (
    Bools,
    Estimate,
    ExtensionPoint,
    Floats,
    Ints,
    PodInfo,
    Rows,
)

NO_DATUM = -1.0


@dataclass(frozen=True, slots=True)
class Reservations:
    """Bandwidth of bound pods not yet in the window; bytes/s, float64[N]."""

    receive: Floats
    transmit: Floats

    @classmethod
    def none(cls, nodes: int) -> Reservations:
        return cls(np.zeros(nodes), np.zeros(nodes))


@dataclass(frozen=True, slots=True)
class Facts:
    """All that a plugin may know of the cluster; `now` in Unix seconds."""

    snapshot: Snapshot
    reserved: Reservations
    now: float


class Loads(Protocol):
    """The loads of all nodes, with one more row at the end for names not known."""

    def at(self, rows: Rows, estimate: Estimate) -> Floats:
        """float64[len(rows)]: the load if a pod of this estimate came to each row."""


@dataclass(frozen=True, slots=True)
class LoadTable:
    """A plugin's loads at one moment, and until when they are what they are."""

    loads: Loads
    known: Bools  # bool[N + 1]: which rows have a usable datum
    valid_until: float  # Unix seconds


@dataclass(frozen=True, slots=True)
class FilterRule:
    """When a plugin's Filter refuses a node. Loads, not percentages."""

    limit: float  # refuse above
    readmit: float  # a refused node comes back below
    reject_missing: bool
    min_nodes: int
    min_percent: float
    reason: str  # constant texts: kube-scheduler spins on texts that change
    missing_reason: str


@dataclass(frozen=True, slots=True)
class Standing:
    """One node among the candidates of a call, as a plugin's Score sees it.

    `load` is what the node counts as: the lower median of those with data where it is
    `missing`. `least`, `ninth_tenth` (nearest-rank 90th percentile) and `most` are of
    the candidates with data; there is at least one.
    """

    snapshot: Snapshot
    row: int
    missing: bool
    load: float
    least: float
    ninth_tenth: float
    most: float


class Plugin(Protocol):
    """A plugin with its arguments; holds no state and does no I/O."""

    name: str
    points: frozenset[ExtensionPoint]

    @property
    def max_sample_age(self) -> float:
        """Seconds from which a sample is too old to be used."""

    def exempts(self, pod: PodInfo, point: ExtensionPoint) -> bool:
        """Whether the operator keeps this pod out of the plugin at this point."""

    def load_table(self, facts: Facts) -> LoadTable:
        """Compute the loads of every node; off the request path."""

    def normalize_score(self, loads: Floats) -> Ints:
        """Node scores 0..100 of the candidates, from their loads."""

    def filter_rule(self) -> FilterRule | None:
        """None when the Filter has no threshold and so refuses nobody."""

    def write_load(self, load: float) -> str:
        """A load as people read it, with its unit; a dash for NaN."""

    def tell(self, standing: Standing) -> tuple[str, ...]:
        """How the node comes to its score, in sentences to be checked by hand."""


@dataclass(frozen=True, slots=True)
class RefusedSet:
    """Which nodes a Filter refuses in one snapshot; kept for the next one's sake."""

    table: NodeTable
    rows: Bools  # bool[N + 1]

    def carried_to(self, table: NodeTable) -> Bools:
        """The same refusals in the row order of another table."""
        if table is self.table or table.digest == self.table.digest:
            return self.rows
        names = {self.table.rows[i].name for i in np.flatnonzero(self.rows[:-1])}
        carried = np.zeros(len(table) + 1, np.bool_)
        for name in names & table.index.keys():
            carried[table.index[name]] = True
        return carried
