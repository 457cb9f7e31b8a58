"""Imports a document as the first revision of a new configuration."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError

from console.management import reading
from console.models import Revision
from console.services import configurations
from scoring.management.sentences import OperatorCommand


class Command(OperatorCommand):
    help = "Import a KubeSchedulerConfiguration as a new configuration."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the document; - reads standard input")
        parser.add_argument("--configuration", required=True, metavar="NAME")
        parser.add_argument("--cluster", default="default")
        parser.add_argument("--as", dest="author", required=True, metavar="USER")
        parser.add_argument("--message", default="imported")

    def handle(self, *args: Any, **options: Any) -> None:
        text = reading.read_document(options["file"])
        cluster = reading.cluster_named(options["cluster"])
        author = reading.user_named(options["author"])
        name = options["configuration"]
        if cluster.configurations.filter(name=name, head__isnull=False).exists():
            raise CommandError(
                f"cluster {cluster} already has a configuration {name!r}: "
                "use publish_configuration to change it",
                returncode=1,
            )
        with reading.fail_on_problems():
            revision = configurations.import_revision(
                cluster=cluster,
                name=name,
                text=text,
                publication=configurations.Publication(
                    author=author.username,
                    message=options["message"],
                    source="cli",
                    kind=Revision.Kind.IMPORT,
                ),
            )
        self.stdout.write(f"imported {revision}")
