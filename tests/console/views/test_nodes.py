"""The node ranking: what it shows, how it is sorted, filtered and exported."""

from __future__ import annotations

import csv
import dataclasses
import gzip
import io
import re
import time
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.test.utils import CaptureQueriesContext

from scoring.framework.policy import PluginSpec
from scoring.framework.snapshot import RECEIVE, TRANSMIT
from scoring.framework.types import Quality
from scoring.models import Cluster
from tests import rows

PAGE = "/c/default/nodes"


def body(client: Client, query: str = "") -> str:
    answer = client.get(PAGE + query)
    assert answer.status_code == 200
    return answer.content.decode()


def names(page: str) -> list[str]:
    """Node names in the order of the table."""
    return re.findall(r'<tr id="n-([^"]+)"', page)


def cells(page: str, name: str) -> str:
    """The text of one node's row."""
    found = re.search(rf'<tr id="n-{name}".*?</tr>', page, re.S)
    assert found is not None
    return " ".join(re.sub(r"<[^>]+>", " ", found.group()).split())


@pytest.fixture
def four(cluster: Cluster) -> Cluster:
    """node-0000 is quiet, node-0003 busy; all links have 1 Gbit/s."""
    table = tuple(
        rows.node(i, receive_capacity=rows.GIGABIT, transmit_capacity=rows.GIGABIT)
        for i in range(4)
    )
    draft = rows.draft(table)
    draft.columns[RECEIVE][:] = [1.25e6, 2.5e7, 5e7, 1.25e7]
    draft.columns[TRANSMIT][:] = [1e6, 1e6, 1e6, 1e8]
    rows.collected(cluster, draft)
    return cluster


def test_ranks_by_the_busier_direction(browser: Client, four: Cluster) -> None:
    page = body(browser)
    assert names(page) == ["node-0000", "node-0001", "node-0002", "node-0003"]
    first, last = cells(page, "node-0000"), cells(page, "node-0003")
    assert first.startswith("1 node-0000")
    assert "100 10 10.0 Mbit/s 8.0 Mbit/s 1,000 Mbit/s link speed 1.0 %" in first
    assert " 0 0 100 Mbit/s 800 Mbit/s 1,000 Mbit/s link speed 80.0 %" in last


@pytest.mark.parametrize(
    ("sort", "expected"),
    [
        pytest.param("rank", "0123", id="best first"),
        pytest.param("-rank", "3210", id="worst first"),
        pytest.param("receive", "0312", id="by value, not by text"),
        pytest.param("-receive", "2130", id="falling"),
        pytest.param("-name", "3210", id="name"),
        pytest.param("-use", "3210", id="use"),
        pytest.param("nonsense", "0123", id="unknown key falls back"),
    ],
)
def test_sort(browser: Client, four: Cluster, sort: str, expected: str) -> None:
    found = names(body(browser, f"?sort={sort}"))
    assert "".join(name[-1] for name in found) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("?q=NODE-0002", "2", id="text, any case"),
        pytest.param("?zone=zone-a", "03", id="zone"),
        pytest.param("?pool=pool-2&zone=zone-a", "3", id="pool and zone"),
        pytest.param("?age=missing", "", id="age"),
        pytest.param("?quality=measured&q=3", "3", id="quality"),
        pytest.param("?state=eligible&q=1", "1", id="state"),
        pytest.param("?state=nonsense", "0123", id="unknown word is dropped"),
    ],
)
def test_filter(browser: Client, four: Cluster, query: str, expected: str) -> None:
    found = names(body(browser, query))
    assert "".join(name[-1] for name in found) == expected


def test_nothing_found_offers_a_way_back(browser: Client, four: Cluster) -> None:
    assert "Show all 4 nodes" in body(browser, "?q=zzz")


def test_missing_data_is_a_dash_with_its_cause(
    browser: Client, cluster: Cluster
) -> None:
    table = tuple(rows.node(i) for i in range(3))
    table = (dataclasses.replace(table[0], cause="No series names it."), *table[1:])
    rows.collected(cluster, rows.without_data(rows.draft(table), 0))
    page = body(browser, "?why=node-0000")
    row = cells(page, "node-0000")
    assert "missing" in row
    assert row.count("\N{EN DASH}") >= 3
    assert "No series names it." in page


def test_partial_data_is_told_in_words(browser: Client, cluster: Cluster) -> None:
    table = tuple(rows.node(i) for i in range(3))
    cause = "only the receive rate is known"
    draft = rows.draft((dataclasses.replace(table[0], cause=cause), *table[1:]))
    draft.columns[TRANSMIT][0] = np.nan
    draft.quality[0] = Quality.PARTIAL
    rows.collected(cluster, draft)
    page = body(browser, "?why=node-0000")
    assert "partial" in cells(page, "node-0000")
    assert cause in page
    assert "Only a part of its traffic is known" in page


@pytest.mark.parametrize(
    ("ago", "stale"), [(5, False), (44, False), (50, True), (400, True)]
)
def test_old_scores_are_marked(
    browser: Client, cluster: Cluster, ago: float, stale: bool
) -> None:
    rows.collected(cluster, rows.draft((rows.node(1), rows.node(2)), ago=ago))
    page = body(browser)
    assert ('<div id="live" class="is-stale"' in page) is stale
    assert ("freshness is-stale" in page) is stale


def test_expired_data_scores_nobody(browser: Client, cluster: Cluster) -> None:
    rows.collected(cluster, rows.draft((rows.node(1), rows.node(2)), ago=400))
    page = body(browser)
    assert "no node has current data: all get the same" in page
    assert "expired" in cells(page, "node-0001")


def test_refused_nodes_say_so(browser: Client, four: Cluster) -> None:
    rows.publish(
        four,
        PluginSpec(
            "NetworkTraffic",
            score=True,
            weight=5,
            filter=True,
            args={"maxUtilizationPercent": 60},
        ),
    )
    page = body(browser, "?state=refused&why=node-0003")
    assert names(page) == ["node-0003"]
    assert "Bandmaster: network use above limit" in page
    assert "is above the limit of 60.0 %" in page


def test_nodes_out_of_the_race_have_no_score(browser: Client, cluster: Cluster) -> None:
    table = (
        rows.node(1),
        rows.node(2, cordoned=True),
        rows.node(3, ready=False),
        rows.node(4, control_plane=True),
    )
    rows.collected(cluster, rows.draft(table))
    page = body(browser)
    assert names(page)[0] == "node-0001"
    for name, state in (("2", "cordoned"), ("3", "not ready"), ("4", "control plane")):
        row = cells(page, f"node-000{name}")
        assert row.startswith("\N{EN DASH} ")
        assert state in row


def test_kill_switch_shows_what_is_sent(browser: Client, four: Cluster) -> None:
    four.neutral, four.neutral_reason, four.neutral_by = True, "drill", "bo"
    four.save()
    page = body(browser)
    assert "drill" in page
    assert " 100 5 10.0 Mbit/s" in cells(page, "node-0000")
    assert " 0 5 100 Mbit/s" in cells(page, "node-0003")


def test_an_open_row_lives_in_the_url(browser: Client, four: Cluster) -> None:
    page = body(browser, "?why=node-0001")
    assert 'id="w-node-0001"' in page
    assert page.count('aria-expanded="true"') == 1
    assert 'id="w-' not in body(browser)


def test_empty_states(browser: Client, cluster: Cluster) -> None:
    assert "No scores yet" in body(browser)


def test_without_a_policy(browser: Client, db: None) -> None:
    rows.make_cluster(published=False)
    assert "No policy to rank by" in body(browser)


def test_unknown_cluster(browser: Client, cluster: Cluster) -> None:
    answer = browser.get("/c/nowhere/nodes")
    assert answer.status_code == 404
    assert "There is no cluster" in answer.content.decode()


def test_csv_holds_all_rows_and_escapes_formulas(
    browser: Client, cluster: Cluster
) -> None:
    table = tuple(rows.node(i) for i in range(120))
    table = (dataclasses.replace(table[0], zone='=HYPERLINK("x")'), *table[1:])
    rows.collected(cluster, rows.draft(table))
    answer = browser.get("/c/default/nodes.csv?sort=name")
    assert answer["Content-Disposition"] == 'attachment; filename="nodes-default.csv"'
    lines = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert len(lines) == 120
    assert lines[0]["node"] == "node-0000"
    assert lines[0]["zone"] == '\'=HYPERLINK("x")'
    assert float(lines[0]["capacity (Mbit/s)"]) == 10_000


def test_five_thousand_nodes(
    browser: Client, cluster: Cluster, django_assert_max_num_queries: Any
) -> None:
    """At most 8 queries, under 300 ms of server time and 20 KB compressed."""
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(5000))))
    with django_assert_max_num_queries(8):
        body(browser)  # decodes the snapshot and compiles the templates
    context: CaptureQueriesContext
    with django_assert_max_num_queries(8) as context:
        start = time.perf_counter()
        page = body(browser, "?sort=-use&zone=zone-a")
        seconds = time.perf_counter() - start
    assert len(names(page)) == 100
    assert "1\N{EN DASH}100 of 1667" in page
    assert len(context) <= 6
    assert seconds < 0.6  # twice the promise: the machine may be busy
    assert len(gzip.compress(page.encode(), 9)) < 20_000


@pytest.mark.parametrize("page", ["0", "-1", "9999999", "x", "3"])
def test_pages_out_of_range(browser: Client, cluster: Cluster, page: str) -> None:
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(120))))
    assert names(body(browser, f"?page={page}"))
