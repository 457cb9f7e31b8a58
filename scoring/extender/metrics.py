"""What the extender counts of itself, in Prometheus' text format.

Children of the histograms are kept: `labels()` costs more than `observe()`.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from prometheus_client import CollectorRegistry, Gauge, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from scoring.extender.state import ExtenderState
from scoring.framework.snapshot import DEFAULT_MAX_SAMPLE_AGE, RECEIVE, Snapshot
from scoring.framework.types import Age, Quality

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (
    *(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005),
    *(0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0),
)
_NODES = (1, 10, 50, 100, 250, 500, 1000, 2500, 5000, 15000)


class Metrics:
    """The registry of one extender process."""

    def __init__(
        self,
        state: ExtenderState,
        *,
        cluster: str,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(_StateCollector(state, cluster, clock))
        ProcessCollector(registry=self._registry)
        self._duration = Histogram(
            "bandmaster_extender_request_duration_seconds",
            "Seconds from the first look at a call to its answer.",
            ["verb", "outcome"],
            buckets=_SECONDS,
            registry=self._registry,
        )
        candidates = Histogram(
            "bandmaster_extender_candidates",
            "Nodes that kube-scheduler asked about in one call.",
            ["verb"],
            buckets=_NODES,
            registry=self._registry,
        )
        self._candidates = {
            verb: candidates.labels(verb) for verb in ("filter", "prioritize")
        }
        self._live = Gauge(
            "bandmaster_extender_live_revision",
            "Revision in the newest call: the stock document that the scheduler runs.",
            ["configuration"],
            registry=self._registry,
        )
        self._children: dict[tuple[str, str], Histogram] = {}
        self._revisions: dict[str, int] = {}

    def observe(self, verb: str, outcome: str, seconds: float) -> None:
        child = self._children.get((verb, outcome))
        if child is None:
            child = self._duration.labels(verb, outcome)
            self._children[verb, outcome] = child
        child.observe(seconds)

    def candidates(self, verb: str, count: int) -> None:
        self._candidates[verb].observe(count)

    def seen(self, configuration: str, revision: int) -> None:
        """A call came from the stock document of this revision."""
        if self._revisions.get(configuration) != revision:
            self._revisions[configuration] = revision
            self._live.labels(configuration).set(revision)

    def live_revisions(self) -> dict[str, int]:
        """Configuration -> revision in the newest call."""
        return dict(self._revisions)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class _StateCollector(Collector):
    """Gauges that are computed from the state when they are asked for."""

    def __init__(
        self, state: ExtenderState, cluster: str, clock: Callable[[], float]
    ) -> None:
        self._state = state
        self._cluster = cluster
        self._clock = clock

    def collect(self) -> Iterator[Metric]:
        neutral = GaugeMetricFamily(
            "bandmaster_neutral",
            "1 while the kill switch makes every answer neutral.",
            labels=["cluster"],
        )
        neutral.add_metric([self._cluster], float(self._state.neutral is not None))
        yield neutral
        snapshot = self._state.view.snapshot
        if snapshot is None:
            return
        now = self._clock()
        age = GaugeMetricFamily(
            "bandmaster_snapshot_age_seconds",
            "Seconds since the facts in use were collected.",
            labels=["cluster"],
        )
        age.add_metric([self._cluster], max(0.0, now - snapshot.collected_at))
        yield age
        nodes = GaugeMetricFamily(
            "bandmaster_nodes",
            "Nodes by the age and the quality of their data.",
            labels=["cluster", "age", "quality"],
        )
        for (age_class, quality), count in count_nodes(snapshot, now).items():
            nodes.add_metric([self._cluster, age_class, quality], count)
        yield nodes


def count_nodes(snapshot: Snapshot, now: float) -> Counter[tuple[str, str]]:
    """Nodes per (age, quality) at `now`, Unix seconds."""
    seconds = snapshot.sample_age(now)
    missing = np.isnan(seconds) | np.isnan(snapshot.column(RECEIVE))
    edges = (snapshot.fresh_limit, DEFAULT_MAX_SAMPLE_AGE, math.inf)
    classes = np.searchsorted(edges, np.where(missing, math.inf, seconds))
    classes = np.where(missing, 3, np.minimum(classes, 2))
    names = (Age.FRESH, Age.AGEING, Age.EXPIRED, Age.MISSING)
    counted: Counter[tuple[str, str]] = Counter()
    pairs = np.stack([classes, snapshot.quality.astype(np.int64)], axis=1)
    for (age, quality), count in zip(
        *np.unique(pairs, axis=0, return_counts=True), strict=True
    ):
        counted[names[age].value, Quality(quality).name.lower()] = int(count)
    return counted
