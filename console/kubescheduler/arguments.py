"""A plugin's arguments alone, read by the rules of the whole document."""

from __future__ import annotations

from typing import Any

from console.kubescheduler import reader, tree


class ArgumentsError(Exception):
    """The text is no mapping of arguments; says where and what to do."""


def read_arguments(text: str) -> dict[str, Any]:
    """JSON values from YAML or JSON; an empty text is no arguments.

    Raises ArgumentsError. Bounded in time and memory whatever the text is.
    """
    if not text.strip():
        return {}
    try:
        read = reader.read(text)
    except reader.ReadError as exc:
        hint = f" {exc.hint}" if exc.hint else ""
        sentence = f"Line {exc.line}, column {exc.column}: {exc.message}.{hint}"
        raise ArgumentsError(sentence) from exc
    for twice in read.duplicates:
        raise ArgumentsError(
            f"Line {twice.span.line}: {twice.key[:80]!r} stands twice, first in line "
            f"{twice.first.line}. Keep one of them."
        )
    if read.more_documents_at is not None:
        raise ArgumentsError("Write one document: remove the line `---` and the rest.")
    plain = tree.to_plain(read.root)
    if plain is None:
        return {}
    if not isinstance(plain, dict):
        raise ArgumentsError("Write a mapping, for example deadBandPercent: 2")
    return plain
