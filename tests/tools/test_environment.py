"""`make run` finds a Python, installs the pins once, and recovers from a cut."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tools import environment

ROOT = Path(__file__).resolve().parents[2]


def wheel(directory: Path, version: str) -> str:
    """Make a wheel of one module; returns its line of pins."""
    name = f"tinypackage-{version}"
    path = directory / f"{name}-py3-none-any.whl"
    info = f"{name}.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tinypackage.py", f"version = {version!r}\n")
        archive.writestr(
            f"{info}/METADATA",
            f"Metadata-Version: 2.1\nName: tinypackage\nVersion: {version}\n",
        )
        archive.writestr(
            f"{info}/WHEEL",
            "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        archive.writestr(f"{info}/RECORD", "")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return f"tinypackage=={version} --hash=sha256:{digest}\n"


class Checkout:
    """A directory with the script, pins of one package, and the package."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.wheels = directory / "wheels"
        self.wheels.mkdir()
        (directory / "tools").mkdir()
        shutil.copy(ROOT / "tools/environment.py", directory / "tools")
        self.pin("1.0")

    def pin(self, version: str) -> None:
        (self.directory / "requirements.txt").write_text(wheel(self.wheels, version))

    def run(self) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "tools/environment.py"],
            cwd=self.directory,
            env={
                **os.environ,
                "PIP_NO_INDEX": "1",
                "PIP_FIND_LINKS": str(self.wheels),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def installed(self) -> str:
        done = subprocess.run(
            [".venv/bin/python", "-c", "import tinypackage as t; print(t.version)"],
            cwd=self.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_pins_are_installed_once_and_again_when_they_change(
    checkout: Checkout,
) -> None:
    status, output = checkout.run()
    assert status == 0, output
    assert "installing 1 packages of requirements.txt" in output
    assert checkout.installed() == "1.0"
    assert checkout.run() == (0, "")
    checkout.pin("2.0")
    assert checkout.run()[0] == 0
    assert checkout.installed() == "2.0"


def test_an_installation_that_was_cut_off_is_made_anew(checkout: Checkout) -> None:
    assert checkout.run()[0] == 0
    library = next((checkout.directory / ".venv").glob("lib/*/site-packages"))
    (library / "tinypackage.py").unlink()  # pip would take the package for installed
    (checkout.directory / ".venv" / ".installing").touch()
    assert checkout.run()[0] == 0
    assert checkout.installed() == "1.0"


def test_a_package_with_another_hash_is_refused(checkout: Checkout) -> None:
    path = checkout.directory / "requirements.txt"
    name = path.read_text().partition(":")[0]
    path.write_text(f"{name}:{'0' * 64}\n")
    status, output = checkout.run()
    assert status == 2
    last = output.splitlines()[-1]
    assert last.startswith("bandmaster: requirements.txt cannot be installed (")
    assert last.endswith("then run make again")
    assert "Traceback" not in output


def test_a_package_that_cannot_be_had_is_one_sentence(checkout: Checkout) -> None:
    shutil.rmtree(checkout.wheels)
    status, output = checkout.run()
    assert status == 2
    assert "No matching distribution found for tinypackage==1.0" in output
    assert "check the network" in output.splitlines()[-1]


def test_a_python_without_venv_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Debian's python3 without python3-venv; no such interpreter is at hand here
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(environment.Refusal, match="has no venv module: install it"):
        environment.require_venv_module()


def test_credentials_of_an_index_are_not_shown() -> None:
    told = environment.reason(["ERROR: no https://me:S3cret@pypi.example/simple"])
    assert told == "no https://pypi.example/simple"
