"""Prints the operator's document of a revision, byte for byte."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from console.management import reading
from console.models import Revision, SchedulerConfiguration
from scoring.management.sentences import OperatorCommand


class Command(OperatorCommand):
    help = "Print a revision of a configuration (the newest one by default)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("configuration", metavar="NAME")
        parser.add_argument("--cluster", default="default")
        parser.add_argument("--revision", type=int)

    def handle(self, *args: Any, **options: Any) -> None:
        with reading.fail_on_problems():
            cluster = reading.cluster_named(options["cluster"])
            configuration = reading.configuration_named(
                cluster, options["configuration"]
            )
            revision = revision_of(configuration, options["revision"])
        self.stdout.write(revision.text, ending="")


def revision_of(configuration: SchedulerConfiguration, number: int | None) -> Revision:
    """The newest revision, or the numbered one."""
    if number is None:
        if configuration.head is None:
            raise CommandError(
                f"{configuration} has no revision yet: publish one first", returncode=1
            )
        return configuration.head
    try:
        return configuration.revisions.get(number=number)
    except Revision.DoesNotExist as exc:
        raise CommandError(
            f"{configuration} has no revision {number}", returncode=2
        ) from exc
