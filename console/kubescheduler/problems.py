"""What is wrong with a document, where, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding.

    `gate` is the step that would refuse the document: decode, validate, start; or
    advice. `severity` is error or warning. `line` and `column` count from 1.
    """

    gate: str
    severity: str
    path: str
    line: int
    column: int
    message: str
    hint: str = ""


def format_path(path: Path) -> str:
    """The path as kube-scheduler writes it: `profiles[0].plugins.score`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}" if text else step
    return text


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, or nothing."""
    folded = {name.lower(): name for name in known}
    close = difflib.get_close_matches(word.lower()[:100], folded, n=1)
    return f"Did you mean {folded[close[0]]}?" if close else ""
