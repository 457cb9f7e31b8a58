"""From the answers of one tick to one row of facts per node.

Devices are collapsed by maximum (two exporters of one node see the same bytes), then
added up. No data is never "idle": what is not known is NaN and says why.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import is_

import numpy as np

from scoring.bandwidth.capacity import Capacity, capacities, credible_speed
from scoring.bandwidth.devices import counts
from scoring.bandwidth.freshness import Measures, keep_last_good
from scoring.bandwidth.identity import (
    BY_SHORT_NAME,
    UNMATCHED,
    Identities,
    Key,
    Match,
    cluster_of,
    identify,
    instance_of,
    key_of,
)
from scoring.bandwidth.series import Series
from scoring.framework.snapshot import DEFAULT_MAX_SAMPLE_AGE, NodeRow, Snapshot
from scoring.framework.types import Bools, Floats, Floats32, Quality

_LOST_SHARE = 0.1  # of the nodes with data, from one tick to the next
_LARGEST = float(np.finfo(np.float32).max)
_NAMED = 3  # examples that a warning names

_NO_SERIES = "no series names this node"
_ONE_SAMPLE = "fewer than two samples in the window so far"
_UNUSABLE = "its samples are not numbers from 0 up"
_GLITCH = "its rate is above what its links can carry: the sample was rejected"
_KEPT = "no newer good sample"


@dataclass(frozen=True, slots=True)
class Answers:
    """What Prometheus said in one tick. `at` is the moment of evaluation.

    `speeds` is None when it is not known this time; the previous capacities stay.
    """

    at: float  # Unix seconds
    window: float  # seconds
    receive: tuple[Series, ...]
    transmit: tuple[Series, ...]
    age: tuple[Series, ...]
    cpu: tuple[Series, ...] = ()
    speeds: tuple[Series, ...] | None = None
    unames: Mapping[tuple[str, str], str] | None = None
    scrape_interval: float = 0.0  # seconds; 0 = unknown


@dataclass(frozen=True, slots=True)
class Observation:
    """The facts of one tick; rows and measures are in the same order."""

    rows: tuple[NodeRow, ...]
    measures: Measures
    with_data: int
    unmatched: int  # exporters that belong to no node
    warnings: tuple[str, ...]


@dataclass(slots=True)
class _Direction:
    """Device -> row of a node -> value, and the rows with a series that is unusable.

    In this order, and not the other way, because names of devices are few: thousands
    of small dicts would set off the garbage collector in every tick.
    """

    values: dict[str, dict[int, float]]
    invalid: set[int]

    def totals(self, count: int) -> Floats32:
        """The sum over devices; NaN unless at least one of them is known."""
        total = np.full(count, np.nan)
        for values in self.values.values():
            rows = np.fromiter(values.keys(), np.intp, len(values))
            rates = np.fromiter(values.values(), np.float64, len(values))
            rows, rates = rows[~np.isnan(rates)], rates[~np.isnan(rates)]
            total[rows] = np.nan_to_num(total[rows], nan=0.0) + rates
        return _narrow(total)

    def devices(self, count: int) -> list[tuple[str, ...]]:
        """The names of each node's devices; equal ones are one and the same tuple."""
        names: list[tuple[str, ...]] = [()] * count
        for device in sorted(self.values):
            longer: dict[tuple[str, ...], tuple[str, ...]] = {}
            for row in self.values[device]:
                before = names[row]
                names[row] = longer.setdefault(before, (*before, device))
        return names


@dataclass(frozen=True, slots=True)
class _Raw:
    """What was matched to nodes, before anything is judged."""

    receive: _Direction
    transmit: _Direction
    cpu: Floats32
    age: Floats32


def observe(
    answers: Answers, nodes: tuple[NodeRow, ...], previous: Snapshot | None
) -> Observation:
    """Match the series to `nodes`, judge them, and keep last good values."""
    count = len(nodes)
    keys = [
        [key_of(one.labels) for one in part]
        for part in (answers.receive, answers.transmit, answers.age, answers.cpu)
    ]
    identities = identify(set().union(*keys), nodes, answers.unames)
    receive_rows, transmit_rows, age_rows, cpu_rows = (
        [identities.matches[key].row for key in part] for part in keys
    )
    receive = _by_device(answers.receive, receive_rows)
    links = _capacities(answers, identities.matches, nodes, previous)
    rules = _rules(identities, count)
    raw = _Raw(
        receive,
        transmit=_by_device(answers.transmit, transmit_rows),
        cpu=_per_node(answers.cpu, cpu_rows, count, np.fmax),
        age=_per_node(answers.age, age_rows, count, np.fmin),
    )
    fresh, causes = _judge(raw, links, rules)
    measures, kept = keep_last_good(fresh, nodes, previous, answers.at)
    found = _Found(receive.devices(count), links, rules, _explain(causes, kept, fresh))
    rows = _rows(nodes, found, previous)
    recent = measures.sample_age <= DEFAULT_MAX_SAMPLE_AGE
    with_data = int((np.isfinite(measures.receive) & recent).sum())
    warnings = (
        *_identity_warnings(identities, nodes),
        *_window_warning(answers),
        *_lost_warning(int(np.isfinite(fresh.receive).sum()), nodes, previous),
    )
    unmatched = len({instance_of(key) for key in identities.unmatched})
    return Observation(rows, measures, with_data, unmatched, warnings)


def _by_device(series: tuple[Series, ...], rows: list[int]) -> _Direction:
    """`rows` says to which node each of the series belongs; below 0 to none."""
    found = _Direction({}, set())
    for one, row in zip(series, rows, strict=True):
        device = one.labels.get("device", "")
        if row < 0 or not counts(device):
            continue
        values = found.values.get(device)
        if values is None:
            values = found.values[device] = {}
        value = one.value
        if value != value:  # NaN; a call for it costs more than the rest
            found.invalid.add(row)
            values.setdefault(row, value)
        elif not values.get(row, -1.0) >= value:  # also true for a NaN that is there
            values[row] = value
    return found


def _per_node(
    series: tuple[Series, ...],
    rows: list[int],
    count: int,
    choose: np.ufunc,
) -> Floats32:
    """One value per node from series without devices; `choose` skips NaN."""
    places = np.array(rows, dtype=np.intp)
    values = np.array([one.value for one in series], dtype=np.float64)
    result = np.full(count, np.nan)
    known = places >= 0
    choose.at(result, places[known], values[known])
    return _narrow(result)


def _narrow(values: Floats) -> Floats32:
    """As float32; what is too large for it is as large as it can be, NaN stays."""
    return np.clip(values, -_LARGEST, _LARGEST).astype(np.float32)


def _capacities(
    answers: Answers,
    matches: Mapping[Key, Match],
    nodes: tuple[NodeRow, ...],
    previous: Snapshot | None,
) -> tuple[Capacity, ...]:
    if answers.speeds is not None:
        found = (matches.get(key_of(one.labels)) for one in answers.speeds)
        rows = [match.row if match else UNMATCHED for match in found]
        speeds = [0.0] * len(nodes)
        for device, values in _by_device(answers.speeds, rows).values.items():
            for row, speed in values.items():
                speeds[row] += credible_speed(device, speed)
        return capacities(speeds)
    if previous is None:
        return capacities(0.0 for _ in nodes)
    table = previous.table
    old = {row.name: row for row in table.rows}
    missing = capacities((0.0,))[0]
    return tuple(
        Capacity(old[node.name].receive_capacity, old[node.name].capacity_origin)
        if node.name in old
        else missing
        for node in nodes
    )


def _rules(identities: Identities, count: int) -> list[str]:
    """The rule that recognised each node; the exact one when two did."""
    rules = [""] * count
    for match in identities.matches.values():
        if match.row >= 0 and rules[match.row] in {"", BY_SHORT_NAME}:
            rules[match.row] = match.rule
    return rules


def _judge(
    raw: _Raw, links: tuple[Capacity, ...], rules: list[str]
) -> tuple[Measures, list[str]]:
    """Quality and cause per node, before any earlier value is considered."""
    received, sent = raw.receive.totals(len(rules)), raw.transmit.totals(len(rules))
    highest = np.array([link.highest_rate for link in links], dtype=np.float32)
    # NaN compares false: an unknown direction is no glitch
    glitch = (received > highest) | (sent > highest)
    received[glitch] = sent[glitch] = np.nan
    known = np.isfinite(received)
    broken = raw.receive.invalid | raw.transmit.invalid
    quality = np.full(len(rules), Quality.MEASURED, dtype=np.uint8)
    guessed = [rule == BY_SHORT_NAME for rule in rules]
    quality[np.array(guessed, dtype=np.bool_)] = Quality.GUESSED
    quality[known & ~np.isfinite(sent)] = Quality.PARTIAL
    quality[sorted(broken)] = Quality.PARTIAL
    quality[~known] = Quality.INVALID
    causes = [""] * len(rules)
    for row in np.flatnonzero(~known):
        causes[row] = _cause(
            glitch=bool(glitch[row]),
            broken=int(row) in broken,
            heard=bool(np.isfinite(raw.age[row])),
        )
    cpu = np.clip(raw.cpu, 0.0, 1.0)
    age = np.maximum(raw.age, np.float32(0.0))
    return Measures(received, sent, cpu, age, quality), causes


def _cause(*, glitch: bool, broken: bool, heard: bool) -> str:
    if glitch:
        return _GLITCH
    if broken:
        return _UNUSABLE
    return _ONE_SAMPLE if heard else _NO_SERIES


def _explain(causes: list[str], kept: Bools, fresh: Measures) -> list[str]:
    """A kept value is no missing one, but it says why it is old."""
    explained = list(causes)
    for row in np.flatnonzero(kept & ~np.isfinite(fresh.receive)):
        explained[row] = f"{_KEPT}: {causes[row]}"
    return explained


@dataclass(frozen=True, slots=True)
class _Found:
    """What the rows of the node table say besides what the API server said."""

    devices: list[tuple[str, ...]]
    links: tuple[Capacity, ...]
    rules: list[str]
    causes: list[str]


def _rows(
    nodes: tuple[NodeRow, ...], found: _Found, previous: Snapshot | None
) -> tuple[NodeRow, ...]:
    """The rows of this tick; the very tuple of the last one when nothing changed.

    Most ticks change nothing: comparing is cheaper than making, and tells the caller
    that the stored table can be used again.
    """
    known = previous.table.rows if previous else ()
    index = previous.table.index if previous else {}
    rows = tuple(
        _row(node, found, i, known[index[node.name]] if node.name in index else None)
        for i, node in enumerate(nodes)
    )
    same = len(rows) == len(known) and all(map(is_, rows, known))
    return known if same else rows


def _row(node: NodeRow, found: _Found, i: int, known: NodeRow | None) -> NodeRow:
    link = found.links[i]
    row = NodeRow(
        node.name,
        node.zone,
        node.pool,
        node.ready,
        node.cordoned,
        node.control_plane,
        node.addresses,
        link.bytes_per_second,
        link.bytes_per_second,
        link.origin,
        found.rules[i],
        found.devices[i],
        found.causes[i],
    )
    return known if known is not None and known == row else row


def _identity_warnings(
    identities: Identities, nodes: tuple[NodeRow, ...]
) -> tuple[str, ...]:
    warnings: list[str] = []
    if identities.ambiguous:
        warnings.append(
            f"two nodes claim {_examples(identities.ambiguous)}: series under it are "
            "left out"
        )
    strangers = sorted({instance_of(key) for key in identities.unmatched})
    if strangers:
        warnings.append(
            f"{len(strangers)} exporters belong to no node of the cluster, such as "
            f"{_examples(strangers)}"
        )
    matched = {key: match for key, match in identities.matches.items() if match.rule}
    if twice := _with_two_exporters(matched, nodes):
        warnings.append(
            f"{len(twice)} nodes have more than one exporter, such as "
            f"{_examples(twice)}: of each device the higher value counts"
        )
    clusters = sorted({cluster_of(key) for key in matched})
    if len(clusters) > 1:
        warnings.append(
            f"series of several clusters match ({_examples(clusters)}): choose one "
            "with BANDMASTER_PROMETHEUS_SELECTOR"
        )
    return tuple(warnings)


def _with_two_exporters(
    matched: Mapping[Key, Match], nodes: tuple[NodeRow, ...]
) -> list[str]:
    if len({match.row for match in matched.values()}) == len(matched):
        return []
    first: dict[int, str] = {}
    twice: set[int] = set()
    for key, match in matched.items():
        instance = instance_of(key)
        if first.setdefault(match.row, instance) != instance:
            twice.add(match.row)
    return sorted(nodes[row].name for row in twice)


def _examples(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(name or "no cluster label" for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and others"


def _window_warning(answers: Answers) -> tuple[str, ...]:
    interval = answers.scrape_interval
    if interval <= 0 or answers.window >= 3 * interval:
        return ()
    return (
        f"the window of {answers.window:g} s holds fewer than 3 scrapes of "
        f"{interval:.0f} s: set BANDMASTER_WINDOW_SECONDS to {4 * interval:.0f}",
    )


def _lost_warning(
    with_data: int, nodes: tuple[NodeRow, ...], previous: Snapshot | None
) -> tuple[str, ...]:
    """Partial answers look like health: say when many nodes fall silent at once."""
    if previous is None:
        return ()
    names = {node.name for node in nodes}
    before = sum(row.name in names and not row.cause for row in previous.table.rows)
    if with_data >= (1 - _LOST_SHARE) * before:
        return ()
    return (f"nodes with data fell from {before} to {with_data} since the last tick",)
