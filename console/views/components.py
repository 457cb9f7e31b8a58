"""How the parts that a placement depends on are doing, each with its effect.

Everything but the extender is judged from rows: a page works while Prometheus, the
API server and the broker are down.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.utils import timezone

from console.views.probe import Probe, probe_extender
from console.views.shell import MISSED_TICKS
from scoring.framework.units import write_seconds
from scoring.models import Cluster, Tick

OK, WARN, BAD, WAIT = "ok", "warn", "bad", "wait"

_KEPT = (
    "Pods are still placed by the last good scores. Once those are older than "
    "maxSampleAge, every node gets the same score and no node is refused."
)


@dataclass(frozen=True, slots=True)
class Component:
    """One part: its state in a word and a sentence, its effect, and what to do."""

    name: str
    state: str
    words: str
    effect: str
    todo: str = ""
    since: datetime | None = None


def components(cluster: Cluster, *, neutral: bool = False) -> tuple[Component, ...]:
    """Four queries at most, and one call to the extender of at most a second."""
    ticks = Tick.objects.filter(cluster=cluster).order_by("-pk")
    newest = ticks.first()
    done = ticks.exclude(outcome=Tick.Outcome.RUNNING).first()
    return (
        _prometheus(cluster, done, neutral=neutral),
        _api_server(cluster, done),
        _worker(cluster, newest),
        _extender(probe_extender(cluster.extender_url)),
        _database(),
    )


def _prometheus(cluster: Cluster, tick: Tick | None, *, neutral: bool) -> Component:
    name = "Prometheus"
    if tick is None:
        return _waiting(name)
    if tick.prometheus_error:
        good = _last_good(cluster, prometheus_error="")
        return Component(name, BAD, _sentence(tick.prometheus_error), _KEPT, since=good)
    seconds = sum(_query_seconds(tick))
    words = (
        f"{tick.nodes_with_data} of {tick.nodes} nodes have data; the queries took "
        f"{seconds * 1000:.0f} ms."
    )
    if tick.nodes_with_data < tick.nodes:
        effect = "Nodes without data get the median score: never the best, never idle."
        return Component(name, WARN, words, effect, "See the causes in the ranking.")
    effect = (
        "Not used: the kill switch is on."
        if neutral
        else "Scores follow the network's load."
    )
    return Component(name, OK, words, effect)


def _query_seconds(tick: Tick) -> Iterator[float]:
    for step in ("receive", "transmit", "age", "cpu", "speed"):
        yield float(tick.durations.get(step, 0.0))


def _api_server(cluster: Cluster, tick: Tick | None) -> Component:
    name = "API server"
    if tick is None:
        return _waiting(name)
    if tick.cluster_error:
        good = _last_good(cluster, cluster_error="")
        effect = "The known nodes are still scored; a new node gets the median score."
        return Component(name, BAD, _sentence(tick.cluster_error), effect, since=good)
    words = f"{tick.nodes} nodes are known."
    return Component(
        name, OK, words, "New and removed nodes are seen at the next tick."
    )


def _last_good(cluster: Cluster, **condition: str) -> datetime | None:
    """When this was last in order."""
    good = Tick.objects.filter(cluster=cluster, **condition)
    good = good.exclude(outcome=Tick.Outcome.RUNNING).order_by("-pk")
    return good.values_list("finished_at", flat=True).first()


def _worker(cluster: Cluster, tick: Tick | None) -> Component:
    name = "Worker"
    if tick is None:
        return _waiting(name)
    age = (timezone.now() - tick.started_at).total_seconds()
    words = f"The last collection started {write_seconds(age)} ago."
    if age > MISSED_TICKS * cluster.tick_seconds:
        words += f" One is due every {cluster.tick_seconds} s."
        todo = "Start the worker (`manage.py up` runs one) and read its log."
        return Component(name, BAD, words, _KEPT, todo, tick.started_at)
    return Component(name, OK, words, "Scores are collected on time.")


def _extender(probe: Probe) -> Component:
    name = "Extender"
    said = " ".join(_sentence(line) for line in probe.complaints[:4])
    if not probe.reached:
        effect = (
            "kube-scheduler ignores an extender that is down: pods are placed by its "
            "own plugins alone."
        )
        todo = "Start the extender, or correct the cluster's extender URL."
        return Component(name, BAD, f"No answer: {said}", effect, todo)
    answered = f"It answered in {probe.seconds * 1000:.0f} ms."
    if probe.complaints:
        effect = "Answers go on; where it does not know, every node gets the same."
        return Component(name, WARN, said, effect)
    return Component(name, OK, probe.summary or "It is ready.", answered)


def _database() -> Component:
    vendor = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}[connection.vendor]
    effect = "Without it the extender goes on from its own last state."
    return Component("Database", OK, f"{vendor} answers.", effect)


def _waiting(name: str) -> Component:
    return Component(
        name,
        WAIT,
        "Nothing has been collected yet.",
        "Until then every node gets the same score.",
        "Wait one interval; if nothing comes, start the worker.",
    )


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    text = text[0].upper() + text[1:]
    return text if text.endswith((".", "!", "?")) else text + "."
