"""Makes .venv and installs the pinned packages: `python tools/environment.py [dev]`.

Needs Python 3.11 and its standard library only. A second run is quick; changed pins
are installed; what an interrupted run left is made anew.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
INTERRUPTED = VENV / ".installing"
LOCK = VENV / ".lock"
PIN = re.compile(r"^[A-Za-z0-9][\w.-]*==")
COLLECTING = re.compile(r"^Collecting ([\w.-]+)")
SATISFIED = re.compile(r"^Requirement already satisfied: ([\w.-]+)")


class Refusal(Exception):
    """The environment cannot be made; the text says what to do."""


def main(argv: list[str]) -> int:
    wanted = ["requirements.txt"]
    if argv == ["dev"]:
        wanted.append("requirements-dev.txt")
    try:
        ensure([ROOT / name for name in wanted])
    except Refusal as refusal:
        sys.stderr.write(f"bandmaster: {refusal}\n")
        return 2
    except OSError as exc:
        sys.stderr.write(
            f"bandmaster: {VENV} cannot be written ({exc.strerror}): make this "
            "directory writable, or run the Python of an environment that has the "
            "packages of requirements.txt\n"
        )
        return 2
    return 0


def ensure(requirements: list[Path]) -> None:
    """Install each file of pins that the environment does not hold yet."""
    missing = [path for path in requirements if not is_installed(path)]
    if not missing:
        return
    require_venv_module()
    began = time.monotonic()
    VENV.mkdir(exist_ok=True)
    with LOCK.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # another make may be installing
        if is_damaged():
            make_venv()
        for path in requirements:
            if not is_installed(path):
                install(path)
    say(f"environment ready after {time.monotonic() - began:.0f} s")


def stamp(requirements: Path) -> Path:
    return VENV / f".{requirements.stem}"


def fingerprint(requirements: Path) -> str:
    """What an installation depends on: the pins and the interpreter."""
    digest = hashlib.sha256(requirements.read_bytes()).hexdigest()
    return f"{digest} {sys.version_info.major}.{sys.version_info.minor}"


def is_installed(requirements: Path) -> bool:
    try:
        found = stamp(requirements).read_text(encoding="utf-8")
    except OSError:
        return False
    return found == fingerprint(requirements) and not is_damaged()


def is_damaged() -> bool:
    """True without a working interpreter of the wanted version in .venv.

    An installation that was cut off counts: pip takes a half-written package for a
    whole one.
    """
    if INTERRUPTED.exists() or not PYTHON.exists():
        return True
    library = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return not (VENV / "lib" / library / "site-packages" / "pip").is_dir()


def require_venv_module() -> None:
    if importlib.util.find_spec("venv") and importlib.util.find_spec("ensurepip"):
        return
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    raise Refusal(
        f"{sys.executable} has no venv module: install it (on Debian and Ubuntu: apt "
        f"install python{version}-venv), or choose another Python with PYTHON="
    )


def make_venv() -> None:
    say(f"making an environment of Python {sys.version.split()[0]} in {VENV}")
    for entry in VENV.iterdir():
        if entry == LOCK:
            continue
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)
        else:
            entry.unlink()
    INTERRUPTED.touch()
    done = subprocess.run(
        [sys.executable, "-m", "venv", str(VENV)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise Refusal(f"the environment cannot be made: {' '.join(lines[-3:])}")


def install(requirements: Path) -> None:
    """Install one file of pins with pip; every package is checked by its hash."""
    INTERRUPTED.touch()
    pins = requirements.read_text(encoding="utf-8").splitlines()
    total = sum(1 for line in pins if PIN.match(line))
    say(f"installing {total} packages of {requirements.name}")
    process = subprocess.Popen(
        [
            *(str(PYTHON), "-m", "pip", "install", "--require-hashes", "--no-input"),
            *("--no-deps", "--progress-bar", "off", "--disable-pip-version-check"),
            *("-r", str(requirements)),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PIP_USER": "0", "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    errors = follow(process.stdout, total)
    if process.wait():
        raise Refusal(
            f"{requirements.name} cannot be installed ({reason(errors)}): check the "
            "network and pip's configuration, then run make again"
        )
    stamp(requirements).write_text(fingerprint(requirements), encoding="utf-8")
    INTERRUPTED.unlink()


def follow(output: IO[str], total: int) -> list[str]:
    """Show pip's progress in few lines; returns what it said went wrong."""
    errors: list[str] = []
    seen = 0
    unpacking = False
    while True:
        if unpacking and not select.select([output], [], [], 5.0)[0]:
            say(f"  unpacked {unpacked()} packages so far")
            continue
        line = output.readline()
        if not line:
            return errors
        if line.startswith("ERROR"):
            errors.append(line.strip())
        found = COLLECTING.match(line) or SATISFIED.match(line)
        if found:
            seen += 1
            if seen % 10 == 0:
                say(f"  fetched {seen} of {total}: {found[1]}")
        unpacking = line.startswith("Installing collected packages")
        if unpacking:
            say("  unpacking (10 to 40 seconds)")


def unpacked() -> int:
    return sum(1 for _ in VENV.glob("lib/python*/site-packages/*.dist-info"))


def reason(errors: list[str]) -> str:
    text = errors[-1].removeprefix("ERROR: ") if errors else "pip gave no reason"
    return re.sub(r"//[^/@\s]+@", "//", text)[:300]  # no credentials of an index


def say(line: str) -> None:
    sys.stdout.write(f"bandmaster: {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.stderr.write("bandmaster: interrupted; run make again to go on\n")
        sys.exit(130)
