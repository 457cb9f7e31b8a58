"""The kill switch: neutral answers within a second, without a restart."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import DatabaseError

from console.management import reading
from console.services import clusters
from scoring import neutral
from scoring.management.sentences import OperatorCommand
from scoring.models import Cluster


class Command(OperatorCommand):
    help = "Turn the kill switch on or off."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("state", choices=("on", "off"))
        parser.add_argument("--reason", default="", help="why; needed to turn it on")
        parser.add_argument("--cluster", default=settings.CLUSTER)
        parser.add_argument("--as", dest="author", default="cli", metavar="USER")

    def handle(self, *args: Any, **options: Any) -> None:
        turn_on = options["state"] == "on"
        if turn_on and not options["reason"].strip():
            raise CommandError("say why with --reason TEXT", returncode=2)
        try:
            self._in_database(turn_on, options)
        except DatabaseError:
            self._in_file(turn_on, options["reason"])
            return
        if not turn_on and neutral.remove_neutral_file(settings.DATA_DIR):
            self.stdout.write("removed the kill switch file")
        self._tell_other_sources(turn_on)

    def _in_database(self, turn_on: bool, options: dict[str, Any]) -> None:  # noqa: FBT001
        try:
            cluster = Cluster.objects.get(name=options["cluster"])
        except Cluster.DoesNotExist:
            cluster = reading.cluster_named(options["cluster"])
        try:
            clusters.set_neutral(
                cluster=cluster,
                on=turn_on,
                reason=options["reason"],
                author=options["author"],
                source="cli",
            )
        except ValidationError as exc:
            raise CommandError(" ".join(exc.messages), returncode=2) from exc
        self.stdout.write(f"neutral answers are {options['state']} for {cluster}")

    def _in_file(self, turn_on: bool, reason: str) -> None:  # noqa: FBT001
        """Without a database the file in the data directory is the switch."""
        if turn_on:
            neutral.write_neutral_file(settings.DATA_DIR, reason.strip()[:200])
            self.stdout.write(
                "the database does not answer: neutral answers are on by the file "
                f"{neutral.neutral_file(settings.DATA_DIR)}"
            )
            return
        neutral.remove_neutral_file(settings.DATA_DIR)
        raise CommandError(
            "the database does not answer: removed the file, but the switch in the "
            "database stays as it was; run this again when the database is back",
            returncode=2,
        )

    def _tell_other_sources(self, turn_on: bool) -> None:  # noqa: FBT001
        if not turn_on and neutral.environment_reason(settings.NEUTRAL) is not None:
            self.stderr.write(
                "BANDMASTER_NEUTRAL is set and keeps neutral answers on: unset it and "
                "restart"
            )
