"""Writes single values into a document that somebody else wrote: block or flow."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from console.kubescheduler.emit import is_safe_plain

INDENT = "  "
# raw in JSON, but line breaks or forbidden in YAML
_UNSAFE = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")


def flow(value: Any) -> str:
    """The value as JSON that is also YAML, on one line.

    Raises ValueError or TypeError for what JSON cannot hold.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def inline(value: Any) -> str:
    """The value behind a `key: ` of a block mapping."""
    if isinstance(value, str) and is_safe_plain(value):
        return value
    return flow(value)


def block_key(key: str) -> str:
    return key if is_safe_plain(key) else flow(key)


def block_entry(key: str, value: Any, *, indent: str, eol: str) -> str:
    """`key: value`, a mapping's own keys on lines of their own, one level further."""
    if not isinstance(value, Mapping) or not value:
        return f"{block_key(key)}: {inline(value)}"
    deeper = indent + INDENT
    lines = [
        deeper + block_entry(k, v, indent=deeper, eol=eol) for k, v in value.items()
    ]
    return eol.join([f"{block_key(key)}:", *lines])
