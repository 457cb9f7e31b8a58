"""Filtering, sorting and paging of a ranking, as the query of a URL says it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from urllib.parse import urlencode

import numpy as np

from scoring.explain.ranking import AGES, QUALITIES, STATES, Ranking
from scoring.framework.snapshot import CPU, RECEIVE, TRANSMIT
from scoring.framework.types import Floats, Floats32

PAGE_SIZE = 100
DEFAULT_SORT = "rank"

_VALUES: dict[str, Callable[[Ranking], Floats | Floats32]] = {
    "receive": lambda r: r.snapshot.column(RECEIVE),
    "transmit": lambda r: r.snapshot.column(TRANSMIT),
    "use": lambda r: r.use,
    "capacity": lambda r: r.capacity,
    "cpu": lambda r: r.snapshot.column(CPU),
    "age": lambda r: r.snapshot.sample_age(r.now),
    "score": lambda r: r.scores,
    "sent": lambda r: r.sent,
}
SORTS = (DEFAULT_SORT, "name", "state", *_VALUES)
_CHOICES = {"age": AGES, "quality": QUALITIES, "state": STATES}


@dataclass(frozen=True, slots=True)
class Query:
    """What a URL asks for. A word that is not understood is dropped: links age."""

    q: str = ""
    zone: str = ""
    pool: str = ""
    age: str = ""
    quality: str = ""
    state: str = ""
    sort: str = DEFAULT_SORT  # a leading "-" reverses it
    page: int = 1

    @classmethod
    def read(cls, params: Mapping[str, str]) -> Query:
        texts = {name: params.get(name, "").strip()[:200] for name in _TEXTS}
        for name, choices in _CHOICES.items():
            if texts[name] not in choices:
                texts[name] = ""
        if texts["sort"].removeprefix("-") not in SORTS:
            texts["sort"] = DEFAULT_SORT
        raw = params.get("page", "1")
        page = int(raw) if raw.isascii() and raw.isdigit() and len(raw) < 7 else 1
        return cls(**texts, page=max(1, page))

    @property
    def filtered(self) -> bool:
        return bool(
            self.q or self.zone or self.pool or self.age or self.quality or self.state
        )

    def url(self, **changes: str | int) -> str:
        """The query string with changes; what is at its default is left out."""
        wanted = replace(self, **changes)  # type: ignore[arg-type] # replace() checks names
        pairs = [
            (f.name, value)
            for f in fields(wanted)
            if (value := getattr(wanted, f.name)) != f.default
        ]
        return urlencode(pairs)


_TEXTS = tuple(f.name for f in fields(Query) if f.name != "page")


@dataclass(frozen=True, slots=True)
class Selection:
    """Row numbers that a query keeps, in its order, and the page that is shown."""

    numbers: tuple[int, ...]
    page: int

    @property
    def pages(self) -> int:
        return max(1, math.ceil(len(self.numbers) / PAGE_SIZE))

    @property
    def shown(self) -> tuple[int, ...]:
        start = (self.page - 1) * PAGE_SIZE
        return self.numbers[start : start + PAGE_SIZE]

    @property
    def first(self) -> int:
        return (self.page - 1) * PAGE_SIZE + 1 if self.numbers else 0

    @property
    def last(self) -> int:
        return min(len(self.numbers), self.page * PAGE_SIZE)


def select(ranking: Ranking, query: Query) -> Selection:
    """Keep, sort and cut; a page past the end becomes the last one."""
    kept = _keep(ranking, query)
    numbers = tuple(row for row in _sorted(ranking, query.sort) if kept(row))
    pages = max(1, math.ceil(len(numbers) / PAGE_SIZE))
    return Selection(numbers, min(query.page, pages))


def _keep(ranking: Ranking, query: Query) -> Callable[[int], bool]:
    rows = ranking.snapshot.table.rows
    words = query.q.lower().split()
    tests: list[Callable[[int], bool]] = []
    if words:
        tests.append(lambda i: all(word in rows[i].name.lower() for word in words))
    if query.zone:
        tests.append(lambda i: rows[i].zone == query.zone)
    if query.pool:
        tests.append(lambda i: rows[i].pool == query.pool)
    if query.age:
        tests.append(lambda i: ranking.ages[i] == query.age)
    if query.quality:
        tests.append(lambda i: ranking.quality(i) == query.quality)
    if query.state:
        tests.append(lambda i: ranking.state(i) == query.state)
    return lambda i: all(test(i) for test in tests)


def _sorted(ranking: Ranking, sort: str) -> list[int]:
    """All rows by value; what has no value comes last in either direction."""
    descending = sort.startswith("-")
    key = sort.removeprefix("-")
    if key == DEFAULT_SORT:
        order: list[int] = ranking.order.tolist()
        ranked = [row for row in order if row in ranking.positions]
        rest = [row for row in order if row not in ranking.positions]
        return [*reversed(ranked), *rest] if descending else [*ranked, *rest]
    if key in _VALUES:
        values = _VALUES[key](ranking)
        signed = -values if descending else values
        numbers: list[int] = np.argsort(signed, kind="stable").tolist()
        return numbers
    rows = ranking.snapshot.table.rows
    if key == "name":
        return sorted(range(len(rows)), key=lambda i: rows[i].name, reverse=descending)
    return sorted(range(len(rows)), key=ranking.state, reverse=descending)
