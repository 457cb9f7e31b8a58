"""Keeps a dead exporter from looking idle.

A rate falls towards 0 while no new sample comes, and vanishes with the first failed
scrape. So a node's last good values stay, with their true age, until a newer sample
brings better ones; how old is too old, each policy decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from scoring.framework.snapshot import CPU, RECEIVE, TRANSMIT, NodeRow, Snapshot
from scoring.framework.types import Bools, Bytes8, Floats32

LONGEST_KEPT = 3600.0  # seconds; beyond it a value explains nothing any more
_SAME_SAMPLE = 0.25  # seconds by which the age of one and the same sample may differ


@dataclass(frozen=True, slots=True)
class Measures:
    """One value per node, NaN for unknown; `quality` as in framework.types."""

    receive: Floats32  # bytes per second
    transmit: Floats32  # bytes per second
    cpu: Floats32  # 0..1
    sample_age: Floats32  # seconds
    quality: Bytes8


def keep_last_good(
    measured: Measures,
    rows: tuple[NodeRow, ...],
    previous: Snapshot | None,
    at: float,
) -> tuple[Measures, Bools]:
    """`measured` with the previous values where no newer good sample came.

    Returns also which nodes keep previous values. `at` is the moment of `measured`.
    """
    if previous is None or not len(previous.table):
        return measured, np.zeros(len(rows), dtype=np.bool_)
    old = _aligned(previous, rows, at)
    usable = np.isfinite(old.receive) & (old.sample_age <= LONGEST_KEPT)
    nothing_new = (
        ~np.isfinite(measured.receive)
        | ~np.isfinite(measured.sample_age)
        | (measured.sample_age > old.sample_age - _SAME_SAMPLE)
    )
    kept = usable & nothing_new
    cpu = np.where(kept & np.isfinite(old.cpu), old.cpu, measured.cpu)
    merged = Measures(
        receive=np.where(kept, old.receive, measured.receive),
        transmit=np.where(kept, old.transmit, measured.transmit),
        cpu=cpu,
        sample_age=np.where(kept, old.sample_age, measured.sample_age),
        quality=np.where(kept, old.quality, measured.quality),
    )
    return merged, kept


def _aligned(previous: Snapshot, rows: tuple[NodeRow, ...], at: float) -> Measures:
    """The previous values in the order of `rows`; NaN for a node that is new."""
    index = previous.table.index
    order = np.array([index.get(row.name, -1) for row in rows], dtype=np.intp)
    new = order < 0
    order[new] = 0

    def column(values: Floats32) -> Floats32:
        taken = values[order].astype(np.float32)
        taken[new] = np.nan
        return taken

    return Measures(
        receive=column(previous.column(RECEIVE)),
        transmit=column(previous.column(TRANSMIT)),
        cpu=column(previous.column(CPU)),
        sample_age=column(previous.sample_age(at)),
        quality=previous.quality[order],
    )
