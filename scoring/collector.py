"""One collection cycle: lease, ask, match, judge, publish.

Every fault of an outside system ends as a sentence in the Tick row; the last good
snapshot stays, with its true age.
"""

from __future__ import annotations

import logging
import threading
import time as clock
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

from django.db import DatabaseError
from django.utils import timezone

from scoring import access, lease, snapshot
from scoring.bandwidth import queries
from scoring.bandwidth.observation import Answers, Observation, observe
from scoring.bandwidth.series import Series
from scoring.cluster import ClusterAccess, ClusterError, list_nodes
from scoring.framework.snapshot import (
    CPU,
    RECEIVE,
    SAMPLE_AGE,
    TRANSMIT,
    NodeRow,
    NodeTable,
    Snapshot,
)
from scoring.models import Cluster, Tick
from scoring.models import Snapshot as StoredSnapshot
from scoring.prometheus import PrometheusAccess, PrometheusError, instant

logger = logging.getLogger(__name__)

QUERY_BUDGET = 0.8  # share of the tick that outside systems may take
SLOW_FACTS_SECONDS = 300.0  # between two looks at what rarely changes
_SPACING = 0.7  # share of the tick: sooner after the last start is a doubled tick
_LEASE_MARGIN = 5.0  # seconds; a killed worker's lease must not stop many ticks
_SENTENCE_LIMIT = 500
_PLACES = 4  # of the code, named when it fails unexpectedly


@dataclass(slots=True)
class _SlowFacts:
    """What is asked every five minutes, and kept when a later look fails."""

    asked_at: float = float("-inf")  # monotonic
    speeds: tuple[Series, ...] | None = None
    interval: float = 0.0
    unames: Mapping[tuple[str, str], str] | None = None  # asked only when needed


@dataclass(slots=True)
class _Notes:
    """What goes into the Tick row besides the snapshot."""

    durations: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cluster_error: str = ""


_slow: dict[str, _SlowFacts] = {}
_slow_lock = threading.Lock()


def tick(cluster_name: str, *, owner: str, spaced: bool = False) -> Tick | None:
    """Collect once and publish a snapshot; the finished Tick row tells the outcome.

    None when another holder is at it, or when `spaced` and the last tick started less
    than most of an interval ago. Never raises for a fault of an outside system; raises
    Cluster.DoesNotExist, and DatabaseError when not even the row can be written.
    """
    cluster = Cluster.objects.get(name=cluster_name)
    now = timezone.now()
    name = snapshot.lease_name(cluster)
    until = now + timedelta(seconds=cluster.tick_seconds + _LEASE_MARGIN)
    fence = lease.acquire(name, owner=owner, now=now, until=until)
    if fence is None:
        return None
    try:
        if spaced and _too_soon(cluster, now):
            return None
        _close_abandoned(cluster)
        row = Tick.objects.create(cluster=cluster, fence=fence, started_at=now)
        _run(cluster, row)
        return row
    finally:
        lease.release(name, fence=fence)


def _too_soon(cluster: Cluster, now: datetime) -> bool:
    earliest = now - timedelta(seconds=_SPACING * cluster.tick_seconds)
    return cluster.ticks.filter(started_at__gt=earliest).exists()


def _close_abandoned(cluster: Cluster) -> None:
    """We hold the lease, so a tick that still runs has lost its worker."""
    cluster.ticks.filter(outcome=Tick.Outcome.RUNNING).update(
        outcome=Tick.Outcome.FAILED,
        finished_at=timezone.now(),
        prometheus_error="the worker stopped in the middle of this tick",
    )


def _run(cluster: Cluster, row: Tick) -> None:
    notes = _Notes()
    try:
        _collect(cluster, row, notes)
    except PrometheusError as exc:
        _fail(row, str(exc))
    except ClusterError as exc:
        row.outcome = Tick.Outcome.FAILED
        notes.cluster_error = str(exc)
    except snapshot.StaleFence:
        _fail(row, "this tick took so long that another one took over")
    except DatabaseError:
        raise
    except Exception as exc:  # noqa: BLE001 - the next tick may well succeed
        # not the text of it: that may quote a URL or a token
        logger.error(  # noqa: TRY400
            "cluster=%s fence=%s tick failed: %s at %s",
            cluster.name,
            row.fence,
            type(exc).__name__,
            _places(exc),
        )
        _fail(row, "the tick failed for a reason of our own: see the worker's log")
    _finish(row, notes)


def _places(exc: Exception) -> str:
    """Where it was raised and who called that, innermost first."""
    frames = reversed(traceback.extract_tb(exc.__traceback__))
    innermost = list(frames)[:_PLACES]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in innermost)


def _fail(row: Tick, sentence: str) -> None:
    row.outcome = Tick.Outcome.FAILED
    row.prometheus_error = sentence[:_SENTENCE_LIMIT]


def _finish(row: Tick, notes: _Notes) -> None:
    row.finished_at = timezone.now()
    row.cluster_error = notes.cluster_error[:_SENTENCE_LIMIT]
    row.warnings = [warning[:_SENTENCE_LIMIT] for warning in notes.warnings]
    row.durations = {step: round(took, 4) for step, took in notes.durations.items()}
    row.save()
    failed = row.outcome == Tick.Outcome.FAILED
    logger.log(
        logging.WARNING if failed else logging.INFO,
        "cluster=%s fence=%s outcome=%s nodes=%s with_data=%s seconds=%.3f%s",
        row.cluster.name,
        row.fence,
        row.outcome,
        row.nodes,
        row.nodes_with_data,
        (row.finished_at - row.started_at).total_seconds(),
        "".join(
            f" error={e!r}" for e in (row.prometheus_error, row.cluster_error) if e
        ),
    )


def _collect(cluster: Cluster, row: Tick, notes: _Notes) -> None:
    budget = QUERY_BUDGET * cluster.tick_seconds
    until = clock.monotonic() + budget
    previous = snapshot.latest(cluster)
    source = access.prometheus_access(cluster)
    with _timed(notes, "nodes"):
        nodes = _nodes(
            access.cluster_access(cluster), previous, notes, until - budget / 2
        )
    row.nodes = len(nodes)
    at = row.started_at.timestamp()
    asking = _Asking(cluster, source, _selector(source), notes, at=at, until=until)
    answers = _ask(asking)
    with _timed(notes, "match"):
        seen = observe(answers, nodes, previous)
    if seen.unmatched and seen.with_data < len(nodes) and answers.unames is None:
        unames = _ask_unames(asking)
        seen = observe(replace(answers, unames=unames), nodes, previous)
    row.nodes_with_data = seen.with_data
    notes.warnings.extend(seen.warnings)
    with _timed(notes, "publish"):
        row.snapshot = _publish(asking, row, answers, seen, previous)
    row.outcome = (
        Tick.Outcome.PARTIAL
        if notes.cluster_error or seen.with_data < len(nodes)
        else Tick.Outcome.OK
    )
    with _timed(notes, "prune"):
        snapshot.prune(cluster, now=row.started_at)


def _nodes(
    api: ClusterAccess, previous: Snapshot | None, notes: _Notes, until: float
) -> tuple[NodeRow, ...]:
    """The cluster's nodes now, else those of the last snapshot."""
    try:
        return list_nodes(api, until=until)
    except ClusterError as exc:
        if previous is None:
            raise
        notes.cluster_error = str(exc)
        return previous.table.rows


def _selector(source: PrometheusAccess) -> str:
    if not source.url:
        raise PrometheusError(
            "no Prometheus is known: set BANDMASTER_PROMETHEUS_URL, for example "
            "http://prometheus.monitoring:9090"
        )
    try:
        return queries.check_selector(source.selector)
    except queries.SelectorError as exc:
        raise PrometheusError(str(exc)) from exc


@dataclass(frozen=True, slots=True)
class _Asking:
    """All that the queries of one tick share."""

    cluster: Cluster
    source: PrometheusAccess
    selector: str
    notes: _Notes
    at: float  # Unix seconds of the evaluation
    until: float  # monotonic

    def series(self, name: str, promql: str) -> tuple[Series, ...]:
        # a share of idle time may round to just below 0
        lowest = -1.0 if name == "cpu" else 0.0
        result = instant(
            self.source, promql, time=self.at, until=self.until, lowest=lowest
        )
        self.notes.durations[name] = result.seconds
        self.notes.warnings.extend(f"Prometheus: {text}" for text in result.warnings)
        return result.series

    def optional(
        self, name: str, promql: str, *, quiet: bool = False
    ) -> tuple[Series, ...] | None:
        """None, and a warning unless `quiet`, where the tick can do without."""
        try:
            return self.series(name, promql)
        except PrometheusError as exc:
            if not quiet:
                self.notes.warnings.append(f"without {name} this time: {exc}")
            return None


def _ask(asking: _Asking) -> Answers:
    window = asking.cluster.window_seconds
    wanted = queries.tick_queries(asking.selector, window)
    found = {
        name: asking.series(name, wanted[name])
        for name in ("receive", "transmit", "age")
    }
    if not found["receive"] and not found["age"]:
        raise PrometheusError(
            f"Prometheus at {asking.source.shown} answers, but knows no "
            "node_network_receive_bytes_total that the selector allows: check that "
            "node_exporter is scraped, and the selector"
        )
    slow = _slow_facts(asking)
    return Answers(
        at=asking.at,
        window=float(window),
        receive=found["receive"],
        transmit=found["transmit"],
        age=found["age"],
        cpu=asking.optional("cpu", wanted["cpu"]) or (),
        speeds=slow.speeds,
        scrape_interval=slow.interval,
        unames=slow.unames,
    )


def _slow_facts(asking: _Asking) -> _SlowFacts:
    with _slow_lock:
        facts = _slow.setdefault(asking.cluster.name, _SlowFacts())
    now = clock.monotonic()
    if now - facts.asked_at < SLOW_FACTS_SECONDS:
        return facts
    speeds = asking.optional("speed", queries.speed_query(asking.selector))
    # only decides how an age is called: not worth a warning where it is not known
    intervals = asking.optional(
        "interval", queries.interval_query(asking.selector), quiet=True
    )
    known = sorted(one.value for one in intervals or () if one.value > 0)
    renewed = _SlowFacts(
        # a failed look is repeated with the next tick
        asked_at=now if speeds is not None else float("-inf"),
        speeds=facts.speeds if speeds is None else speeds,
        interval=known[len(known) // 2] if known else facts.interval,
    )
    with _slow_lock:
        _slow[asking.cluster.name] = renewed
    return renewed


def _ask_unames(asking: _Asking) -> Mapping[tuple[str, str], str]:
    """The host names of the exporters, for series that no other rule can place."""
    series = asking.optional("uname", queries.uname_query(asking.selector)) or ()
    names: dict[tuple[str, str], str] = {}
    shared: set[tuple[str, str]] = set()
    for one in series:
        key = (one.labels.get("cluster", ""), one.labels.get("instance", ""))
        reported = one.labels.get("nodename", "")
        if names.setdefault(key, reported) != reported:
            shared.add(key)
    if shared:
        asking.notes.warnings.append(
            f"{len(shared)} addresses belong to exporters with different host names, "
            f"such as {min(shared)[1]}: choose one cluster with "
            "BANDMASTER_PROMETHEUS_SELECTOR"
        )
    kept = {key: name for key, name in names.items() if key not in shared}
    with _slow_lock:
        _slow[asking.cluster.name].unames = kept
    return kept


def _publish(
    asking: _Asking,
    row: Tick,
    answers: Answers,
    seen: Observation,
    previous: Snapshot | None,
) -> StoredSnapshot:
    table, blob = _table(seen.rows, previous)
    measures = seen.measures
    columns = {
        RECEIVE: measures.receive,
        TRANSMIT: measures.transmit,
        CPU: measures.cpu,
        SAMPLE_AGE: measures.sample_age,
    }
    draft = Snapshot(
        version=0,
        cluster=asking.cluster.name,
        collected_at=answers.at,
        window=answers.window,
        scrape_interval=answers.scrape_interval,
        table=table,
        columns=snapshot.thin(columns),
        quality=measures.quality,
        warnings=tuple(asking.notes.warnings),
    )
    return snapshot.save(asking.cluster, draft, blob, tick=row)


def _table(
    rows: tuple[NodeRow, ...], previous: Snapshot | None
) -> tuple[NodeTable, bytes | None]:
    """The node table of `rows`, and its blob when it is a new one."""
    if previous is not None and rows is previous.table.rows:
        return previous.table, None
    digest, blob = snapshot.encode_table(rows)
    return NodeTable.build(rows, digest), blob


@contextmanager
def _timed(notes: _Notes, step: str) -> Iterator[None]:
    started = clock.monotonic()
    try:
        yield
    finally:
        notes.durations[step] = clock.monotonic() - started
