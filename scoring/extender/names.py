"""From node names to rows of the snapshot."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat

import numpy as np

from scoring.extender.rawnames import RawNames
from scoring.framework.snapshot import NodeTable
from scoring.framework.types import Rows

QUICK_FROM = 6000  # bytes of a list of names; below, strings are quicker
_TO_ESCAPE = re.compile(r'["\\\x00-\x1f\ud800-\udfff]')


def is_plain(names: Iterable[str]) -> bool:
    """Whether the names may stand between quotes in JSON as they are."""
    return _TO_ESCAPE.search("".join(names)) is None


@dataclass(frozen=True, slots=True)
class NodeIndex:
    """Names to rows of one node table; row N stands for any name not in it."""

    table: NodeTable
    rows: Mapping[str, int]
    plain: bool  # no name needs escaping in JSON
    raw: RawNames | None = None  # the quick way for long lists, if there is one

    @classmethod
    def build(cls, table: NodeTable, previous: NodeIndex | None = None) -> NodeIndex:
        """`previous` is used again when it is of the same table."""
        if previous is not None and previous.table.digest == table.digest:
            return previous
        plain = is_plain(table.index)
        unique = len(table.index) == len(table)
        raw = RawNames.build(list(table.index)) if plain and unique else None
        return cls(table, table.index, plain, raw)

    @property
    def unknown(self) -> int:
        """The row of a name that the table does not hold."""
        return len(self.table)

    def match(self, raw: bytes | None) -> Rows | None:
        """Rows of the names in a JSON list, where that is quicker than `find`."""
        if self.raw is None or raw is None or len(raw) < QUICK_FROM:
            return None
        return self.raw.match(raw)

    def find(self, names: list[str]) -> Rows:
        """intp[len(names)]."""
        found = map(self.rows.get, names, repeat(self.unknown))
        return np.fromiter(found, np.intp, len(names))
