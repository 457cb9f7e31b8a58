"""The kill switch where no database is needed: an environment value or a file.

A third source, the cluster's row, is read with the other rows. Any of the three
turns neutral answers on.
"""

from __future__ import annotations

from pathlib import Path

FILE_NAME = "neutral"
_NO_REASON = "no reason given"
_LONGEST = 200  # characters of a reason that are kept


def neutral_file(data_dir: Path) -> Path:
    """The file whose presence turns neutral answers on; its text is the reason."""
    return data_dir / FILE_NAME


def file_reason(data_dir: Path) -> str | None:
    """The reason in the file, or None when there is no file.

    A file that is there but cannot be read still counts: whoever made it meant it.
    """
    path = neutral_file(data_dir)
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError:
        return _NO_REASON if path.exists() else None
    return text.strip()[:_LONGEST] or _NO_REASON


def environment_reason(value: str) -> str | None:
    """The reason in BANDMASTER_NEUTRAL, or None when it is unset or says no."""
    text = value.strip()
    if text.lower() in {"", "0", "false", "no", "off"}:
        return None
    if text.lower() in {"1", "true", "yes", "on"}:
        return _NO_REASON
    return text[:_LONGEST]


def write_neutral_file(data_dir: Path, reason: str) -> None:
    data_dir.mkdir(parents=True, exist_ok=True)
    part = neutral_file(data_dir).with_suffix(".part")
    part.write_text(reason + "\n", encoding="utf-8")
    part.replace(neutral_file(data_dir))


def remove_neutral_file(data_dir: Path) -> bool:
    """True when there was one."""
    try:
        neutral_file(data_dir).unlink()
    except FileNotFoundError:
        return False
    return True
