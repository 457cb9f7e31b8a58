"""Publishes a document: check, compile, write, in one step or not at all."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from console.management import reading
from console.models import Revision
from console.services import configurations
from scoring.management.sentences import OperatorCommand


class Command(OperatorCommand):
    help = "Publish a KubeSchedulerConfiguration as the next revision."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the document; - reads standard input")
        parser.add_argument("--configuration", required=True, metavar="NAME")
        parser.add_argument("--cluster", default="default")
        parser.add_argument("--as", dest="author", required=True, metavar="USER")
        parser.add_argument("--message", required=True, help="what changes, and why")
        parser.add_argument(
            "--target", choices=("static-pod", "second-scheduler"), default=None
        )
        parser.add_argument("--extended-range", action="store_true", default=None)
        parser.add_argument(
            "--run-by-bandmaster",
            action="append",
            type=reading.profile_and_plugin,
            metavar="PROFILE/PLUGIN",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        text = reading.read_document(options["file"])
        with reading.fail_on_problems():
            revision = self._publish(text, options)
        self.stdout.write(
            f"published {revision}: the stock document is that of "
            f"r{revision.compiled_revision}"
        )
        for warning in revision.warnings:
            self.stderr.write(f"line {warning['line']}: {warning['message']}")

    def _publish(self, text: str, options: dict[str, Any]) -> Revision:
        cluster = reading.cluster_named(options["cluster"])
        author = reading.user_named(options["author"])
        found = cluster.configurations.filter(name=options["configuration"]).first()
        configuration = found or configurations.create_configuration(
            cluster=cluster, name=options["configuration"]
        )
        return configurations.publish_revision(
            configuration=configuration,
            text=text,
            options=chosen_options(configuration.head, options),
            base=configuration.head,
            publication=configurations.Publication(
                author=author.username, message=options["message"], source="cli"
            ),
        )


def chosen_options(
    head: Revision | None, options: dict[str, Any]
) -> configurations.RevisionOptions:
    """Those of the newest revision, with what the command line says instead."""
    kept = configurations.RevisionOptions.from_row(head)
    pairs = kept.run_by_bandmaster
    if options["run_by_bandmaster"] is not None:
        pairs = tuple(options["run_by_bandmaster"])
    extended = options["extended_range"]
    return configurations.RevisionOptions(
        extended_range=kept.extended_range if extended is None else extended,
        target=options["target"] or kept.target,
        run_by_bandmaster=pairs,
    )
