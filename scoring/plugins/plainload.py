"""A load that no pod's estimate changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scoring.framework.plugin import NO_DATUM, Facts, LoadTable
from scoring.framework.types import Estimate, Floats, Rows
from scoring.plugins.sharedargs import SharedArgs
from scoring.plugins.usable import usable


@dataclass(frozen=True, slots=True)
class PlainLoads:
    """float64[N + 1]."""

    values: Floats

    def at(self, rows: Rows, estimate: Estimate) -> Floats:
        return self.values.take(rows)


def plain_table(facts: Facts, values: Floats, shared: SharedArgs) -> LoadTable:
    """The table of one column, float64[N]; what is not usable has no datum."""
    known, until = usable(facts.snapshot, values, shared, facts.now)
    loads = PlainLoads(np.append(np.where(known, values, NO_DATUM), NO_DATUM))
    return LoadTable(loads, np.append(known, False), until)
