"""Makes what the first start needs; running it again changes nothing."""

from __future__ import annotations

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError
from django.db import transaction

from console.management.reading import fail_on_problems
from console.services import clusters, configurations, people, starters, targets
from scoring.management.sentences import OperatorCommand
from scoring.models import Cluster


class Command(OperatorCommand):
    help = "Make the default cluster, its first configuration and the first admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--password-file",
            type=Path,
            help="write the first admin's one-time password there (mode 0600)",
        )
        parser.add_argument(
            "--print-password",
            action="store_true",
            help="print the first admin's one-time password",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        with fail_on_problems():
            cluster = clusters.ensure_default_cluster()
            self._configure(cluster)
            self._first_admin(options)

    def _first_admin(self, options: dict[str, Any]) -> None:
        """A password that nobody was told would lock everybody out: all or nothing."""
        path = options["password_file"]
        try:
            with transaction.atomic():
                chosen = self._chosen_password()
                password = people.ensure_first_admin(password=chosen)
                if password is not None:
                    self._tell(password, path, options["print_password"])
        except OSError as exc:
            raise CommandError(
                f"{path} cannot be written ({exc.strerror}): name a file in a "
                "directory that exists and is yours; no administrator was made",
                returncode=2,
            ) from exc

    def _configure(self, cluster: Cluster) -> None:
        configuration = starters.ensure_first_configuration(cluster)
        if configuration.head is not None:
            revision = configurations.recompile(configuration) or configuration.head
            targets.write_simulator_target(revision)

    def _chosen_password(self) -> str:
        name = settings.ADMIN_PASSWORD_FILE
        if not name:
            return ""
        try:
            return Path(name).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as exc:
            raise CommandError(
                "BANDMASTER_ADMIN_PASSWORD_FILE cannot be read: name a readable text "
                "file that holds the first admin's password",
                returncode=2,
            ) from exc

    def _tell(self, password: str, path: Path | None, print_it: bool) -> None:  # noqa: FBT001
        if print_it or path is None:
            self.stdout.write(f"{people.FIRST_ADMIN}\n{password}")
        if path is not None:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(password + "\n")
