"""HelloWorldPlugin: the well-known article's formula, in Go's integer arithmetic.

Kept for those who start from that article. It looks at receive bytes alone, not at
capacity or reservations, so a burst of pods all goes to the same few nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scoring.framework.normalize import LARGEST_EXACT, classic
from scoring.framework.plugin import Facts, FilterRule, LoadTable, Standing
from scoring.framework.snapshot import RECEIVE
from scoring.framework.types import ExtensionPoint, Floats, Ints, PodInfo, Quality
from scoring.framework.units import write_megabits
from scoring.plugins.args import ArgField, Reader
from scoring.plugins.plainload import plain_table
from scoring.plugins.sharedargs import SCORE_FIELDS, SharedArgs, read_shared


@dataclass(frozen=True, slots=True)
class Args:
    """`kept` holds all arguments as the operator wrote them."""

    shared: SharedArgs
    kept: Mapping[str, Any] = field(default_factory=dict)


class HelloWorldPlugin:
    """Score by 100 - raw * 100 / highest; has no Filter."""

    name = "HelloWorldPlugin"
    points = frozenset({ExtensionPoint.SCORE})

    def __init__(self, args: Args) -> None:
        self.args = args

    @classmethod
    def parse_args(cls, raw: Mapping[str, Any]) -> Args:
        """Any key is kept; only the shared arguments can be wrong (ArgsError)."""
        reader = Reader(raw)
        shared = read_shared(reader)
        reader.finish()
        return Args(shared, dict(raw))

    @classmethod
    def describe_args(cls) -> tuple[ArgField, ...]:
        return SCORE_FIELDS

    @property
    def max_sample_age(self) -> float:
        return self.args.shared.max_sample_age

    def exempts(self, pod: PodInfo, point: ExtensionPoint) -> bool:
        return self.args.shared.exempt.matches(pod, point)

    def load_table(self, facts: Facts) -> LoadTable:
        received = facts.snapshot.column(RECEIVE).astype(np.float64)
        received[facts.snapshot.quality == Quality.INVALID] = np.nan
        return plain_table(facts, received, self.args.shared)

    def normalize_score(self, loads: Floats) -> Ints:
        return classic(loads, missing_is_worst=self.args.shared.missing_is_worst)

    def filter_rule(self) -> FilterRule | None:
        return None

    def write_load(self, load: float) -> str:
        return write_megabits(load)

    def tell(self, standing: Standing) -> tuple[str, ...]:
        raw, highest = _whole(standing.load), _whole(standing.most)
        told = (
            f"raw = {raw:,} bytes/s received, highest = {highest:,} bytes/s.",
            f"100 - {raw} * 100 / {highest}, in whole numbers."
            if highest
            else "Nobody receives anything: all get 100.",
        )
        if not standing.missing:
            return told
        missing = self.args.shared.tell_missing(f"{raw:,} bytes/s")
        return (missing,) if self.args.shared.missing_is_worst else (missing, *told)


def _whole(load: float) -> int:
    return int(min(load, LARGEST_EXACT))
