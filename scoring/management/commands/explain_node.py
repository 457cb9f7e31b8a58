"""`manage.py explain_node NODE`: every step from its sample to the integer sent."""

from __future__ import annotations

import difflib
import json
import math
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError
from django.utils import timezone

from scoring.explain.current import is_neutral, policies, rank
from scoring.explain.ranking import Ranking
from scoring.explain.steps import Explanation, Part, explain
from scoring.framework.policy import Policy
from scoring.framework.types import DEFAULT_SCHEDULER_NAME
from scoring.framework.units import write_megabits, write_percent, write_seconds
from scoring.management.sentences import OperatorCommand, database_sentence
from scoring.models import Cluster


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
            now = timezone.now().timestamp()
            ranking = rank(cluster, policy, now=now, neutral=is_neutral(cluster))
        except DatabaseError as exc:
            raise CommandError(database_sentence(exc), returncode=2) from exc
        if ranking is None:
            raise CommandError(
                "nothing has been collected yet: run `manage.py collect_scores`"
            )
        found = explain(ranking, _row(ranking, options["node"]))
        if options["format"] == "json":
            self.stdout.write(json.dumps(as_json(found, ranking), indent=2))
        else:
            self.stdout.write("\n".join(as_text(found, ranking)))


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
    found = {
        policy.configuration: policy
        for policy in policies(cluster)
        if policy.scheduler_name == scheduler_name
        and configuration in {None, policy.configuration}
    }
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


def _row(ranking: Ranking, node: str) -> int:
    index = ranking.snapshot.table.index
    if node in index:
        return index[node]
    close = difflib.get_close_matches(node, list(index), n=1)
    hint = f"did you mean {close[0]!r}?" if close else "see the node ranking"
    raise CommandError(f"the snapshot has no node {node!r}: {hint}")


def as_json(found: Explanation, ranking: Ranking) -> dict[str, Any]:
    """Plain values; unknown numbers are null."""
    policy, node = ranking.policy, found.row.node
    return {
        "node": node.name,
        "eligible": node.eligible,
        "capacity_origin": node.capacity_origin,
        "mapping_rule": node.mapping_rule,
        "devices": list(node.devices),
        "cause": node.cause,
        "snapshot": ranking.snapshot.version,
        "configuration": policy.configuration,
        "revision": policy.revision,
        "scheduler_name": policy.scheduler_name,
        "sample": _nulls(_values(found.row, _SAMPLE)),
        "candidates": found.candidates,
        "plugins": [_nulls(_values(part, _PART)) for part in found.parts],
        "num": found.num,
        "weight": found.weight,
        "priority": found.priority,
        "answerable": found.answerable,
        "neutral": found.neutral,
        "added": found.added,
        "refused": found.verdict.refused,
        "filters": list(found.verdict.steps),
    }


_SAMPLE = {
    "receive": "receive",
    "transmit": "transmit",
    "cpu": "cpu",
    "receive_capacity": "receive_capacity",
    "transmit_capacity": "transmit_capacity",
    "receive_share": "receive_share",
    "transmit_share": "transmit_share",
    "seconds": "sample_age",
    "age": "age",
    "quality": "quality",
}  # name in the output -> attribute of a RankedRow
_PART = {
    name: name
    for name in (
        *("name", "known", "load", "least", "ninth_tenth", "most"),
        *("score", "weight", "points", "steps"),
    )
}  # ... of a Part


def _values(source: object, names: dict[str, str]) -> dict[str, Any]:
    return {name: getattr(source, attribute) for name, attribute in names.items()}


def _nulls(values: dict[str, Any]) -> dict[str, Any]:
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in values.items()
    }


def as_text(found: Explanation, ranking: Ranking) -> list[str]:
    """Lines for a terminal, in the order of the calculation."""
    policy = ranking.policy
    return [
        f"{found.row.node.name}, snapshot {ranking.snapshot.version}, "
        f"{policy.configuration} r{policy.revision} for {policy.scheduler_name}",
        *_sample_lines(found),
        f"Candidates: {found.candidates} eligible nodes, as if all passed the other "
        "filters",
        *(line for part in found.parts for line in _part_lines(part)),
        *_number_lines(found),
        *_filter_lines(found),
    ]


def _sample_lines(found: Explanation) -> list[str]:
    row, node = found.row, found.row.node
    origin = f" ({node.capacity_origin})" if node.capacity_origin else ""
    lines = [
        f"Receive: {write_megabits(row.receive)} of "
        f"{write_megabits(row.receive_capacity)}{origin} = "
        f"{write_percent(row.receive_share)}",
        f"Transmit: {write_megabits(row.transmit)} of "
        f"{write_megabits(row.transmit_capacity)}{origin} = "
        f"{write_percent(row.transmit_share)}",
        f"CPU: {write_percent(row.cpu)}",
        f"Sample: {write_seconds(row.sample_age)} old, {row.age}, {row.quality}",
    ]
    if node.devices:
        lines.append(f"Devices: {', '.join(node.devices)}")
    if node.mapping_rule:
        lines.append(f"Found by: {node.mapping_rule}")
    if node.cause:
        lines.append(f"Cause: {node.cause}")
    if not node.eligible:
        lines.append("Not eligible: left out of the figures of the fleet")
    return lines


def _part_lines(part: Part) -> list[str]:
    return [
        f"{part.name}: score {part.score} x weight {part.weight} = {part.points} "
        "points",
        *(f"  {step}" for step in part.steps),
    ]


def _number_lines(found: Explanation) -> list[str]:
    if found.priority is None:
        return ["Score: the policy has no Score plugin of Bandmaster"]
    if found.neutral:
        return [f"Sent: {found.priority} to every node, because the kill switch is on"]
    if not found.answerable:
        return [f"Sent: {found.priority} to every node, because there is no data"]
    num, weight = found.num, found.weight
    return [
        f"Sent: ({num} + 5 x {weight}) // (10 x {weight}) = {found.priority}",
        f"kube-scheduler adds: {found.priority} x 10 x {weight} = {found.added} points",
    ]


def _filter_lines(found: Explanation) -> list[str]:
    refused = found.verdict.refused
    return [
        f"Filter: {'refused, ' + refused if refused else 'passes'}",
        *(f"  {step}" for step in found.verdict.steps),
    ]
