"""The schema is brought up to date, with a backup, and never backwards."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from tests.servers import free_port, postgres

ADD_AUDIT = (
    "INSERT INTO console_auditentry"
    " (at, actor, source, action, target, summary, reason)"
    " VALUES (now(), 'ana', 'ui', 'neutral.on', 'cluster default', 'on', 'why')"
)
CHANGE_AUDIT = "UPDATE console_auditentry SET actor = 'nobody'"
DELETE_AUDIT = "DELETE FROM console_auditentry"
ROOT = Path(__file__).resolve().parents[3]


def manage(data_dir: Path, *arguments: str, url: str = "") -> tuple[int, str]:
    """Run a command on data of its own; returns exit status and output."""
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("BANDMASTER_")
    }
    environ["BANDMASTER_DATA_DIR"] = str(data_dir)
    if url:
        environ["BANDMASTER_DATABASE_URL"] = url
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def rows(database: Path, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(database) as connection:
        found = connection.execute(sql).fetchall()
    connection.close()
    return found


def backups(data_dir: Path) -> list[Path]:
    return sorted((data_dir / "backups").glob("*"))


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    status, output = manage(tmp_path, "prepare_database")
    assert (status, output) == (0, "")
    return tmp_path


def test_a_new_database_is_made_and_needs_no_backup(data_dir: Path) -> None:
    assert rows(data_dir / "bandmaster.sqlite3", "select count(*) from console_user")
    assert backups(data_dir) == []


def test_with_nothing_to_do_there_is_no_backup(data_dir: Path) -> None:
    assert manage(data_dir, "prepare_database") == (0, "")
    assert backups(data_dir) == []


def test_a_migration_is_preceded_by_a_backup_and_three_are_kept(
    data_dir: Path,
) -> None:
    old = data_dir / "backups"
    old.mkdir()
    for number in range(3):
        (old / f"2020010{number}-000000-000000.sqlite3").touch()
    assert manage(data_dir, "migrate", "console", "0001")[0] == 0
    status, output = manage(data_dir, "prepare_database")
    assert status == 0
    newest = backups(data_dir)[-1]
    assert f"backed the database up to {newest}" in output
    assert [path.name[:8] for path in backups(data_dir)][:2] == ["20200101", "20200102"]
    assert len(backups(data_dir)) == 3
    assert stat.S_IMODE(newest.stat().st_mode) == 0o600
    migrated = "select name from django_migrations where app = 'console' order by name"
    before = rows(newest, migrated)
    after = rows(data_dir / "bandmaster.sqlite3", migrated)
    assert before == after[:1]
    assert len(after) > 1


def test_a_database_of_a_newer_version_is_refused_and_left_alone(
    data_dir: Path,
) -> None:
    database = data_dir / "bandmaster.sqlite3"
    with sqlite3.connect(database) as connection:
        connection.execute(
            "insert into django_migrations (app, name, applied) "
            "values ('scoring', '9999_future', '2099-01-01')"
        )
    connection.close()
    before = rows(database, "select * from django_migrations")
    status, output = manage(data_dir, "prepare_database")
    assert status == 2
    assert output == (
        "bandmaster: the database was written by a newer version (it has "
        "scoring.9999_future): start that version, or restore a backup from "
        f"{data_dir / 'backups'}\n"
    )
    assert rows(database, "select * from django_migrations") == before


def test_a_file_that_is_no_database_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "bandmaster.sqlite3").write_bytes(b"no database " * 100)
    status, output = manage(tmp_path, "prepare_database")
    assert status == 2
    assert "the database cannot be used (file is not a database): check" in output
    assert "Traceback" not in output


def test_an_unreachable_database_is_one_sentence(tmp_path: Path) -> None:
    url = f"postgres://user:S3cret@127.0.0.1:{free_port()}/name"
    status, output = manage(tmp_path, "prepare_database", url=url)
    assert status == 2
    assert "the database cannot be used (" in output
    assert "Traceback" not in output
    assert "S3cret" not in output


def test_postgresql_is_migrated_and_left_to_its_own_backups(tmp_path: Path) -> None:
    (tmp_path / "server").mkdir()
    data_dir = tmp_path / "data"
    data_dir.mkdir()
    with postgres(tmp_path / "server") as url:
        assert manage(data_dir, "prepare_database", url=url) == (0, "")
        assert manage(data_dir, "migrate", "console", "0001", url=url)[0] == 0
        assert manage(data_dir, "prepare_database", url=url) == (0, "")
        for statement in (CHANGE_AUDIT, DELETE_AUDIT):
            with psycopg.connect(url) as connection:
                connection.execute(ADD_AUDIT)
                with pytest.raises(psycopg.Error, match="cannot be changed or deleted"):
                    connection.execute(statement)
    assert backups(data_dir) == []
