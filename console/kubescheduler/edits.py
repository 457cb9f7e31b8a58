"""Changes of a text by the marks of its tree; every other byte stays.

A change is a list of edits; nothing here looks at what the result means. The caller
decodes it and compares.
"""

from __future__ import annotations

from collections.abc import Mapping as MappingType
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass
from typing import Any

from console.kubescheduler import rendering
from console.kubescheduler.tree import Entry, Mapping, Scalar, Sequence, to_plain

_LINE_BREAKS = "\r\n"


@dataclass(frozen=True, slots=True)
class Edit:
    """Put `text` in the place of characters [start, end)."""

    start: int
    end: int
    text: str


def apply(text: str, edits: SequenceType[Edit]) -> str:
    for edit in sorted(edits, key=lambda e: (e.start, e.end), reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


@dataclass(frozen=True, slots=True)
class Editor:
    """Makes edits for one text; `eol` is how its lines end."""

    text: str
    eol: str

    def replace_value(self, entry: Entry, value: Any, *, in_flow: bool) -> Edit:
        """Another value behind the same key."""
        start, end = entry.value.span.start, entry.value.span.end
        block = not isinstance(entry.value, Scalar) and not entry.value.flow
        if in_flow or (not block and not isinstance(value, MappingType)):
            rendered = rendering.flow if in_flow else rendering.inline
            if start > entry.span.end and self.text[start - 1] in " \t\r\n":
                return Edit(start, self._trimmed(start, end), rendered(value))
        return self._rewrite(entry, value, in_flow=in_flow)

    def _rewrite(self, entry: Entry, value: Any, *, in_flow: bool) -> Edit:
        """The key again and all behind it, for values that change their shape."""
        start = entry.span.start
        end = self._trimmed(start, max(entry.value.span.end, entry.span.end))
        rest = self.text[end : self._line_end(end)]
        if rest.lstrip().startswith(":"):  # an empty value's mark is at its key
            end += rest.index(":") + 1
        if in_flow:
            return Edit(start, end, f"{rendering.flow(entry.key)}: {_flow(value)}")
        indent = " " * (entry.span.column - 1)
        text = rendering.block_entry(entry.key, value, indent=indent, eol=self.eol)
        return Edit(start, end, text)

    def add_key(self, mapping: Mapping, key: str, value: Any) -> Edit:
        """A new last key; `mapping` has at least one of its own."""
        last = mapping.entries[-1]
        if mapping.flow:
            end = last.value.span.end
            return Edit(end, end, f", {rendering.flow(key)}: {_flow(value)}")
        indent = " " * (mapping.entries[0].span.column - 1)
        text = rendering.block_entry(key, value, indent=indent, eol=self.eol)
        return self._line_after(max(last.value.span.end, last.span.end), indent + text)

    def add_item(self, sequence: Sequence, item: MappingType[str, Any]) -> Edit:
        """A new last item; `sequence` has at least one."""
        end = sequence.items[-1].span.end
        if sequence.flow:
            return Edit(end, end, f", {_flow(item)}")
        indent = " " * (sequence.span.column - 1)
        return self._line_after(end, self.block_item(item, indent))

    def block_item(self, item: MappingType[str, Any], indent: str) -> str:
        deeper = indent + rendering.INDENT
        lines = [
            rendering.block_entry(key, value, indent=deeper, eol=self.eol)
            for key, value in item.items()
        ]
        return f"{indent}- " + f"{self.eol}{deeper}".join(lines)

    def change_mapping(
        self, mapping: Mapping, wanted: MappingType[str, Any]
    ) -> list[Edit]:
        """The edits that make `mapping` equal `wanted`, key by key."""
        edits: list[Edit] = []
        there = {entry.key for entry in mapping.entries}
        for entry in mapping.entries:
            if entry.key not in wanted:
                edits.append(self._remove_line(entry))
                continue
            value = wanted[entry.key]
            if _same(to_plain(entry.value), value):
                continue
            if isinstance(entry.value, Mapping) and changes_by_key(entry.value, value):
                edits += self.change_mapping(entry.value, value)
            else:
                edits.append(self.replace_value(entry, value, in_flow=mapping.flow))
        added = [
            self.add_key(mapping, key, value)
            for key, value in wanted.items()
            if key not in there
        ]
        return edits + _joined(added)

    def _remove_line(self, entry: Entry) -> Edit:
        start = self.text.rfind("\n", 0, entry.span.start) + 1
        end = self._line_end(
            self._trimmed(start, max(entry.value.span.end, entry.span.end))
        )
        return Edit(start, self._after_break(end), "")

    def _line_after(self, end: int, line: str) -> Edit:
        """A line below the one in which a value ends, its comment included."""
        end = self._line_end(self._trimmed(0, end))
        return Edit(end, end, self.eol + line)

    def _line_end(self, at: int) -> int:
        while at < len(self.text) and self.text[at] not in _LINE_BREAKS:
            at += 1
        return at

    def _after_break(self, at: int) -> int:
        if self.text.startswith("\r\n", at):
            return at + 2
        return min(at + 1, len(self.text))

    def _trimmed(self, start: int, end: int) -> int:
        """`end` without the line breaks that a block scalar's mark has behind it."""
        while end > start and self.text[end - 1] in " \t\r\n":
            end -= 1
        return end


def _joined(added: list[Edit]) -> list[Edit]:
    """Insertions at one place as one edit, in their order."""
    if not added:
        return []
    return [Edit(added[0].start, added[0].end, "".join(edit.text for edit in added))]


def _flow(value: Any) -> str:
    return rendering.flow(value)


def changes_by_key(node: Mapping, wanted: object) -> bool:
    """Whether the mapping can become `wanted` by edits of single keys."""
    if not isinstance(wanted, MappingType):
        return False
    kept = any(entry.key in wanted for entry in node.entries)
    removed = any(entry.key not in wanted for entry in node.entries)
    # a line can be taken out of a block, but not out of a flow mapping
    return kept and not (node.flow and removed)


def _same(left: Any, right: Any) -> bool:
    return rendering.flow(left) == rendering.flow(right)
