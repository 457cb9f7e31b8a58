"""Brings the database to the schema of this code, with a backup before a change."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.utils import DatabaseError
from django.utils import timezone

from scoring.management.sentences import OperatorCommand

KEPT_BACKUPS = 3


class Command(OperatorCommand):
    help = (
        "Migrate the database. SQLite is backed up first when there is something to "
        "do. A database written by a newer version is refused."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            self._prepare()
        except DatabaseError as exc:
            raise CommandError(
                f"the database cannot be used ({_first_line(exc)}): check "
                "BANDMASTER_DATABASE_URL and that the database runs",
                returncode=2,
            ) from exc

    def _prepare(self) -> None:
        executor = MigrationExecutor(connection)
        applied = executor.loader.applied_migrations
        unknown = sorted(set(applied) - set(executor.loader.disk_migrations))
        if unknown:
            name = ".".join(unknown[0])
            raise CommandError(
                f"the database was written by a newer version (it has {name}): start "
                f"that version, or restore a backup from {backup_dir()}",
                returncode=2,
            )
        if not executor.migration_plan(executor.loader.graph.leaf_nodes()):
            return
        if applied and connection.vendor == "sqlite":
            self.stdout.write(f"backed the database up to {back_up()}")
        call_command("migrate", interactive=False, verbosity=0, stdout=self.stdout)


def backup_dir() -> Path:
    return Path(settings.DATA_DIR) / "backups"


def back_up() -> Path:
    """Copy SQLite consistently into the data directory; keeps the newest three."""
    directory = backup_dir()
    directory.mkdir(mode=0o700, exist_ok=True)
    target = directory / f"{timezone.now():%Y%m%d-%H%M%S-%f}.sqlite3"
    part = target.with_suffix(".part")
    part.unlink(missing_ok=True)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM INTO %s", [str(part)])
    part.chmod(0o600)
    part.replace(target)  # a backup that was interrupted never looks like one
    for old in sorted(directory.glob("*.sqlite3"))[:-KEPT_BACKUPS]:
        old.unlink()
    return target


def _first_line(exc: Exception) -> str:
    return str(exc).strip().partition("\n")[0][:200]
