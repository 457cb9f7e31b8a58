"""Programs that some tests need: found, or the test is skipped with the reason.

With CI=true a missing program is a failure: a green run has then run everything.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from tools.lab import build


def require(name: str) -> str:
    """Path of the program `name`, or of PostgreSQL's programs for "postgres"."""
    found = _FINDERS.get(name, _on_path)(name)
    if found is None:
        missing(f"{name} is not installed: {HINTS.get(name, 'install it')}")
    return found


def missing(reason: str) -> NoReturn:
    """Skip the test; fail it when CI=true."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def _on_path(name: str) -> str | None:
    return shutil.which(name)


def _postgres(_: str) -> str | None:
    """The directory of the newest initdb: Debian keeps it off PATH."""
    candidates = [
        path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")
    ]
    if candidates:
        return str(max(candidates, key=lambda path: float(path.parent.name)))
    initdb = shutil.which("initdb")
    return str(Path(initdb).parent) if initdb else None


def _chromium(_: str) -> str | None:
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def _go(name: str) -> str | None:
    usual = Path("/usr/local/go/bin/go")
    return shutil.which(name) or (str(usual) if usual.exists() else None)


def _built(name: str) -> str | None:
    """A program of the newest Kubernetes that tools/lab/build.py has built."""
    version = build.newest_built(os.environ)
    if version is None:
        return None
    return str(build.program_directory(version, os.environ) / name)


_KUBERNETES = ("etcd", "kube-apiserver", "kube-scheduler")
_FINDERS: dict[str, Callable[[str], str | None]] = {
    "postgres": _postgres,
    "chromium": _chromium,
    "go": _go,
    **dict.fromkeys(_KUBERNETES, _built),
}
HINTS = {
    "postgres": "apt install postgresql",
    "chromium": "apt install chromium",
    "prometheus": "apt install prometheus",
    "promtool": "apt install prometheus",
    "redis-server": "apt install redis-server",
    "go": "install Go 1.26 or newer",
    **dict.fromkeys(_KUBERNETES, "python -m tools.lab.build builds it"),
}
