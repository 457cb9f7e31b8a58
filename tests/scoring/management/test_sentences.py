from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from scoring.management.sentences import OperatorCommand

ROOT = Path(__file__).resolve().parents[3]
DEAD = "postgres://ana:canary-5d1f@127.0.0.1:1/bandmaster"


def run(
    tmp_path: Path, *argv: str, **variables: str
) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("BANDMASTER_")}
    kept.pop("DJANGO_SETTINGS_MODULE", None)
    environ = kept | {"BANDMASTER_DATA_DIR": str(tmp_path)} | variables
    return subprocess.run(
        [sys.executable, "manage.py", *argv],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_refusal_is_one_sentence(tmp_path: Path) -> None:
    missing = tmp_path / "missing.yaml"
    done = run(
        tmp_path, "compile_configuration", str(missing), "--extender-url", "http://a:1"
    )
    expected = f"bandmaster: {missing} cannot be read: No such file or directory\n"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", expected)


@pytest.mark.parametrize(
    "argv",
    [
        ("import_configuration", "manage.py", "--configuration", "a", "--as", "b"),
        ("export_configuration", "main"),
        ("explain_node", "node-1"),
    ],
    ids=lambda argv: argv[0],
)
def test_a_dead_database_is_a_sentence_without_secrets(
    tmp_path: Path, argv: tuple[str, ...]
) -> None:
    done = run(tmp_path, *argv, BANDMASTER_DATABASE_URL=DEAD)
    assert done.returncode == 2
    # nor any line of the driver's
    assert done.stderr.startswith("bandmaster: the database cannot be used")
    assert done.stderr.count("\n") == 1
    assert "canary-5d1f" not in done.stdout + done.stderr


def test_every_command_of_ours_does_so() -> None:
    ours = {
        name: app
        for name, app in get_commands().items()
        if app in {"console", "scoring"} and name != "up"
    }
    assert len(ours) >= 10
    for name, app in ours.items():
        command = load_command_class(app, name)
        assert isinstance(command, OperatorCommand), name
        assert command.requires_system_checks == [], name
