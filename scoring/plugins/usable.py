"""Which nodes' data may be used at a moment, and until when that stays so."""

from __future__ import annotations

import math

from scoring.framework.snapshot import Snapshot
from scoring.framework.types import Bools, Floats
from scoring.plugins.sharedargs import OnMissing, SharedArgs


def usable(
    snapshot: Snapshot, values: Floats, args: SharedArgs, now: float
) -> tuple[Bools, float]:
    """bool[N] of the nodes whose value counts, and when the first of them expires.

    A value that is NaN or negative is never usable: no data is not "idle".
    """
    present = values >= 0  # False for NaN
    if args.on_missing is OnMissing.LAST_KNOWN:
        return present, math.inf
    until = snapshot.usable_until(args.max_sample_age)
    counts = present & (until > now)
    return counts, float(until.min(where=counts, initial=math.inf))
