"""From loads to node scores: pure, over the candidates of one call.

Loads are as in `scoring.framework.plugin`: negative means "no datum". Scores are
int64 in 0..100; halves round up, because banker's rounding would make equal steps
unequal.
"""

from __future__ import annotations

import numpy as np

from scoring.framework.plugin import NO_DATUM
from scoring.framework.types import (
    MAX_NODE_SCORE,
    MIN_NODE_SCORE,
    NEUTRAL_NODE_SCORE,
    Floats,
    Ints,
)

EQUAL_WITHIN = 1e-9  # a spread this small is rounding drift, not a difference
LARGEST_EXACT = 2.0**53  # times 100 this still fits an int64


def stretch(loads: Floats, dead_band: float, *, missing_is_worst: bool) -> Ints:
    """Spread the scores between the least loaded and the 90th percentile.

    One very busy node then does not squeeze all others into the same score. `lo` is
    the least load, `hi` the nearest-rank 90th percentile of the candidates that have
    data; load `hi` and above is 0. A spread under `dead_band` gives all the maximum:
    on an idle cluster the differences are noise. A node without data counts as the
    lower median of those with data, plus its reserved share; no data at all is
    neutral for everyone.
    """
    ordered = np.sort(loads)
    unknown = _count_unknown(ordered)
    known = loads.size - unknown
    if known == 0:
        return np.full(loads.size, NEUTRAL_NODE_SCORE, np.int64)
    lo = ordered[unknown]
    hi = ordered[unknown + percentile_rank(known)]
    filled = _fill(loads, ordered, unknown) if unknown else loads
    spread = hi - lo
    if indistinct(spread, dead_band):
        scores = np.full(loads.size, MAX_NODE_SCORE, np.int64)
    else:
        scores = _round_half_up((hi - filled) * (MAX_NODE_SCORE / spread))
    if unknown and missing_is_worst:
        scores[loads < 0] = MIN_NODE_SCORE
    return scores


def indistinct(spread: float, dead_band: float) -> bool:
    """Whether candidates this far apart all get the maximum."""
    return spread <= EQUAL_WITHIN or spread < dead_band


def percentile_rank(count: int) -> int:
    """The position of the nearest-rank 90th percentile in `count` ordered values."""
    return (9 * count + 9) // 10 - 1


def least_used(loads: Floats, *, missing_is_worst: bool) -> Ints:
    """100 * (1 - load): the idle node gets 100, the full one 0."""
    ordered = np.sort(loads)
    unknown = _count_unknown(ordered)
    if unknown == loads.size:
        return np.full(loads.size, NEUTRAL_NODE_SCORE, np.int64)
    filled = _fill(loads, ordered, unknown) if unknown else loads
    scores = _round_half_up((1.0 - filled) * MAX_NODE_SCORE)
    if unknown and missing_is_worst:
        scores[loads < 0] = MIN_NODE_SCORE
    return scores


def classic(loads: Floats, *, missing_is_worst: bool) -> Ints:
    """MaxNodeScore - raw * MaxNodeScore / highest, in Go's integer arithmetic.

    `raw` is the load cut to an integer and `highest` the largest among the candidates;
    a `highest` of 0 gives every node the maximum, where the well-known original
    divides by zero. Loads beyond 2**53 count as 2**53, so that nothing overflows.
    """
    ordered = np.sort(loads)
    unknown = _count_unknown(ordered)
    if unknown == loads.size:
        return np.full(loads.size, NEUTRAL_NODE_SCORE, np.int64)
    filled = _fill(loads, ordered, unknown) if unknown else loads
    raw = np.minimum(filled, LARGEST_EXACT).astype(np.int64)
    highest = int(min(ordered[-1], LARGEST_EXACT))
    if highest == 0:
        scores = np.full(loads.size, MAX_NODE_SCORE, np.int64)
    else:  # not negative, so floor division cuts as Go's does
        scores = MAX_NODE_SCORE - raw * MAX_NODE_SCORE // highest
    if unknown and missing_is_worst:
        scores[loads < 0] = MIN_NODE_SCORE
    return scores


def lower_median(ordered: Floats, unknown: int) -> float:
    """Of the values from position `unknown` on; there must be one."""
    return float(ordered[unknown + (ordered.size - unknown - 1) // 2])


def fill_unknown(loads: Floats) -> Floats:
    """Loads with the unknown as the lower median of the known, for showing.

    All NaN when nothing is known.
    """
    ordered = np.sort(loads)
    unknown = _count_unknown(ordered)
    if unknown == loads.size:
        return np.full(loads.size, np.nan)
    return _fill(loads, ordered, unknown)


def _count_unknown(ordered: Floats) -> int:
    if ordered.size == 0 or ordered[0] >= 0:
        return 0
    return int(ordered.searchsorted(0.0))


def _fill(loads: Floats, ordered: Floats, unknown: int) -> Floats:
    median = lower_median(ordered, unknown)
    return np.where(loads < 0, median + (NO_DATUM - loads), loads)


def _round_half_up(values: Floats) -> Ints:
    values += 0.5
    np.maximum(values, MIN_NODE_SCORE, out=values)
    return values.astype(np.int64)  # not negative: cutting is floor
