"""The base of the commands: what goes wrong is a sentence, never a traceback."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError


class OperatorCommand(BaseCommand):
    """Ends a refusal with `bandmaster: SENTENCE` on stderr and its exit status.

    Called from code (`call_command`) it raises the CommandError instead, and with
    `--traceback` Django tells where it came from.
    """

    # set by Django where a command line is run
    _called_from_command_line: bool

    # Django's checks import every page: seconds that a kill switch must not wait for
    requires_system_checks = []

    def execute(self, *args: Any, **options: Any) -> Any:
        try:
            return self._execute(*args, **options)
        except CommandError as exc:
            if not self._called_from_command_line or options.get("traceback"):
                raise
            self.stderr.write(f"bandmaster: {exc}")
            sys.exit(exc.returncode)

    def _execute(self, *args: Any, **options: Any) -> Any:
        try:
            return super().execute(*args, **options)
        except DatabaseError as exc:
            raise CommandError(database_sentence(exc), returncode=2) from exc


def database_sentence(exc: DatabaseError) -> str:
    """Without the driver's own text: it names hosts and users."""
    return (
        f"the database cannot be used ({type(exc).__name__}): check "
        "BANDMASTER_DATABASE_URL and BANDMASTER_DATA_DIR, that the database runs, and "
        "run `manage.py prepare_database`"
    )
