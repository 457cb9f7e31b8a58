"""A load that no pod's estimate changes."""

from __future__ import annotations

from dataclasses import dataclass

from scoring.framework.types import Estimate, Floats, Rows


@dataclass(frozen=True, slots=True)
class PlainLoads:
    """float64[N + 1]."""

    values: Floats

    def at(self, rows: Rows, estimate: Estimate) -> Floats:
        return self.values.take(rows)
