"""Lasting secrets of an installation that was given none."""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from console.supervisor.options import PREFIX
from console.supervisor.refusal import Refusal

NAMES = ("SECRET_KEY", "ENCRYPTION_KEY", "EXTENDER_KEY")
BYTES = 36  # 288 random bits; 48 characters


def ensure(data_dir: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Make what the environment does not give; returns ..._FILE variables.

    Values never pass through the environment, which other processes of the same user
    can read.
    """
    variables = {}
    for name in NAMES:
        if environ.get(PREFIX + name) or environ.get(f"{PREFIX}{name}_FILE"):
            continue
        path = data_dir / "secrets" / name.lower()
        try:
            _ensure_file(path)
        except OSError as exc:
            raise Refusal(
                f"{path} cannot be used ({exc.strerror}): make it readable and "
                f"writable for this user, or set {PREFIX}{name}_FILE"
            ) from exc
        variables[f"{PREFIX}{name}_FILE"] = str(path)
    return variables


def _ensure_file(path: Path) -> None:
    if not path.exists():
        _write_new(path)
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    if not path.read_text(encoding="utf-8").strip():
        raise Refusal(
            f"{path} is empty: restore it from a backup, or delete it to have a new "
            "one made (what it encrypted must then be entered again)"
        )


def _write_new(path: Path) -> None:
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(secrets.token_urlsafe(BYTES) + "\n")
        stream.flush()
        os.fsync(stream.fileno())
    part.replace(path)
