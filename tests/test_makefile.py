"""What `make` itself promises."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
TARGETS = {"run", "test", "check", "bench", "e2e", "e2e-long"}
TARGETS |= {"lab", "lab-down", "screenshots", "pins", "clean", "help"}


def make(*arguments: str, environ: dict[str, str]) -> tuple[int, str]:
    program = shutil.which("make")
    assert program
    done = subprocess.run(
        [program, "--no-print-directory", *arguments],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def old_python(directory: Path) -> Path:
    """A stand-in for a Python that says it is too old; none is installed here."""
    path = directory / "python3"
    path.write_text("#!/bin/sh\nexit 1\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["nonexistent", "old"])
def test_a_chosen_python_that_will_not_do_is_named(tmp_path: Path, name: str) -> None:
    chosen = old_python(tmp_path) if name == "old" else tmp_path / "python3"
    status, output = make("run", environ={**os.environ, "PYTHON": str(chosen)})
    assert status == 2
    assert output.splitlines()[0] == (
        f"bandmaster: no Python 3.11 or newer found as {chosen}: install one, or name "
        "it: PYTHON=/path/to/python3.11 make run"
    )


def test_a_machine_without_python_is_told(tmp_path: Path) -> None:
    old_python(tmp_path)
    for name in ("sh", "grep"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    status, output = make("run", environ={"PATH": str(tmp_path)})
    assert status == 2
    assert output.startswith("bandmaster: no Python 3.11 or newer found: install one")


def test_every_promised_target_is_listed() -> None:
    status, output = make("help", environ=dict(os.environ))
    assert status == 0
    assert set(re.findall(r"^([a-z0-9-]+) ", output, re.MULTILINE)) == TARGETS
