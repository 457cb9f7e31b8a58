from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from scoring import collector, lease, snapshot
from scoring.models import Cluster
from tests.fleet import FleetNode, kubeconfig, node_list, openmetrics
from tests.servers import Reply, free_port, prometheus, scripted

pytestmark = pytest.mark.django_db
NODES = (FleetNode("worker-1"), FleetNode("worker-2"))


@pytest.fixture(scope="module")
def prometheus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    text = openmetrics(NODES, end=time.time() + 60)
    with prometheus(tmp_path_factory.mktemp("prometheus"), text) as url:
        yield url


@pytest.fixture
def cluster(
    settings: Settings, tmp_path: Path, prometheus_url: str
) -> Iterator[Cluster]:
    collector._slow.clear()
    with scripted(Reply(node_list(NODES))) as api:
        settings.KUBECONFIG = kubeconfig(tmp_path / "kubeconfig", api.url)
        settings.PROMETHEUS_URL = prometheus_url
        yield Cluster.objects.create(name=settings.CLUSTER, extender_url="http://e")


def test_one_tick_now(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("collect_scores")
    call_command("collect_scores", "--cluster", cluster.name)
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("ok: 2 of 2 nodes have data, snapshot ")
    assert first != second, "now means now, however new the last tick is"


def test_as_json(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    call_command("collect_scores", "--format", "json")
    facts = json.loads(capsys.readouterr().out)
    assert (facts["outcome"], facts["nodes_with_data"], facts["errors"]) == (
        "ok",
        2,
        [],
    )
    newest = snapshot.latest(cluster)
    assert newest is not None
    assert facts["snapshot"] == newest.version


def test_a_failure_is_a_sentence_and_exit_code_1(
    cluster: Cluster, settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.PROMETHEUS_URL = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(CommandError, match="last one stays in use") as failed:
        call_command("collect_scores")
    assert failed.value.returncode == 1
    captured = capsys.readouterr()
    assert "refuses connections" in captured.err
    assert "Traceback" not in captured.err


def test_an_unknown_cluster_is_exit_code_2() -> None:
    with pytest.raises(CommandError, match="there is no cluster 'nowhere'") as failed:
        call_command("collect_scores", "--cluster", "nowhere")
    assert failed.value.returncode == 2


def test_while_another_collects_it_says_so(cluster: Cluster) -> None:
    now = timezone.now()
    name = snapshot.lease_name(cluster)
    lease.acquire(name, owner="other", now=now, until=now + timedelta(minutes=1))
    with pytest.raises(CommandError, match="another process is collecting"):
        call_command("collect_scores")
