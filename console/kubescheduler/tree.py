"""A document as an immutable tree in which every value knows where it was written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from console.kubescheduler.problems import Path

JsonScalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Span:
    """Characters [start, end) of the text; `line` and `column` of start, from 1."""

    start: int
    end: int
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Scalar:
    span: Span
    value: JsonScalar
    plain: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A key of a mapping with its value."""

    key: str
    span: Span
    value: Node


@dataclass(frozen=True, slots=True)
class Mapping:
    """`merged` are entries that came by `<<`; a key of `entries` beats them."""

    span: Span
    entries: tuple[Entry, ...]
    flow: bool
    merged: tuple[Entry, ...] = ()

    def entry(self, key: str) -> Entry | None:
        for entry in (*self.entries, *self.merged):
            if entry.key == key:
                return entry
        return None


@dataclass(frozen=True, slots=True)
class Sequence:
    span: Span
    items: tuple[Node, ...]
    flow: bool


Node = Scalar | Mapping | Sequence


def to_plain(node: Node) -> Any:
    """The value as dicts, lists and scalars, as JSON would give it."""
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Sequence):
        return [to_plain(item) for item in node.items]
    plain: dict[str, Any] = {}
    for entry in (*node.entries, *node.merged):
        if entry.key not in plain:
            plain[entry.key] = to_plain(entry.value)
    return plain


def nearest_span(root: Node, path: Path) -> Span:
    """Where the value at `path` is written, or the deepest parent that is there."""
    node, span = root, root.span
    for step in path:
        child = _child(node, step)
        if child is None:
            break
        node, span = child
    return span


def _child(node: Node, step: str | int) -> tuple[Node, Span] | None:
    if isinstance(node, Mapping) and isinstance(step, str):
        entry = node.entry(step)
        return (entry.value, entry.span) if entry else None
    if isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
        item = node.items[step]
        return item, item.span
    return None
