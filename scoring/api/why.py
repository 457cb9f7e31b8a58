"""How one node came to the integer that is sent, in steps that can be checked by hand.

Every number is taken from the runtime that answers kube-scheduler; the sentences only
say which.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from scoring.api.ranking import Ranking
from scoring.framework.normalize import EQUAL_WITHIN, fill_unknown, percentile_rank
from scoring.framework.runtime import PreparedPlugin
from scoring.framework.snapshot import RECEIVE, TRANSMIT
from scoring.framework.types import NO_ESTIMATE, Floats
from scoring.framework.units import write_megabits, write_number, write_percent
from scoring.plugins.cpuusage import CPUUsage
from scoring.plugins.helloworld import HelloWorldPlugin
from scoring.plugins.networktraffic import NetworkTraffic, capacities


@dataclass(frozen=True, slots=True)
class Part:
    """One Score plugin's share: `score` * `weight` = `points`."""

    plugin: str
    score: int
    weight: int
    steps: tuple[str, ...]

    @property
    def points(self) -> int:
        return self.score * self.weight


@dataclass(frozen=True, slots=True)
class Why:
    """From the plugins' scores to the points that kube-scheduler adds."""

    parts: tuple[Part, ...]
    points: int  # num: sum of the parts
    weight: int  # W
    priority: int

    @property
    def added(self) -> int:
        """What kube-scheduler adds to the node's total."""
        return self.priority * 10 * self.weight

    @property
    def most(self) -> int:
        return 100 * self.weight


@dataclass(frozen=True, slots=True)
class _Scene:
    """The candidates' loads (negative: no datum) and the node's place among them."""

    ranking: Ranking
    row: int
    place: int
    loads: Floats
    filled: Floats
    prepared: PreparedPlugin

    @property
    def load(self) -> float:
        return float(self.filled[self.place])

    @property
    def missing(self) -> bool:
        return bool(self.loads[self.place] < 0)

    @property
    def known(self) -> Floats:
        return np.sort(self.loads[self.loads >= 0])


def why(ranking: Ranking, row: int) -> Why | None:
    """None when the node is not ranked: out of the race, or nothing to score by."""
    places = np.flatnonzero(ranking.eligible == row)
    if not ranking.scored or not places.size:
        return None
    place = int(places[0])
    return Why(
        parts=tuple(
            _part(ranking, row, place, prepared)
            for prepared in ranking.prepared.plugins
            if prepared.spec.score
        ),
        points=int(ranking.points[place]),
        weight=ranking.policy.total_weight,
        priority=int(ranking.sent[row]),
    )


def _part(ranking: Ranking, row: int, place: int, prepared: PreparedPlugin) -> Part:
    loads = prepared.table.loads.at(ranking.eligible, NO_ESTIMATE)
    scores = prepared.score(ranking.eligible, NO_ESTIMATE)
    scene = _Scene(ranking, row, place, loads, fill_unknown(loads), prepared)
    tell = _TELLERS.get(prepared.spec.name)
    known = scene.known.size and tell is not None
    return Part(
        plugin=prepared.spec.name,
        score=int(scores[place]),
        weight=prepared.spec.weight,
        steps=tell(scene) if known and tell else ("No candidate has current data.",),
    )


def _network(scene: _Scene) -> tuple[str, ...]:
    known = scene.known
    lo, hi = float(known[0]), float(known[percentile_rank(known.size)])
    args = getattr(scene.prepared.plugin, "args", None)
    band = getattr(args, "dead_band", 0.0) / 100
    first = _median(scene) if scene.missing else _directions(scene)
    if hi - lo <= EQUAL_WITHIN or hi - lo < band:
        last = (
            f"The candidates lie between {write_percent(lo)} and {write_percent(hi)}: "
            f"less than the dead band of {write_percent(band)} apart, so all get 100."
        )
        return first, last
    worst = "No current data counts as the worst: 0."
    if scene.missing and getattr(args.shared, "missing_is_worst", False):  # type: ignore[union-attr]
        return first, worst
    return (
        first,
        f"Least used candidate {write_percent(lo)}, nine in ten are at most at "
        f"{write_percent(hi)}.",
        f"({_share(hi)} - {_share(scene.load)}) * 100 / ({_share(hi)} - {_share(lo)}), "
        "within 0 and 100.",
    )


def _directions(scene: _Scene) -> str:
    snapshot = scene.ranking.snapshot
    told = []
    for word, column, capacity in zip(
        ("receive", "transmit"),
        (snapshot.column(RECEIVE), snapshot.column(TRANSMIT)),
        capacities(snapshot.table),
        strict=True,
    ):
        rate, most = float(column[scene.row]), float(capacity[scene.row])
        told.append(
            f"{word} {write_megabits(rate)} of {write_megabits(most)} = "
            f"{write_percent(rate / most)}"
        )
    return f"{'; '.join(told)}. The busier direction counts."


def _cpu(scene: _Scene) -> tuple[str, ...]:
    if scene.missing:
        return (_median(scene),)
    return (f"CPU {write_percent(scene.load)}: 100 - {_share(scene.load)}.",)


def _hello(scene: _Scene) -> tuple[str, ...]:
    raw, highest = int(scene.load), int(scene.known[-1])
    told = (
        f"raw = {raw:,} bytes/s received, highest = {highest:,} bytes/s.",
        f"100 - {raw} * 100 / {highest}, in whole numbers."
        if highest
        else "Nobody receives anything: all get 100.",
    )
    return (_median_of_bytes(scene), *told) if scene.missing else told


def _median(scene: _Scene) -> str:
    return (
        "No current data of its own: it counts as the median of the candidates with "
        f"data, {write_percent(scene.load)}."
    )


def _median_of_bytes(scene: _Scene) -> str:
    return (
        "No current data of its own: it counts as the median of the candidates with "
        f"data, {int(scene.load):,} bytes/s."
    )


def _share(load: float) -> str:
    return write_number(load * 100)


_TELLERS: dict[str, Callable[[_Scene], tuple[str, ...]]] = {
    NetworkTraffic.name: _network,
    CPUUsage.name: _cpu,
    HelloWorldPlugin.name: _hello,
}
