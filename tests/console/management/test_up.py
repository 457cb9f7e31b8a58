"""`up` is a command like the others, though Django does not run it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "console.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_its_help_and_the_help_of_the_supervisor_agree() -> None:
    for arguments in (["manage.py", "help", "up"], ["manage.py", "up", "--help"]):
        status, output = run(*arguments)
        assert status == 0
        for flag in ("--host HOST", "--port PORT", "--extender-port EXTENDER_PORT"):
            assert flag in output


def test_a_call_through_django_reaches_the_supervisor() -> None:
    refused = "bandmaster: --port is 'http': write a whole number from 1 to 65535\n"
    assert run("-m", "django", "up", "--port", "http") == (2, refused)


def test_the_supervisor_does_not_load_django() -> None:
    code = "import console.supervisor.main, sys; print('django' in sys.modules)"
    assert run("-c", code) == (0, "False\n")
