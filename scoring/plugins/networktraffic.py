"""NetworkTraffic: place pods where the network has room.

u = max over receive, transmit of (observed + reserved + estimate) / capacity

A node has a datum only where both directions are known in full: what was not heard
must not count as idle, and the direction that is missing may be the busier one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.framework.normalize import indistinct, stretch
from scoring.framework.plugin import NO_DATUM, Facts, FilterRule, LoadTable, Standing
from scoring.framework.snapshot import RECEIVE, TRANSMIT, NodeTable, Snapshot
from scoring.framework.types import (
    NO_ESTIMATE,
    Estimate,
    ExtensionPoint,
    Floats,
    Ints,
    PodInfo,
    Quality,
    Rows,
)
from scoring.framework.units import write_megabits, write_number, write_percent
from scoring.plugins.args import ArgField, Reader
from scoring.plugins.sharedargs import (
    FLOOR_FIELDS,
    SCORE_FIELDS,
    SharedArgs,
    read_shared,
)
from scoring.plugins.usable import usable

ASSUMED_CAPACITY = 1.25e9  # bytes per second: 10 Gbit/s, when no node tells its own
HYSTERESIS = 5.0  # percent points
REASON = "Bandmaster: network use above limit"
MISSING_REASON = "Bandmaster: no current network data"


@dataclass(frozen=True, slots=True)
class Args:
    """Percentages of capacity; no `max_utilization` = the Filter refuses nobody."""

    shared: SharedArgs
    max_utilization: float | None
    readmit: float
    dead_band: float


@dataclass(frozen=True, slots=True)
class NetworkLoads:
    """Shares of capacity per direction; `*_per_byte` is 0 where there is no datum."""

    receive: Floats
    transmit: Floats
    receive_per_byte: Floats
    transmit_per_byte: Floats
    worst: Floats  # the load without any estimate

    def at(self, rows: Rows, estimate: Estimate) -> Floats:
        if estimate is NO_ESTIMATE:
            return self.worst.take(rows)
        receive = self.receive_per_byte.take(rows)
        receive *= estimate.receive
        receive += self.receive.take(rows)
        transmit = self.transmit_per_byte.take(rows)
        transmit *= estimate.transmit
        transmit += self.transmit.take(rows)
        return np.maximum(receive, transmit, out=receive)


class NetworkTraffic:
    """Filter and Score by the busier direction's share of the link."""

    name = "NetworkTraffic"
    points = frozenset({ExtensionPoint.FILTER, ExtensionPoint.SCORE})

    def __init__(self, args: Args) -> None:
        self.args = args

    @classmethod
    def parse_args(cls, raw: Mapping[str, Any]) -> Args:
        """Raises ArgsError with every problem."""
        reader = Reader(raw)
        shared = read_shared(reader)
        limit = reader.percent("maxUtilizationPercent", None)
        readmit = reader.percent("readmitPercent", None)
        if readmit is not None and limit is None:
            reader.problem("readmitPercent", "needs maxUtilizationPercent beside it")
        elif readmit is not None and limit is not None and readmit > limit:
            reader.problem("readmitPercent", "is above maxUtilizationPercent")
        if readmit is None:
            readmit = max(0.0, (limit or 0.0) - HYSTERESIS)
        dead_band = reader.percent("deadBandPercent", 2.0) or 0.0
        reader.reject_unknown()
        reader.finish()
        return Args(shared, limit, readmit, dead_band)

    @classmethod
    def describe_args(cls) -> tuple[ArgField, ...]:
        return (*_OWN_FIELDS, *FLOOR_FIELDS, *SCORE_FIELDS)

    @property
    def max_sample_age(self) -> float:
        return self.args.shared.max_sample_age

    def exempts(self, pod: PodInfo, point: ExtensionPoint) -> bool:
        return self.args.shared.exempt.matches(pod, point)

    def load_table(self, facts: Facts) -> LoadTable:
        snapshot, nodes = facts.snapshot, facts.snapshot.table
        received, sent = rates(snapshot)
        known, until = usable(snapshot, received, self.args.shared, facts.now)
        receive_per_byte, transmit_per_byte = (1 / c for c in capacities(nodes))
        taken = np.maximum(
            facts.reserved.receive * receive_per_byte,
            facts.reserved.transmit * transmit_per_byte,
        )
        no_datum = NO_DATUM - taken
        receive = (received + facts.reserved.receive) * receive_per_byte
        transmit = (sent + facts.reserved.transmit) * transmit_per_byte
        receive = np.append(np.where(known, receive, no_datum), NO_DATUM)
        transmit = np.append(np.where(known, transmit, no_datum), NO_DATUM)
        loads = NetworkLoads(
            receive,
            transmit,
            np.append(np.where(known, receive_per_byte, 0), 0),
            np.append(np.where(known, transmit_per_byte, 0), 0),
            np.maximum(receive, transmit),
        )
        return LoadTable(loads, np.append(known, False), until)

    def normalize_score(self, loads: Floats) -> Ints:
        return stretch(
            loads,
            self.args.dead_band / 100,
            missing_is_worst=self.args.shared.missing_is_worst,
        )

    def filter_rule(self) -> FilterRule | None:
        if self.args.max_utilization is None:
            return None
        return self.args.shared.filter_rule(
            limit=self.args.max_utilization,
            readmit=self.args.readmit,
            reasons=(REASON, MISSING_REASON),
        )

    def write_load(self, load: float) -> str:
        return write_percent(load)

    def tell(self, standing: Standing) -> tuple[str, ...]:
        missing, shared = standing.missing, self.args.shared
        first = _directions(standing)
        if missing:
            first = _partly(standing) + shared.tell_missing(
                write_percent(standing.load)
            )
        if missing and shared.missing_is_worst:
            return (first,)
        return first, self._stretched(standing)

    def _stretched(self, standing: Standing) -> str:
        lo, hi = standing.least, standing.ninth_tenth
        band = self.args.dead_band / 100
        if indistinct(hi - lo, band):
            return (
                f"The candidates lie between {write_percent(lo)} and "
                f"{write_percent(hi)}: less than the dead band of "
                f"{write_percent(band)} apart, so all get 100."
            )
        own, least, ninth = (write_number(100 * x) for x in (standing.load, lo, hi))
        return (
            f"Least used candidate {write_percent(lo)}, nine in ten are at most at "
            f"{write_percent(hi)}: ({ninth} - {own}) * 100 / ({ninth} - {least}), "
            "within 0 and 100."
        )


def _partly(standing: Standing) -> str:
    if standing.snapshot.quality[standing.row] != Quality.PARTIAL:
        return ""
    return "Only a part of its traffic is known, and the rest may be the busier one. "


def _directions(standing: Standing) -> str:
    row, snapshot = standing.row, standing.snapshot
    told = []
    for word, rate, most in zip(
        ("receive", "transmit"),
        rates(snapshot),
        capacities(snapshot.table),
        strict=True,
    ):
        measured, capacity = float(rate[row]), float(most[row])
        told.append(
            f"{word} {write_megabits(measured)} of {write_megabits(capacity)} = "
            f"{write_percent(measured / capacity)}"
        )
    return f"{'; '.join(told)}. The busier direction counts."


def rates(snapshot: Snapshot) -> tuple[Floats, Floats]:
    """Receive and transmit, bytes per second, float64[N].

    Both are NaN unless both are known in full.
    """
    received = snapshot.column(RECEIVE).astype(np.float64)
    sent = snapshot.column(TRANSMIT).astype(np.float64)
    incomplete = (snapshot.quality == Quality.INVALID) | (
        snapshot.quality == Quality.PARTIAL
    )
    incomplete |= ~np.isfinite(received + sent) | (received < 0) | (sent < 0)
    received[incomplete] = sent[incomplete] = np.nan
    return received, sent


def use(snapshot: Snapshot) -> Floats:
    """float64[N]: the busier direction's measured share of capacity; NaN = unknown."""
    shares = zip(rates(snapshot), capacities(snapshot.table), strict=True)
    receive, transmit = (rate / capacity for rate, capacity in shares)
    return np.maximum(receive, transmit)


def capacities(nodes: NodeTable) -> tuple[Floats, Floats]:
    """Receive and transmit capacity, bytes per second; never 0.

    A node whose capacity is not known gets the median of the fleet's known ones.
    """
    return (
        _fill_capacity(nodes, nodes.receive_capacity),
        _fill_capacity(nodes, nodes.transmit_capacity),
    )


def _fill_capacity(nodes: NodeTable, capacity: Floats) -> Floats:
    known = capacity > 0
    fleet = capacity[known & nodes.eligible]
    assumed = float(np.median(fleet)) if fleet.size else ASSUMED_CAPACITY
    return np.where(known, capacity, assumed)


_OWN_FIELDS = (
    ArgField(
        "maxUtilizationPercent",
        "percent",
        None,
        "percent of capacity",
        "The Filter refuses nodes whose busier direction is above this. Without it "
        "the Filter refuses nobody.",
    ),
    ArgField(
        "readmitPercent",
        "percent",
        None,
        "percent of capacity",
        "A refused node comes back below this; 5 under the limit when not given.",
    ),
    ArgField(
        "deadBandPercent",
        "percent",
        2,
        "percent of capacity",
        "When the candidates differ by less than this, all get the same score.",
    ),
)
