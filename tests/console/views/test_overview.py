"""The overview: each part's state, and the kill switch."""

from __future__ import annotations

import http.server
import json
import socketserver
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.test import Client
from django.utils import timezone

from console.models import AuditEntry, User
from console.views.components import BAD, OK, WARN, Component, components
from console.views.probe import probe_extender
from scoring import neutral
from scoring.models import Cluster
from tests import rows

PAGE = "/c/default/"


def body(client: Client, path: str = PAGE) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def part(cluster: Cluster, name: str) -> Component:
    return next(c for c in components(cluster) if c.name == name)


def test_home_leads_to_the_first_cluster(browser: Client, cluster: Cluster) -> None:
    assert browser.get("/")["Location"] == PAGE


def test_home_without_a_cluster_says_what_to_run(browser: Client) -> None:
    assert "manage.py bootstrap" in body(browser, "/")


def test_first_visit_says_what_comes(browser: Client, cluster: Cluster) -> None:
    page = body(browser)
    assert "No scores yet" in page
    assert "Nothing has been collected yet." in page


def test_failures_from_the_start_point_at_the_cause(
    browser: Client, cluster: Cluster
) -> None:
    rows.failed_tick(cluster, prometheus_error="Prometheus is down: start it")
    assert "No collection has succeeded yet" in body(browser)


def test_fleet_at_a_glance(
    browser: Client, cluster: Cluster, django_assert_max_num_queries: Any
) -> None:
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(30))))
    with django_assert_max_num_queries(12):
        page = body(browser)
    assert page.count('<tr id="busiest-') == page.count('<tr id="quietest-') == 5
    assert "Nodes by score: 0 to 9:" in page
    assert "r1" in page
    assert "First configuration: bandwidth-aware" in page


@pytest.mark.parametrize(
    ("name", "errors", "sentence", "effect"),
    [
        pytest.param(
            "Prometheus",
            {"prometheus_error": "Prometheus answered with a login page: check it"},
            "Prometheus answered with a login page: check it.",
            "every node gets the same score",
            id="prometheus",
        ),
        pytest.param(
            "API server",
            {"cluster_error": "the API server refused our token"},
            "The API server refused our token.",
            "still scored",
            id="api server",
        ),
    ],
)
def test_a_failed_tick_is_told_with_its_effect(
    browser: Client,
    cluster: Cluster,
    name: str,
    errors: dict[str, str],
    sentence: str,
    effect: str,
) -> None:
    good = rows.collected(cluster, rows.draft((rows.node(1), rows.node(2))))
    rows.failed_tick(cluster, **errors)
    found = part(cluster, name)
    assert (found.state, found.words, found.since) == (BAD, sentence, good.finished_at)
    assert effect in found.effect
    page = body(browser)
    assert sentence in page
    assert "node-0001" in page  # the last good state stays


def test_a_failed_tick_is_told_on_the_ranking(
    browser: Client, cluster: Cluster
) -> None:
    rows.collected(cluster, rows.draft((rows.node(1), rows.node(2))))
    rows.failed_tick(cluster, prometheus_error="Prometheus is down: start it")
    page = body(browser, PAGE + "nodes")
    assert "Prometheus: Prometheus is down: start it" in page
    assert "node-0001" in page


def test_warnings_are_shown(browser: Client, cluster: Cluster) -> None:
    draft = rows.draft((rows.node(1), rows.node(2)))
    rows.collected(cluster, draft, warnings=["2 series name no node: <b>"])
    assert "2 series name no node: &lt;b&gt;" in body(browser)


def test_nodes_without_data_are_attention(cluster: Cluster) -> None:
    draft = rows.draft((rows.node(1), rows.node(2)))
    rows.collected(cluster, rows.without_data(draft, 0))
    assert part(cluster, "Prometheus").state == WARN


@pytest.mark.parametrize(("ago", "state"), [(20, OK), (46, BAD)])
def test_a_silent_worker_is_down(cluster: Cluster, ago: int, state: str) -> None:
    tick = rows.failed_tick(cluster)
    tick.started_at = timezone.now() - timedelta(seconds=ago)
    tick.save()
    assert part(cluster, "Worker").state == state


class TestVersion:
    def tag(self, client: Client) -> str:
        found: str = client.get(PAGE + "version").json()["version"]
        return found

    def test_unchanged_is_empty(self, browser: Client, cluster: Cluster) -> None:
        answer = browser.get(PAGE + "version", {"v": self.tag(browser)})
        assert answer.status_code == 204
        assert answer.content == b""

    @pytest.mark.parametrize("change", ["tick", "failed", "neutral", "file"])
    def test_whatever_a_page_shows_changes_it(
        self, browser: Client, cluster: Cluster, own_data: Path, change: str
    ) -> None:
        before = self.tag(browser)
        if change == "tick":
            rows.collected(cluster, rows.draft((rows.node(1),)))
        elif change == "failed":
            rows.failed_tick(cluster, prometheus_error="down")
        elif change == "neutral":
            browser.post(PAGE + "neutral", {"on": "1", "reason": "drill"})
        else:
            neutral.write_neutral_file(own_data, "drill")
        assert self.tag(browser) != before

    def test_an_open_page_learns_that_the_worker_is_gone(
        self, browser: Client, cluster: Cluster
    ) -> None:
        rows.collected(cluster, rows.draft((rows.node(1),)))
        before = self.tag(browser)
        later = timezone.now() + timedelta(seconds=60)
        with mock.patch("console.views.shell.timezone.now", return_value=later):
            assert self.tag(browser) != before

    def test_logged_out_is_401(self, client: Client, cluster: Cluster) -> None:
        assert client.get(PAGE + "version").status_code == 401


class TestKillSwitch:
    def test_nothing_is_said_to_follow_the_load(
        self, browser: Client, cluster: Cluster
    ) -> None:
        rows.collected(cluster, rows.draft((rows.node(1),)))
        assert "Scores follow" in body(browser, PAGE)
        browser.post(PAGE + "neutral", {"on": "1", "reason": "drill"})
        assert "Scores follow" not in body(browser, PAGE)

    def test_on_and_off(self, browser: Client, cluster: Cluster) -> None:
        answer = browser.post(PAGE + "neutral", {"on": "1", "reason": "bad numbers"})
        assert answer["Location"] == PAGE
        cluster.refresh_from_db()
        assert (cluster.neutral, cluster.neutral_by) == (True, "ana")
        for path in (PAGE, PAGE + "nodes"):
            assert "bad numbers" in body(browser, path)
        browser.post(PAGE + "neutral", {"on": "0"})
        cluster.refresh_from_db()
        assert not cluster.neutral
        actions = AuditEntry.objects.values_list("action", "source")
        assert sorted(actions) == [("neutral.off", "ui"), ("neutral.on", "ui")]

    @pytest.mark.parametrize(
        ("reason", "sentence"),
        [("", "Say why"), ("x" * 201, "at most 200 characters")],
        ids=["none", "too long"],
    )
    def test_needs_a_reason(
        self, browser: Client, cluster: Cluster, reason: str, sentence: str
    ) -> None:
        answer = browser.post(PAGE + "neutral", {"on": "1", "reason": reason})
        assert answer.status_code == 422
        assert sentence in answer.content.decode()
        cluster.refresh_from_db()
        assert not cluster.neutral

    def test_without_permission(self, client: Client, cluster: Cluster) -> None:
        client.force_login(rows.make_user("bo", admin=False))
        page = body(client, PAGE + "neutral")
        assert 'aria-disabled="true"' in page
        assert "You need the permission" in page
        answer = client.post(PAGE + "neutral", {"on": "1", "reason": "x"})
        assert answer.status_code == 403
        cluster.refresh_from_db()
        assert not cluster.neutral

    def test_other_sources_are_told_with_their_undoing(
        self, browser: Client, cluster: Cluster, own_data: Path, settings: Any
    ) -> None:
        settings.NEUTRAL = "migration"
        neutral.write_neutral_file(own_data, "by hand")
        page = body(browser)
        assert "migration" in page
        assert "Unset BANDMASTER_NEUTRAL" in page
        assert "by hand" in page
        assert "Remove the file neutral" in page


class Answer(http.server.BaseHTTPRequestHandler):
    text = ""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.text.encode())

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def extender() -> Iterator[Any]:
    handler = type("Handler", (Answer,), {})
    server = http.server.HTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    handler.url = f"http://127.0.0.1:{server.server_port}"  # type: ignore[attr-defined]
    yield handler
    server.shutdown()
    thread.join()
    server.server_close()


SERVING = {
    "snapshot_age_seconds": 12.4,
    "policies": [{"configuration": "main", "revision": 3}],
}


class TestProbe:
    @pytest.mark.parametrize(
        ("text", "state", "words"),
        [
            pytest.param(
                json.dumps({"detail": [], **SERVING}),
                OK,
                "It serves main r3 from scores that are 12 s old.",
                id="all is well",
            ),
            pytest.param(
                json.dumps({"detail": ["the database does not answer"], **SERVING}),
                WARN,
                "The database does not answer.",
                id="it complains",
            ),
            pytest.param("<html>", WARN, "something else", id="somebody else"),
            pytest.param("[1]", WARN, "something else", id="other json"),
        ],
    )
    def test_extender_speaks(
        self,
        cluster: Cluster,
        extender: Any,
        text: str,
        state: str,
        words: str,
    ) -> None:
        extender.text = text
        cluster.extender_url = extender.url
        found = part(cluster, "Extender")
        assert found.state == state
        assert words in found.words

    def test_nothing_listens(self, cluster: Cluster) -> None:
        found = part(cluster, "Extender")
        assert found.state == BAD
        assert found.words == "No answer: Nothing listens there."
        assert "placed by its own plugins alone" in found.effect

    def test_silence_ends_after_the_time_out(self) -> None:
        with socketserver.TCPServer(("127.0.0.1", 0), Answer) as silent:
            probe = probe_extender(
                f"http://127.0.0.1:{silent.server_address[1]}", timeout=0.1
            )
        assert not probe.reached
        assert probe.complaints == ("it did not answer within a second",)
        assert probe.seconds < 1


def test_user_is_greeted_by_name(browser: Client, ana: User, cluster: Cluster) -> None:
    assert "ana" in body(browser)
