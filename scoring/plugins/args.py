"""Reading plugin arguments: all problems at once, in words, with their paths."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ArgProblem:
    """What is wrong at `path` (relative to the args: `exempt.namespaces[0]`)."""

    path: str
    message: str
    hint: str = ""


class ArgsError(Exception):
    """Arguments that cannot be used; `problems` holds every one of them."""

    def __init__(self, problems: tuple[ArgProblem, ...]) -> None:
        self.problems = problems
        super().__init__(
            "; ".join(
                f"{p.path}: {p.message}" if p.path else p.message for p in problems
            )
        )


@dataclass(frozen=True, slots=True)
class ArgField:
    """An argument as a form shows it. `type` names what `Reader` method reads it."""

    name: str
    type: str  # percent, duration, count, choice, flag, names, labels
    default: Any
    unit: str = ""
    help: str = ""
    choices: tuple[str, ...] = ()


_GO_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "m": 60.0,
    "h": 3600.0,
}
_GO_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")


def parse_go_duration(text: str) -> float | None:
    """Seconds of a Go duration such as `1h2m3.5s`; None when it is not one."""
    if not re.fullmatch(f"(?:{_GO_PART.pattern})+", text):
        return None
    return sum(float(n) * _GO_UNITS[unit] for n, unit in _GO_PART.findall(text))


class Reader:
    """Takes arguments out of one mapping and gathers what is wrong with them.

    Sections share the list of problems, so that one error tells all of them.
    """

    def __init__(
        self, raw: object, path: str = "", problems: list[ArgProblem] | None = None
    ) -> None:
        self.path = path
        self.problems: list[ArgProblem] = [] if problems is None else problems
        self._left: dict[str, Any] = {}
        self._known: list[str] = []
        if isinstance(raw, Mapping):
            self._left = {str(k): v for k, v in raw.items()}
        elif raw is not None:
            self._problem("", f"must be a mapping, not {_kind(raw)}", "Write keys.")

    def section(self, name: str) -> Reader:
        return Reader(self._take(name), self._at(name), self.problems)

    def percent(self, name: str, default: float | None) -> float | None:
        return self._number(name, default, 0, 100)

    def duration(self, name: str, default: float) -> float:
        """Seconds, from a Go duration or a number of seconds; 1 s to 24 h."""
        value = self._take(name)
        if value is None:
            return default
        seconds = _as_number(value)
        if isinstance(value, str):
            seconds = parse_go_duration(value)
        if seconds is None:
            self._problem(
                name, f"{value!r} is not a duration", 'Write it like "300s" or "5m".'
            )
            return default
        if not 1 <= seconds <= 86400:
            self._problem(name, "must be from 1s to 24h", 'For example "300s".')
            return default
        return seconds

    def count(self, name: str, default: int) -> int:
        value = self._take(name)
        if value is None:
            return default
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            self._problem(name, f"{value!r} is not a whole number of 0 or more")
            return default
        return value

    def choice(self, name: str, default: str, choices: tuple[str, ...]) -> str:
        value = self._take(name)
        if value is None:
            return default
        if value not in choices:
            self._problem(
                name,
                f"{value!r} is not one of {', '.join(choices)}",
                _did_you_mean(str(value), choices),
            )
            return default
        return str(value)

    def flag(self, name: str, *, default: bool) -> bool:
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._problem(name, f"{value!r} is neither true nor false")
            return default
        return value

    def names(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, list | tuple):
            self._problem(name, f"must be a list, not {_kind(value)}")
            return default
        for i, item in enumerate(value):
            if not isinstance(item, str) or not item:
                self._problem(f"{name}[{i}]", f"{item!r} is not a name", "Quote it.")
        return tuple(str(item) for item in value)

    def labels(self, name: str, default: Mapping[str, str]) -> Mapping[str, str]:
        value = self._take(name)
        if value is None:
            return default
        if not isinstance(value, Mapping):
            self._problem(name, f"must be a mapping, not {_kind(value)}")
            return default
        for key, item in value.items():
            if not isinstance(item, str):
                self._problem(f"{name}.{key}", f"{item!r} is not a text", "Quote it.")
        return {str(key): str(item) for key, item in value.items()}

    def problem(self, name: str, message: str, hint: str = "") -> None:
        """Add a problem that only the plugin can see, such as two that disagree."""
        self._problem(name, message, hint)

    def reject_unknown(self) -> None:
        for name in self._left:
            self._problem(
                name,
                f"there is no argument {name!r}",
                _did_you_mean(name, tuple(self._known))
                or f"Known here: {', '.join(sorted(self._known))}.",
            )

    def finish(self) -> None:
        """Raises ArgsError when anything was wrong."""
        if self.problems:
            raise ArgsError(tuple(self.problems))

    def _number(
        self, name: str, default: float | None, low: float, high: float
    ) -> float | None:
        value = self._take(name)
        if value is None:
            return default
        number = _as_number(value)
        if number is None or not low <= number <= high:
            self._problem(name, f"{value!r} is not a number from {low} to {high}")
            return default
        return number

    def _take(self, name: str) -> Any:
        self._known.append(name)
        return self._left.pop(name, None)

    def _at(self, name: str) -> str:
        return ".".join(part for part in (self.path, name) if part)

    def _problem(self, name: str, message: str, hint: str = "") -> None:
        self.problems.append(ArgProblem(self._at(name), message, hint))


def _as_number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def _did_you_mean(word: str, known: tuple[str, ...]) -> str:
    folded: dict[str, str] = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower(), list(folded), n=1)
    return f"Did you mean {folded[close[0]]}?" if close else ""


def _kind(value: object) -> str:
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "true or false"),
        (str, "a text"),
        ((int, float), "a number"),
        ((list, tuple), "a list"),
        (Mapping, "a mapping"),
    )
    return next((word for kind, word in kinds if isinstance(value, kind)), "that")
