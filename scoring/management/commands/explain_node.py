"""`manage.py explain_node NODE`: every step from its sample to the integer sent."""

from __future__ import annotations

import difflib
import json
import math
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils import timezone

from scoring import snapshot as snapshots
from scoring.explain import Explanation, PluginSteps, UnknownNode, explain_node
from scoring.framework.policy import Policy, decode_policy
from scoring.framework.runtime import prepare
from scoring.framework.snapshot import Snapshot
from scoring.framework.types import DEFAULT_SCHEDULER_NAME
from scoring.framework.units import write_megabits, write_percent, write_seconds
from scoring.management.sentences import OperatorCommand, database_sentence
from scoring.models import Cluster, ScoringPolicy
from scoring.plugins.helloworld import HelloWorldPlugin
from scoring.plugins.registry import build


class Command(OperatorCommand):
    """Reads the newest snapshot and the newest policy; changes nothing."""

    help = "Explain a node's score, from the sample to the integer that is sent."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("node")
        parser.add_argument("--scheduler-name", default=DEFAULT_SCHEDULER_NAME)
        parser.add_argument("--configuration")
        parser.add_argument("--cluster", default=settings.CLUSTER)
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: object, **options: Any) -> None:
        try:
            cluster = _cluster(options["cluster"])
            policy = _policy(
                cluster, options["scheduler_name"], options["configuration"]
            )
            snapshot = snapshots.latest(cluster)
        except DatabaseError as exc:
            raise CommandError(database_sentence(exc), returncode=2) from exc
        if snapshot is None:
            raise CommandError(
                "nothing has been collected yet: run `manage.py collect_scores`"
            )
        found = _explain(policy, snapshot, options["node"])
        if options["format"] == "json":
            self.stdout.write(json.dumps(as_json(found, policy), indent=2))
        else:
            self.stdout.write("\n".join(as_text(found, policy)))


def _cluster(name: str) -> Cluster:
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise CommandError(
            f"there is no cluster {name!r}: run `manage.py bootstrap`, or name one "
            "with --cluster",
            returncode=2,
        )
    return cluster


def _policy(cluster: Cluster, scheduler_name: str, configuration: str | None) -> Policy:
    """The newest one; the names say which when there are several configurations."""
    found: dict[str, Policy] = {}
    rows = ScoringPolicy.objects.for_extender(cluster)
    for row in rows.filter(scheduler_name=scheduler_name):
        policy = decode_policy(bytes(row.document))
        if policy is not None:
            found.setdefault(policy.configuration, policy)
    if configuration is not None:
        found = {name: p for name, p in found.items() if name == configuration}
    if len(found) > 1:
        raise CommandError(
            f"several configurations serve {scheduler_name!r}: name one with "
            f"--configuration ({', '.join(sorted(found))})",
            returncode=2,
        )
    if not found:
        raise CommandError(
            f"no published policy serves the scheduler {scheduler_name!r}: publish a "
            "configuration, or name another one with --scheduler-name"
        )
    return next(iter(found.values()))


def _explain(policy: Policy, snapshot: Snapshot, node: str) -> Explanation:
    now = timezone.now().timestamp()
    plugins = tuple((spec, build(spec)) for spec in policy.plugins)
    prepared = prepare(policy, plugins, snapshot, None, now=now)
    try:
        return explain_node(prepared, snapshot, node, now=now)
    except UnknownNode as exc:
        close = difflib.get_close_matches(node, list(snapshot.table.index), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "see the node ranking"
        raise CommandError(f"the snapshot has no node {node!r}: {hint}") from exc


def as_json(found: Explanation, policy: Policy) -> dict[str, Any]:
    """Plain values; unknown numbers are null."""
    sample = asdict(found.sample) | {
        "age": str(found.sample.age),
        "quality": found.sample.quality.name.lower(),
        "receive_share": found.sample.receive_share,
        "transmit_share": found.sample.transmit_share,
    }
    return {
        "node": found.node.name,
        "eligible": found.node.eligible,
        "capacity_origin": found.node.capacity_origin,
        "cause": found.node.cause,
        "snapshot": found.snapshot_version,
        "configuration": policy.configuration,
        "revision": policy.revision,
        "scheduler_name": policy.scheduler_name,
        "sample": _nulls(sample),
        "candidates": found.candidates,
        "plugins": [_nulls(asdict(p) | {"points": p.points}) for p in found.plugins],
        "num": found.num,
        "weight": found.weight,
        "priority": found.priority,
        "answerable": found.answerable,
        "added": found.added,
        "refused": found.refused,
    }


def _nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def as_text(found: Explanation, policy: Policy) -> list[str]:
    """Lines for a terminal, in the order of the calculation."""
    return [
        f"{found.node.name}, snapshot {found.snapshot_version}, "
        f"{policy.configuration} r{policy.revision} for {policy.scheduler_name}",
        *_sample_lines(found),
        f"Candidates: {found.candidates} eligible nodes, as if all passed the other "
        "filters",
        *(_plugin_line(steps) for steps in found.plugins),
        *_number_lines(found),
        f"Filter: {'refused, ' + found.refused if found.refused else 'passes'}",
    ]


def _sample_lines(found: Explanation) -> list[str]:
    sample = found.sample
    origin = f" ({found.node.capacity_origin})" if found.node.capacity_origin else ""
    lines = [
        f"{word}: {write_megabits(rate)} of {write_megabits(most)}{origin} = "
        f"{write_percent(rate / most)}"
        for word, rate, most in (
            ("Receive", sample.receive, sample.receive_capacity),
            ("Transmit", sample.transmit, sample.transmit_capacity),
        )
    ]
    lines.append(f"CPU: {write_percent(sample.cpu)}")
    lines.append(
        f"Sample: {write_seconds(sample.seconds)} old, {sample.age}, "
        f"{sample.quality.name.lower()}"
    )
    if found.node.cause:
        lines.append(f"Cause: {found.node.cause}")
    if not found.node.eligible:
        lines.append("Not eligible: left out of the figures of the fleet")
    return lines


def _plugin_line(steps: PluginSteps) -> str:
    write = write_megabits if steps.name == HelloWorldPlugin.name else write_percent
    counted = "" if steps.known else " (no current data: the median of the others)"
    return (
        f"{steps.name}: load {write(steps.load)}{counted}; least {write(steps.least)}, "
        f"90th percentile {write(steps.ninth_tenth)}, most {write(steps.most)} "
        f"-> score {steps.score} x weight {steps.weight} = {steps.points} points"
    )


def _number_lines(found: Explanation) -> list[str]:
    if found.priority is None:
        return ["Score: the policy has no Score plugin of Bandmaster"]
    if not found.answerable:
        return [f"Sent: {found.priority} to every node, because there is no data"]
    num, weight = found.num, found.weight
    return [
        f"Sent: ({num} + 5 x {weight}) // (10 x {weight}) = {found.priority}",
        f"kube-scheduler adds: {found.priority} x 10 x {weight} = {found.added} points",
    ]
