"""Reads the environment: BANDMASTER_NAME, or BANDMASTER_NAME_FILE with its content.

A value that cannot be understood stops the start with one sentence.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from environ.fileaware_mapping import FileAwareMapping

PREFIX = "BANDMASTER_"


class SettingError(Exception):
    """A setting cannot be understood; the text names it and what to write."""


class Env:
    """Typed reads of BANDMASTER_ variables; each also as ..._FILE."""

    def __init__(self) -> None:
        self._env = environ.FileAwareEnv()
        # without its cache, which outlives a change of the environment
        self._env.ENVIRON = FileAwareMapping(cache=False)

    def text(self, name: str, default: str = "") -> str:
        try:
            return str(self._env.str(PREFIX + name, default)).strip()
        except (OSError, ValueError) as exc:
            raise SettingError(
                f"{PREFIX}{name}_FILE cannot be read ({type(exc).__name__}): "
                "name a readable file"
            ) from exc

    def secret(self, name: str, kept_in: Path) -> str:
        """The variable, else what `up` keeps for this installation, else nothing."""
        given = self.text(name)
        if given:
            return given
        try:
            return (kept_in / name.lower()).read_text(encoding="utf-8").strip()
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as exc:
            raise SettingError(
                f"{kept_in / name.lower()} cannot be read ({type(exc).__name__}): "
                f"run this as the user that runs `up`, or set {PREFIX}{name}"
            ) from exc

    def is_set(self, name: str) -> bool:
        return bool(self.text(name))

    def flag(self, name: str, *, default: bool = False) -> bool:
        raw = self.text(name).lower()
        if raw == "":
            return default
        if raw in {"1", "true", "yes", "on"}:
            return True
        if raw in {"0", "false", "no", "off"}:
            return False
        raise SettingError(f"{PREFIX}{name} is {raw!r}: write true or false")

    def whole(self, name: str, default: int, *, low: int, high: int) -> int:
        raw = self.text(name)
        if raw == "":
            return default
        if not raw.isascii() or not raw.isdigit() or not low <= int(raw) <= high:
            raise SettingError(
                f"{PREFIX}{name} is {raw!r}: write a whole number from {low} to {high}"
            )
        return int(raw)

    def words(self, name: str, default: list[str]) -> list[str]:
        raw = self.text(name)
        if not raw:
            return default
        return [word.strip() for word in raw.split(",") if word.strip()]

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        raw = self.text(name, default)
        if raw not in allowed:
            raise SettingError(
                f"{PREFIX}{name} is {raw!r}: write one of {', '.join(allowed)}"
            )
        return raw

    def http_url(self, name: str, default: str = "") -> str:
        raw = self.text(name, default)
        if raw == "":
            return ""
        parts = urlsplit(raw)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise SettingError(
                f"{PREFIX}{name} is not an http or https URL: "
                "write for example http://prometheus.monitoring:9090"
            )
        return raw.rstrip("/")

    def zone(self, name: str, default: str) -> str:
        raw = self.text(name, default)
        try:
            ZoneInfo(raw)
        except (ZoneInfoNotFoundError, ValueError, OSError) as exc:
            raise SettingError(
                f"{PREFIX}{name} is {raw!r}: write a zone such as Europe/Berlin"
            ) from exc
        return raw

    def directory(self, name: str, default: Path) -> Path:
        return Path(self.text(name) or default).expanduser().absolute()

    def database(self, default: str) -> dict[str, Any]:
        raw = self.text("DATABASE_URL") or default
        scheme = urlsplit(raw).scheme
        if scheme not in {"sqlite", "postgres", "postgresql"}:
            raise SettingError(
                f"{PREFIX}DATABASE_URL must start with sqlite:/// or postgres:// "
                f"(it starts with {scheme!r})"
            )
        parsed: dict[str, Any] = environ.Env.db_url_config(raw)
        return parsed
