"""A snapshot: the newest per-node facts of a cluster, frozen.

Shapes: N nodes in the order of `NodeTable.rows`. Float columns are float32[N] with
NaN for "unknown"; unknown is never 0. Scores are computed from exactly what is
stored here, so a decision can be recomputed later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from scoring.framework.types import Age, Bools, Bytes8, Floats, Floats32

RECEIVE = "receive"  # bytes per second, rate over the window
TRANSMIT = "transmit"  # bytes per second, rate over the window
CPU = "cpu"  # busy share of all cores, 0..1
SAMPLE_AGE = "sample_age"  # seconds between the newest sample and `collected_at`
COLUMNS = (RECEIVE, TRANSMIT, CPU, SAMPLE_AGE)

DEFAULT_MAX_SAMPLE_AGE = 300.0  # seconds; Prometheus' own look-back


@dataclass(frozen=True, slots=True)
class NodeRow:
    """What is known of a node and changes rarely."""

    name: str
    zone: str = ""
    pool: str = ""
    ready: bool = True
    cordoned: bool = False
    control_plane: bool = False
    addresses: tuple[str, ...] = ()  # InternalIP, ExternalIP, Hostname, InternalDNS
    receive_capacity: float = 0.0  # bytes per second; 0 = unknown
    transmit_capacity: float = 0.0  # bytes per second; 0 = unknown
    capacity_origin: str = ""
    mapping_rule: str = ""  # how its series were recognised
    devices: tuple[str, ...] = ()
    cause: str = ""  # why data is missing, a sentence

    @property
    def eligible(self) -> bool:
        """Counts in fleet figures: Ready, not cordoned, not a control plane."""
        return self.ready and not self.cordoned and not self.control_plane


@dataclass(frozen=True, slots=True)
class NodeTable:
    """The nodes of a cluster in a fixed order; `digest` names this exact content."""

    rows: tuple[NodeRow, ...]
    digest: str
    index: Mapping[str, int] = field(repr=False)
    receive_capacity: Floats = field(repr=False, compare=False)  # bytes/s; 0 = unknown
    transmit_capacity: Floats = field(repr=False, compare=False)
    eligible: Bools = field(repr=False, compare=False)

    @classmethod
    def build(cls, rows: tuple[NodeRow, ...], digest: str) -> NodeTable:
        return cls(
            rows=rows,
            digest=digest,
            index={row.name: i for i, row in enumerate(rows)},
            receive_capacity=np.array([r.receive_capacity for r in rows], np.float64),
            transmit_capacity=np.array([r.transmit_capacity for r in rows], np.float64),
            eligible=np.array([r.eligible for r in rows], np.bool_),
        )

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The facts of one tick. Times are Unix seconds, rates bytes per second."""

    version: int
    cluster: str
    collected_at: float
    window: float  # seconds that the rates look back
    scrape_interval: float  # seconds, as detected; 0 = unknown
    table: NodeTable
    columns: Mapping[str, Floats32]
    quality: Bytes8  # scoring.framework.types.Quality per node
    warnings: tuple[str, ...] = ()

    def column(self, name: str) -> Floats32:
        """float32[N]; all NaN when this snapshot does not hold the column."""
        found = self.columns.get(name)
        if found is None:
            return np.full(len(self.table), np.nan, dtype=np.float32)
        return found

    def sample_age(self, now: float) -> Floats32:
        """Seconds since each node's newest sample, at `now`; NaN = no sample."""
        grown = np.float32(max(0.0, now - self.collected_at))
        return self.column(SAMPLE_AGE) + grown

    def usable_until(self, max_age: float) -> Floats:
        """float64[N]: the Unix second from which each node's sample is too old.

        -inf where there is no sample. Rounded down to whole seconds, so that a fleet
        whose samples age one by one changes what is usable at most once a second.
        """
        age = self.column(SAMPLE_AGE).astype(np.float64)
        until = np.floor(self.collected_at + max_age - age)
        until[np.isnan(until)] = -np.inf
        return until

    @property
    def fresh_limit(self) -> float:
        """Seconds up to which a sample is fresh: the window and two scrapes."""
        return self.window + 2 * self.scrape_interval

    def age(self, row: int, now: float, max_age: float = DEFAULT_MAX_SAMPLE_AGE) -> Age:
        """The age class of one node's datum at `now`."""
        seconds = float(self.sample_age(now)[row])
        if np.isnan(seconds) or np.isnan(self.column(RECEIVE)[row]):
            return Age.MISSING
        if seconds > max_age:
            return Age.EXPIRED
        return Age.FRESH if seconds <= self.fresh_limit else Age.AGEING
