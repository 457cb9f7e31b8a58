"""Probes, metrics, error pages and headers."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.test import Client

from scoring.models import Cluster
from tests import rows

STRANGE = {"headers": {"host": "10.1.2.3"}}  # a kubelet calls by address


@pytest.mark.parametrize("path", ["/livez", "/livez/"])
def test_livez_needs_no_database_and_no_known_host(client: Client, path: str) -> None:
    answer = client.get(path, **STRANGE)  # type: ignore[arg-type]
    assert (answer.status_code, answer.content) == (200, b"ok\n")


def test_readyz_tells_strangers_nothing(client: Client, cluster: Cluster) -> None:
    rows.failed_tick(cluster, prometheus_error="Prometheus refused the password")
    answer = client.get("/readyz", **STRANGE)  # type: ignore[arg-type]
    assert (answer.status_code, answer.content) == (200, b"ready\n")


def test_readyz_tells_users_everything(browser: Client, cluster: Cluster) -> None:
    rows.failed_tick(cluster, prometheus_error="Prometheus refused the password")
    cluster.neutral, cluster.neutral_reason = True, "drill"
    cluster.save()
    text = browser.get("/readyz").content.decode()
    assert "Prometheus refused the password" in text
    assert "neutral answers are on (console): drill" in text


def test_readyz_with_a_dead_database(client: Client, db: None) -> None:
    target = "console.views.health.Cluster.objects.all"
    with mock.patch(target, side_effect=OperationalError("gone")):
        answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.content == b"not ready\n"


def test_metrics(client: Client, cluster: Cluster) -> None:
    rows.collected(cluster, rows.draft((rows.node(1), rows.node(2))))
    text = client.get("/metrics", **STRANGE).content.decode()  # type: ignore[arg-type]
    assert 'bandmaster_neutral{cluster="default"} 0.0' in text
    assert 'bandmaster_snapshot_age_seconds{cluster="default"}' in text
    nodes = 'bandmaster_nodes{age="fresh",cluster="default",quality="measured"} 2.0'
    assert nodes in text
    assert 'bandmaster_tick_duration_seconds{cluster="default",outcome="ok"}' in text
    query = 'bandmaster_prometheus_query_duration_seconds{query="receive"} 0.012'
    assert query in text
    assert "node-0001" not in text


def test_a_page_with_a_dead_database_is_a_sentence(
    browser: Client, cluster: Cluster
) -> None:
    browser.raise_request_exception = False
    target = "console.views.overview.policies"
    with mock.patch(target, side_effect=OperationalError("gone")):
        answer = browser.get("/c/default/")
    assert answer.status_code == 503
    text = answer.content.decode()
    assert "Pods are still placed" in text
    assert "Traceback" not in text


def test_strict_policy_on_every_page(browser: Client, cluster: Cluster) -> None:
    rows.collected(cluster, rows.draft((rows.node(1), rows.node(2))))
    for path in ("/c/default/", "/c/default/nodes", "/c/default/neutral", "/nowhere"):
        answer = browser.get(path)
        policy = answer["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        text = answer.content.decode()
        assert " style=" not in text
        assert " onclick=" not in text


def test_the_admin_has_an_icon_too(client: Client) -> None:
    assert client.get("/favicon.ico")["Location"] == "/static/favicon.svg"


def test_forms_from_elsewhere_change_nothing(cluster: Cluster, ana: Any) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ana)
    answer = client.post("/c/default/neutral", {"on": "1", "reason": "x"})
    assert answer.status_code == 403
    assert "nothing was changed" in answer.content.decode()
