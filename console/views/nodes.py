"""The node ranking: as a page, and as CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import urlencode

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from console.views.shell import ShellRequest, cluster_page
from scoring.api.selection import Query, Selection, select
from scoring.explain.current import policies, rank
from scoring.explain.ranking import AGES, QUALITIES, STATES, RankedRow, Ranking
from scoring.explain.steps import Explanation, explain
from scoring.framework import units
from scoring.framework.policy import Policy

_MOST_OPEN = 10  # rows whose "why" one URL may hold open


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the table; `css` lets narrow screens drop the less important."""

    key: str
    label: str
    unit: str = ""
    numeric: bool = True
    css: str = ""
    falling: bool = False  # which way the first click sorts


COLUMNS = (
    Column("rank", "#", css="c1"),
    Column("name", "Node", numeric=False),
    Column("score", "Score", "0..100", falling=True),
    Column("sent", "Sent", "0..10", css="c1", falling=True),
    Column("receive", "Receive", units.MEGABITS_UNIT, css="c1", falling=True),
    Column("transmit", "Transmit", units.MEGABITS_UNIT, css="c1", falling=True),
    Column("capacity", "Capacity", units.MEGABITS_UNIT, css="c3", falling=True),
    Column("use", "Use", "% of capacity", css="", falling=True),
    Column("cpu", "CPU", "%", css="c2", falling=True),
    Column("age", "Data age", numeric=False, css="c1"),
    Column("state", "State", numeric=False, css=""),
)


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading with its link and how the table is sorted by it."""

    column: Column
    query: str
    aria_sort: str  # ascending, descending or empty


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table and the link that opens or closes its explanation."""

    row: RankedRow
    open: bool
    toggle: str
    why: Explanation | None = None


def chosen_policy(found: tuple[Policy, ...], wanted: str) -> Policy | None:
    """By "configuration/schedulerName", else the first."""
    for policy in found:
        if f"{policy.configuration}/{policy.scheduler_name}" == wanted:
            return policy
    return found[0] if found else None


@require_safe
@cluster_page
def nodes(request: ShellRequest) -> HttpResponse:
    """A page of the ranking; `why` names rows that show how they got their score."""
    found = policies(request.shell.cluster)
    policy = chosen_policy(found, request.GET.get("profile", ""))
    ranking = _ranking(request, policy)
    context: dict[str, object] = {"page": "nodes", "policies": found, "policy": policy}
    if ranking is not None:
        context |= _table(request, ranking)
    return render(request, "console/nodes.html", context)


def _ranking(request: ShellRequest, policy: Policy | None) -> Ranking | None:
    if policy is None:
        return None
    shell = request.shell
    now = shell.freshness.now.timestamp()
    return rank(shell.cluster, policy, now=now, neutral=bool(shell.neutral))


def _table(request: ShellRequest, ranking: Ranking) -> dict[str, object]:
    query = Query.read(request.GET.dict())
    selection = select(ranking, query)
    links = Links(query, ranking.policy, tuple(request.GET.getlist("why"))[:_MOST_OPEN])
    table = ranking.snapshot.table.rows
    return {
        "ranking": ranking,
        "query": query,
        "selection": selection,
        "headings": [links.heading(column) for column in COLUMNS],
        "lines": _lines(ranking, selection, links),
        "previous": links.to(page=selection.page - 1),
        "next": links.to(page=selection.page + 1),
        "here": links.to(),
        "zones": sorted({row.zone for row in table if row.zone}),
        "pools": sorted({row.pool for row in table if row.pool}),
        "ages": AGES,
        "qualities": QUALITIES,
        "states": STATES,
        "profile": links.profile,
    }


def _lines(ranking: Ranking, selection: Selection, links: Links) -> list[Line]:
    lines = []
    for number, row in zip(selection.shown, ranking.rows(selection.shown), strict=True):
        name = row.node.name
        opened = name in links.open
        reasons = explain(ranking, number) if opened else None
        lines.append(Line(row, opened, links.toggle(name), reasons))
    return lines


@dataclass(frozen=True, slots=True)
class Links:
    """Builds the page's links: the URL holds all of its state."""

    query: Query
    policy: Policy
    open: tuple[str, ...] = ()

    @property
    def profile(self) -> str:
        return f"{self.policy.configuration}/{self.policy.scheduler_name}"

    def to(self, **changes: str | int) -> str:
        return self._join(self.open, **changes)

    def toggle(self, name: str) -> str:
        rest = tuple(other for other in self.open if other != name)
        return self._join(rest if name in self.open else (*rest, name))

    def heading(self, column: Column) -> Heading:
        sort = self.query.sort
        current = sort.removeprefix("-") == column.key
        descending = sort.startswith("-")
        turned = not descending if current else column.falling
        target = self.to(sort=("-" if turned else "") + column.key, page=1)
        words = "descending" if descending else "ascending"
        return Heading(column, target, words if current else "")

    def _join(self, opened: tuple[str, ...], **changes: str | int) -> str:
        why = urlencode([("why", name) for name in opened])
        profile = urlencode({"profile": self.profile})
        return "&".join(p for p in (profile, self.query.url(**changes), why) if p)


@require_safe
@cluster_page
def nodes_csv(request: ShellRequest) -> HttpResponse:
    """Every row that the filters keep, not only a page."""
    found = policies(request.shell.cluster)
    ranking = _ranking(request, chosen_policy(found, request.GET.get("profile", "")))
    name = f"nodes-{request.shell.cluster}.csv"
    response = HttpResponse(
        content_type="text/csv; charset=utf-8",
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
    writer = csv.writer(response)
    writer.writerow(_CSV_HEAD)
    if ranking is not None:
        selection = select(ranking, Query.read(request.GET.dict()))
        for row in ranking.rows(selection.numbers):
            writer.writerow([escaped(cell) for cell in _cells(row)])
    return response


_CSV_HEAD = (
    "position",
    "node",
    "zone",
    "pool",
    "score (0-100)",
    "sent (0-10)",
    f"receive ({units.MEGABITS_UNIT})",
    f"transmit ({units.MEGABITS_UNIT})",
    f"capacity ({units.MEGABITS_UNIT})",
    "capacity origin",
    "use (%)",
    "cpu (%)",
    "sampled at (UTC)",
    "data age (s)",
    "age",
    "quality",
    "state",
    "reason",
)


def _cells(row: RankedRow) -> Iterator[object]:
    yield from (row.position, row.node.name, row.node.zone, row.node.pool)
    yield from (row.score, row.priority)
    yield from (units.megabits(x) for x in (row.receive, row.transmit, row.capacity))
    yield row.node.capacity_origin
    yield from (units.percent(row.use), units.percent(row.cpu))
    if row.sample_at is None:
        yield from (None, None)
    else:
        moment = datetime.fromtimestamp(row.sample_at, UTC)
        yield moment.isoformat(timespec="seconds")
        yield int(row.sample_age)
    yield from (row.age, row.quality, row.state, row.reason or row.node.cause)


def escaped(cell: object) -> object:
    """A text that a spreadsheet would run as a formula gets a quote in front."""
    if isinstance(cell, str) and cell[:1] in {"=", "+", "-", "@", "\t", "\r"}:
        return "'" + cell
    return cell
