"""Prints the stock document that kube-scheduler is given."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandError

from console.kubescheduler.compiler import Compiled, CompileOptions, compile_document
from console.kubescheduler.document import decode
from console.kubescheduler.validation import validate
from console.management import reading
from console.management.commands.export_configuration import revision_of
from console.services import targets
from scoring.management.sentences import OperatorCommand


class Command(OperatorCommand):
    help = "Compile a document, or print what a published revision compiled to."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", help="the document; - reads stdin")
        parser.add_argument("--extender-url", metavar="URL")
        parser.add_argument("--cluster", default="default")
        parser.add_argument("--configuration", default="main", metavar="NAME")
        parser.add_argument("--revision", type=int)
        parser.add_argument(
            "--target", choices=("static-pod", "second-scheduler"), default="static-pod"
        )
        parser.add_argument("--extended-range", action="store_true")
        parser.add_argument(
            "--run-by-bandmaster",
            action="append",
            default=[],
            type=reading.profile_and_plugin,
            metavar="PROFILE/PLUGIN",
        )
        parser.add_argument(
            "--with-key",
            action="store_true",
            help="fill the extender key in: the output is then a secret",
        )
        parser.add_argument("--format", choices=("yaml", "json"), default="yaml")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["file"] is None:
            self._print_published(options)
            return
        if not options["extender_url"]:
            raise CommandError(
                "say with --extender-url where the scheduler reaches the extender, "
                "for example http://10.0.0.5:8001",
                returncode=2,
            )
        if options["with_key"]:
            raise CommandError("--with-key is for published revisions", returncode=2)
        self._compile(reading.read_document(options["file"]), options)

    def _print_published(self, options: dict[str, Any]) -> None:
        with reading.fail_on_problems():
            cluster = reading.cluster_named(options["cluster"])
            configuration = reading.configuration_named(
                cluster, options["configuration"]
            )
            revision = revision_of(configuration, options["revision"])
            text = revision.stock_document
            if options["with_key"]:
                text = targets.stock_document_with_key(revision)
        self.stdout.write(text, ending="")

    def _compile(self, text: str, options: dict[str, Any]) -> None:
        decoded = decode(text)
        problems = decoded.problems
        if decoded.document is not None:
            problems += validate(decoded.document)
        errors = [p for p in problems if p.severity == "error"]
        if decoded.document is None or errors:
            raise CommandError(
                "not compiled:\n" + reading.describe(errors or problems), returncode=1
            )
        compiled = compile_document(decoded.document, options=_compile_options(options))
        problems += compiled.problems
        if any(problem.severity == "error" for problem in compiled.problems):
            raise CommandError(
                "not compiled:\n" + reading.describe(compiled.problems), returncode=1
            )
        if options["format"] == "json":
            self.stdout.write(_as_json(compiled))
            return
        self.stdout.write(compiled.stock, ending="")
        if problems:
            self.stderr.write(reading.describe(problems))


def _compile_options(options: dict[str, Any]) -> CompileOptions:
    return CompileOptions(
        configuration=options["configuration"],
        revision=options["revision"] or 1,
        source_sha256="",
        extender_url=options["extender_url"].rstrip("/"),
        cluster=options["cluster"],
        target=options["target"],
        extended_range=options["extended_range"],
        run_by_bandmaster=frozenset(options["run_by_bandmaster"]),
    )


def _as_json(compiled: Compiled) -> str:
    return json.dumps(
        {
            "stock": compiled.stock,
            "policies": [asdict(policy) for policy in compiled.policies],
            "profiles": [asdict(profile) for profile in compiled.profiles],
            "rewrites": list(compiled.rewrites),
            "problems": [asdict(problem) for problem in compiled.problems],
        },
        indent=2,
    )
