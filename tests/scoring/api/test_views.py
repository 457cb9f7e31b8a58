"""The API: clusters, collections, the ranking, and the schema that describes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from scoring import snapshot as snapshots
from scoring.explain import current
from scoring.models import Cluster
from tests import rows

ROOT = "/api/v1/"


@pytest.fixture(autouse=True)
def own_state(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(snapshots._cache, "newest", {})
    monkeypatch.setattr(current, "_previous", {})


@pytest.fixture
def program(client: Client, db: None) -> Client:
    client.force_login(rows.make_user(admin=False))
    return client


@pytest.fixture
def cluster(db: None) -> Cluster:
    return rows.make_cluster()


def get(client: Client, path: str, status: int = 200) -> Any:
    answer = client.get(ROOT + path)
    assert answer.status_code == status
    return answer.json()


@pytest.mark.parametrize("path", ["clusters", "clusters/default/nodes"])
def test_strangers_get_403(client: Client, cluster: Cluster, path: str) -> None:
    get(client, path, 403)


def test_clusters(program: Client, cluster: Cluster) -> None:
    assert [row["name"] for row in get(program, "clusters")] == ["default"]
    one = get(program, "clusters/default")
    assert (one["tick_seconds"], one["neutral"]) == (15, False)
    assert "extender_url" not in one  # it may carry a secret


def test_ticks_newest_first(program: Client, cluster: Cluster) -> None:
    rows.collected(cluster, rows.draft((rows.node(1),)))
    rows.failed_tick(cluster, prometheus_error="Prometheus is down: start it")
    outcomes = [
        (row["outcome"], row["prometheus_error"])
        for row in get(program, "clusters/default/ticks")
    ]
    assert outcomes == [("failed", "Prometheus is down: start it"), ("ok", "")]


def test_ranking(program: Client, cluster: Cluster) -> None:
    draft = rows.draft(tuple(rows.node(i) for i in range(3)))
    rows.collected(cluster, rows.without_data(draft, 2))
    page = get(program, "clusters/default/nodes?sort=name")
    assert (page["count"], page["page"], page["pages"]) == (3, 1, 1)
    assert (page["scheduler_name"], page["revision"]) == ("default-scheduler", 1)
    first, _, last = page["nodes"]
    assert first["name"] == "node-0000"
    assert first["capacity_megabits_per_second"] == 10_000
    assert isinstance(first["sent"], int)
    assert last["receive_megabits_per_second"] is None
    assert last["data_age_seconds"] is None
    assert last["age"] == "missing"


def test_ranking_filters_like_the_page(program: Client, cluster: Cluster) -> None:
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(6))))
    page = get(program, "clusters/default/nodes?zone=zone-a&sort=-name")
    assert [row["name"] for row in page["nodes"]] == ["node-0003", "node-0000"]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("clusters/default/nodes", "Nothing has been collected yet"),
        ("clusters/default/nodes?scheduler_name=other", "No published policy matches"),
        ("clusters/nowhere/nodes", "No Cluster matches"),
    ],
)
def test_404_says_why(
    program: Client, cluster: Cluster, path: str, sentence: str
) -> None:
    assert sentence in get(program, path, 404)["detail"]


def test_schema_names_every_path(program: Client, cluster: Cluster) -> None:
    answer = program.get(ROOT + "schema", headers={"accept": "application/json"})
    paths = answer.json()["paths"]
    assert "/api/v1/clusters/{cluster}/nodes" in paths
    assert "/api/v1/clusters/{cluster}/ticks" in paths
