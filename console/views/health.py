"""The web process's own probes and metrics, read from the database alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from django.conf import settings
from django.db import DatabaseError
from django.http import HttpResponse
from django.utils import timezone
from prometheus_client import CONTENT_TYPE_LATEST
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import CollectorRegistry

from console.views.shell import neutral_notices
from scoring import snapshot as snapshots
from scoring.framework.snapshot import Snapshot
from scoring.framework.types import Quality
from scoring.framework.units import write_seconds
from scoring.models import Cluster, Tick

_QUERIES = ("receive", "transmit", "age", "cpu", "speed")


def readyz(*, detail: bool) -> HttpResponse:
    """200 when pages can be served, 503 when the database cannot be reached.

    Sentences are shown to logged-in users only: they name clusters and causes.
    """
    try:
        sentences = [line for row in Cluster.objects.all() for line in _sentences(row)]
        status, words = 200, "ready"
    except DatabaseError:
        sentences = ["The database does not answer; scheduling goes on without it."]
        status, words = 503, "not ready"
    lines = [words, *(sentences if detail else ())]
    return HttpResponse(
        "\n".join(lines) + "\n",
        status=status,
        content_type="text/plain; charset=utf-8",
        headers={"Cache-Control": "no-store"},
    )


def _sentences(cluster: Cluster) -> Iterator[str]:
    tick = _last_tick(cluster)
    if tick is None:
        yield f"{cluster}: nothing has been collected yet."
    else:
        age = write_seconds((timezone.now() - tick.started_at).total_seconds())
        yield f"{cluster}: the last collection started {age} ago: {tick.outcome}."
        for error in (tick.prometheus_error, tick.cluster_error):
            if error:
                yield f"{cluster}: {error}"
    for notice in neutral_notices(cluster):
        yield f"{cluster}: neutral answers are on ({notice.source}): {notice.reason}"


def _last_tick(cluster: Cluster) -> Tick | None:
    done = Tick.objects.filter(cluster=cluster).exclude(outcome=Tick.Outcome.RUNNING)
    return done.order_by("-pk").first()


def metrics() -> HttpResponse:
    """Prometheus text; names are fixed, none carries a node's name."""
    registry = CollectorRegistry()
    registry.register(_DatabaseCollector())
    try:
        body = generate_latest(registry)
    except DatabaseError:
        return HttpResponse("the database does not answer\n", status=503)
    return HttpResponse(body, content_type=CONTENT_TYPE_LATEST)


class _DatabaseCollector:
    """Reads the newest rows at each scrape."""

    def describe(self) -> Iterator[Metric]:
        return iter(())

    def collect(self) -> Iterator[Metric]:
        clusters = list(Cluster.objects.all())
        yield _neutral(clusters)
        yield from _ticks(clusters)
        yield from _snapshots(clusters)


def _gauge(name: str, text: str, labels: tuple[str, ...]) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"bandmaster_{name}", text, labels=labels)


def _neutral(clusters: list[Cluster]) -> Metric:
    family = _gauge("neutral", "1 while the kill switch is on", ("cluster",))
    for cluster in clusters:
        family.add_metric([cluster.name], float(bool(neutral_notices(cluster))))
    return family


def _ticks(clusters: list[Cluster]) -> Iterator[Metric]:
    took = _gauge(
        "tick_duration_seconds", "Length of the newest tick", ("cluster", "outcome")
    )
    asked = _gauge(
        "prometheus_query_duration_seconds",
        "Length of each query in the newest tick of this process' cluster",
        ("query",),
    )
    for cluster in clusters:
        tick = _last_tick(cluster)
        if tick is None or tick.finished_at is None:
            continue
        seconds = (tick.finished_at - tick.started_at).total_seconds()
        took.add_metric([cluster.name, tick.outcome], seconds)
        if cluster.name != settings.CLUSTER:
            continue
        for query in _QUERIES:
            if query in tick.durations:
                asked.add_metric([query], float(tick.durations[query]))
    yield took
    yield asked


def _snapshots(clusters: list[Cluster]) -> Iterator[Metric]:
    now = timezone.now().timestamp()
    age = _gauge("snapshot_age_seconds", "Age of the newest snapshot", ("cluster",))
    nodes = _gauge(
        "nodes", "Nodes by age and quality of data", ("cluster", "age", "quality")
    )
    for cluster in clusters:
        snapshot = snapshots.latest(cluster)
        if snapshot is None:
            continue
        age.add_metric([cluster.name], max(0.0, now - snapshot.collected_at))
        for (word, quality), count in _classes(snapshot, now).items():
            nodes.add_metric([cluster.name, word, quality], count)
    yield age
    yield nodes


def _classes(snapshot: Snapshot, now: float) -> Counter[tuple[str, str]]:
    return Counter(
        (str(snapshot.age(row, now)), Quality(snapshot.quality[row]).name.lower())
        for row in range(len(snapshot.table))
    )
