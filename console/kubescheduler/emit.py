"""Writes a stock document as YAML that every reader understands in the same way."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from console.kubescheduler.scalars import FALSE_WORDS, NULL_WORDS, TRUE_WORDS

_SAFE = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
_WORDS = TRUE_WORDS | FALSE_WORDS | NULL_WORDS


def is_safe_plain(text: str) -> bool:
    """Whether an unquoted `text` is that text in YAML 1.1, YAML 1.2 and goyaml."""
    return _SAFE.fullmatch(text) is not None and text not in _WORDS


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.CSafeDumper, text: str) -> yaml.Node:
    style = None if is_safe_plain(text) else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)


def emit(data: Mapping[str, Any]) -> str:
    """Block style, keys in the order of `data`, the same text for the same data."""
    return yaml.dump(
        dict(data), Dumper=_Dumper, sort_keys=False, allow_unicode=False, width=10**9
    )
