"""From text to tree, in bounded time and memory whatever the text is.

PyYAML's events are read one by one instead of its nodes: so nothing recurses in C, and
a limit stops the reading where it is passed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from console.kubescheduler.scalars import NotJson, resolve_plain
from console.kubescheduler.tree import Entry, Mapping, Node, Scalar, Sequence, Span

MAX_BYTES = 256 * 1024
MAX_DEPTH = 40
MAX_NODES = 50_000

_TAG = "tag:yaml.org,2002:"
_RESOLVED_TAGS = tuple(_TAG + kind for kind in ("int", "float", "bool", "null"))
_COLLECTION_TAGS = (None, "!", _TAG + "map", _TAG + "seq")


class ReadError(Exception):
    """The text is no document; says where and what to do."""

    def __init__(self, message: str, *, hint: str = "", mark: Any = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.line = mark.line + 1 if mark is not None else 1
        self.column = mark.column + 1 if mark is not None else 1


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A key that stands twice in one mapping; `first` is where it stood before."""

    key: str
    span: Span
    first: Span


@dataclass(frozen=True, slots=True)
class ReadDocument:
    root: Node
    duplicates: tuple[Duplicate, ...]
    more_documents_at: Span | None


@dataclass(frozen=True, slots=True)
class _Built:
    node: Node
    size: int
    height: int


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read."""

    event: Any
    parts: list[_Built] = field(default_factory=list)

    def finish(self, end: Any) -> _Built:
        size = 1 + sum(part.size for part in self.parts)
        height = 1 + max((part.height for part in self.parts), default=0)
        return _Built(self._node(end), size, height)

    def _node(self, end: Any) -> Node:
        nodes = [part.node for part in self.parts]
        flow = bool(self.event.flow_style)
        stop = end.end_mark.index
        if not flow and nodes:
            # libyaml's mark is past the comments that follow the last value
            stop = nodes[-1].span.end
        span = _span(self.event.start_mark, stop)
        if isinstance(self.event, yaml.SequenceStartEvent):
            return Sequence(span, tuple(nodes), flow)
        pairs = zip(nodes[::2], nodes[1::2], strict=True)
        entries = [Entry(_key(key), key.span, value) for key, value in pairs]
        own = tuple(e for e in entries if not _is_merge(e))
        return Mapping(span, own, flow, _merged(entries))


def read(text: str) -> ReadDocument:
    """The first document of `text`; raises ReadError with one sentence."""
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise ReadError(
            "the document is larger than 256 KB",
            hint="A scheduler configuration has a few hundred lines: send only that.",
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise ReadError(
            "the text holds half of a character (a lone surrogate)",
            hint="Save the file as UTF-8.",
        ) from exc
    events: Iterator[Any] = yaml.parse(text, Loader=yaml.CSafeLoader)
    try:
        builder = _Builder()
        root = builder.build(events)
        more = _rest(events)
    except yaml.YAMLError as exc:
        raise _syntax_error(exc, text) from exc
    return ReadDocument(root, tuple(_duplicates(root)), more)


class _Builder:
    def __init__(self) -> None:
        self._open: list[_Open] = []
        self._anchors: dict[str, _Built | None] = {}
        self._size = 0

    def build(self, events: Iterator[Any]) -> Node:
        for event in events:
            if isinstance(event, yaml.CollectionStartEvent):
                self._start(event)
                continue
            built = self._finished(event)
            if built is not None and not self._open:
                return built.node
            if built is not None:
                self._open[-1].parts.append(built)
        # an empty text has no document at all
        return Scalar(Span(0, 0, 1, 1), None, plain=True)

    def _start(self, event: Any) -> None:
        if event.tag not in _COLLECTION_TAGS:
            raise _bad_tag(event)
        if event.anchor:
            self._anchors[event.anchor] = None
        self._open.append(_Open(event))
        self._limit_depth(len(self._open), event)

    def _finished(self, event: Any) -> _Built | None:
        if isinstance(event, yaml.AliasEvent):
            built = self._alias(event)
        elif isinstance(event, yaml.ScalarEvent):
            built = _Built(_scalar(event), 1, 1)
            self._remember(event.anchor, built)
        elif isinstance(event, yaml.CollectionEndEvent):
            opened = self._open.pop()
            built = opened.finish(event)
            self._remember(opened.event.anchor, built)
            # its parts were counted one by one
            self._size += 1 - built.size
        else:
            return None
        self._count(built, event)
        return built

    def _count(self, built: _Built, event: Any) -> None:
        self._size += built.size
        if self._size > MAX_NODES:
            raise ReadError(
                f"the document holds more than {MAX_NODES} values",
                hint="Aliases (*name) count as often as they are used.",
                mark=event.start_mark,
            )

    def _alias(self, event: Any) -> _Built:
        built = self._anchors.get(event.anchor)
        if built is None:
            raise ReadError(
                f"the alias *{event.anchor} has no value before it, or holds itself",
                hint="Write the value out.",
                mark=event.start_mark,
            )
        self._limit_depth(len(self._open) + built.height, event)
        return built

    def _remember(self, anchor: str | None, built: _Built) -> None:
        if anchor:
            self._anchors[anchor] = built

    def _limit_depth(self, depth: int, event: Any) -> None:
        if depth > MAX_DEPTH:
            raise ReadError(
                f"values are nested more than {MAX_DEPTH} deep",
                hint="No field of a scheduler configuration lies that deep.",
                mark=event.start_mark,
            )


def _rest(events: Iterator[Any]) -> Span | None:
    """Where a second document starts; what is in it does not matter to anybody."""
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            end: Any = event.end_mark
            return _span(event.start_mark, end.index)
    return None


def _scalar(event: Any) -> Scalar:
    span = _span(event.start_mark, event.end_mark.index)
    tag = event.tag
    plain = event.implicit[0] and tag is None
    if tag not in (None, "!", _TAG + "str", *_RESOLVED_TAGS):
        raise _bad_tag(event)
    if not plain and tag not in _RESOLVED_TAGS:
        return Scalar(span, event.value, plain=False)
    try:
        return Scalar(span, resolve_plain(event.value), plain=True)
    except NotJson as exc:
        raise ReadError(
            f"{event.value[:40]} is a number that JSON cannot hold",
            hint="Write a finite number, or quote it if it is a text.",
            mark=event.start_mark,
        ) from exc


def _bad_tag(event: Any) -> ReadError:
    return ReadError(
        f"the tag {event.tag[:60]} is not understood",
        hint="Remove it: the value's type follows from the field.",
        mark=event.start_mark,
    )


def _key(node: Node) -> str:
    if not isinstance(node, Scalar) or node.value is None:
        where = yaml.Mark("", node.span.start, node.span.line - 1, 0, None, 0)
        raise ReadError(
            "a key must be a name", hint="Quote it or write it plainly.", mark=where
        )
    if isinstance(node.value, bool):
        return str(node.value).lower()
    return str(node.value)


def _is_merge(entry: Entry) -> bool:
    return entry.key == "<<" and not isinstance(entry.value, Scalar)


def _merged(entries: list[Entry]) -> tuple[Entry, ...]:
    found: list[Entry] = []
    for entry in filter(_is_merge, entries):
        value = entry.value
        sources = value.items if isinstance(value, Sequence) else (value,)
        for source in sources:
            if isinstance(source, Mapping):
                found += (*source.entries, *source.merged)
    return tuple(found)


def _duplicates(root: Node) -> Iterator[Duplicate]:
    waiting = [root]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, Scalar) or id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, Sequence):
            waiting += node.items
            continue
        first: dict[str, Span] = {}
        # kube-scheduler also refuses a key that overrides a merged one
        for entry in node.merged:
            first.setdefault(entry.key, entry.span)
        for entry in node.entries:
            if entry.key in first:
                yield Duplicate(entry.key, entry.span, first[entry.key])
            first.setdefault(entry.key, entry.span)
            waiting.append(entry.value)


def _span(mark: Any, end: int) -> Span:
    return Span(mark.index, end, mark.line + 1, mark.column + 1)


def _syntax_error(exc: yaml.YAMLError, text: str) -> ReadError:
    mark = getattr(exc, "problem_mark", None)
    what = getattr(exc, "problem", None) or getattr(exc, "reason", None) or str(exc)
    lines = text.splitlines()
    hint = "Check the indentation and the quotes around this place."
    if mark is not None and mark.line < len(lines):
        before = lines[mark.line][: mark.column + 1]
        if "\t" in before:
            hint = "There is a tab here: indent with spaces."
    return ReadError(f"this is not YAML: {what}", hint=hint, mark=mark)
