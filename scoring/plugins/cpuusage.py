"""CPUUsage: keep pods off nodes whose CPU is busy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from scoring.framework.normalize import least_used
from scoring.framework.plugin import Facts, FilterRule, LoadTable, Standing
from scoring.framework.snapshot import CPU
from scoring.framework.types import ExtensionPoint, Floats, Ints, PodInfo
from scoring.framework.units import write_number, write_percent
from scoring.plugins.args import ArgField, Reader
from scoring.plugins.plainload import plain_table
from scoring.plugins.sharedargs import (
    FLOOR_FIELDS,
    SCORE_FIELDS,
    SharedArgs,
    read_shared,
)

HYSTERESIS = 5.0  # percent points
REASON = "Bandmaster: CPU use above limit"
MISSING_REASON = "Bandmaster: no current CPU data"


@dataclass(frozen=True, slots=True)
class Args:
    """Percent of all cores; no `threshold` = the Filter refuses nobody."""

    shared: SharedArgs
    threshold: float | None


class CPUUsage:
    """Filter and Score by the busy share of a node's cores."""

    name = "CPUUsage"
    points = frozenset({ExtensionPoint.FILTER, ExtensionPoint.SCORE})

    def __init__(self, args: Args) -> None:
        self.args = args

    @classmethod
    def parse_args(cls, raw: Mapping[str, Any]) -> Args:
        """Raises ArgsError with every problem."""
        reader = Reader(raw)
        shared = read_shared(reader)
        threshold = reader.percent("thresholdPercent", None)
        reader.reject_unknown()
        reader.finish()
        return Args(shared, threshold)

    @classmethod
    def describe_args(cls) -> tuple[ArgField, ...]:
        return (_THRESHOLD, *FLOOR_FIELDS, *SCORE_FIELDS)

    @property
    def max_sample_age(self) -> float:
        return self.args.shared.max_sample_age

    def exempts(self, pod: PodInfo, point: ExtensionPoint) -> bool:
        return self.args.shared.exempt.matches(pod, point)

    def load_table(self, facts: Facts) -> LoadTable:
        busy = facts.snapshot.column(CPU).astype(np.float64)
        return plain_table(facts, busy, self.args.shared)

    def normalize_score(self, loads: Floats) -> Ints:
        return least_used(loads, missing_is_worst=self.args.shared.missing_is_worst)

    def filter_rule(self) -> FilterRule | None:
        if self.args.threshold is None:
            return None
        return self.args.shared.filter_rule(
            limit=self.args.threshold,
            readmit=max(0.0, self.args.threshold - HYSTERESIS),
            reasons=(REASON, MISSING_REASON),
        )

    def write_load(self, load: float) -> str:
        return write_percent(load)

    def tell(self, standing: Standing) -> tuple[str, ...]:
        load = standing.load
        formula = f"100 - {write_number(load * 100)}, within 0 and 100."
        if not standing.missing:
            return f"CPU {write_percent(load)}.", formula
        missing = self.args.shared.tell_missing(write_percent(load))
        return (missing,) if self.args.shared.missing_is_worst else (missing, formula)


_THRESHOLD = ArgField(
    "thresholdPercent",
    "percent",
    None,
    "percent of all cores",
    "The Filter refuses nodes whose CPU use is above this, and takes them back 5 under "
    "it. Without it the Filter refuses nobody.",
)
