"""`manage.py collect_scores`: one tick now, and what came of it."""

from __future__ import annotations

import json
import os
import socket
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import DatabaseError

from scoring import collector
from scoring.management.sentences import OperatorCommand, database_sentence
from scoring.models import Cluster, Tick


class Command(OperatorCommand):
    """Collects once, whatever the time of the last tick."""

    help = "Collect metrics once and publish a snapshot."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--cluster", default=settings.CLUSTER)
        parser.add_argument("--format", choices=("text", "json"), default="text")

    def handle(self, *args: object, **options: Any) -> None:
        name = options["cluster"]
        try:
            tick = collector.tick(name, owner=f"{socket.gethostname()}:{os.getpid()}")
        except Cluster.DoesNotExist as exc:
            raise CommandError(
                f"there is no cluster {name!r}: run `manage.py bootstrap`, or name one "
                "with --cluster",
                returncode=2,
            ) from exc
        except DatabaseError as exc:
            raise CommandError(database_sentence(exc), returncode=2) from exc
        if tick is None:
            raise CommandError("another process is collecting now: try again")
        self._show(tick, as_json=options["format"] == "json")
        if tick.outcome == Tick.Outcome.FAILED:
            raise CommandError("no new snapshot; the last one stays in use")

    def _show(self, tick: Tick, *, as_json: bool) -> None:
        errors = [text for text in (tick.prometheus_error, tick.cluster_error) if text]
        if as_json:
            facts = {
                "cluster": tick.cluster.name,
                "outcome": tick.outcome,
                "snapshot": tick.snapshot_id,
                "nodes": tick.nodes,
                "nodes_with_data": tick.nodes_with_data,
                "errors": errors,
                "warnings": tick.warnings,
                "durations": tick.durations,
            }
            self.stdout.write(json.dumps(facts, indent=2))
            return
        for text in (*errors, *tick.warnings):
            self.stderr.write(text)
        self.stdout.write(
            f"{tick.outcome}: {tick.nodes_with_data} of {tick.nodes} nodes have data, "
            f"snapshot {tick.snapshot_id or 'not written'}"
        )
