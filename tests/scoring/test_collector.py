from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytest_django import Settings

from scoring import collector, snapshot
from scoring.models import Cluster, PrometheusSource, Tick
from tests.fleet import FleetNode, kubeconfig, node_list, openmetrics
from tests.servers import Reply, prometheus, scripted

pytestmark = pytest.mark.django_db

NODES = (
    FleetNode("worker-1", receive=2e6, transmit=1e6),
    FleetNode(
        "worker-2",
        receive=8e6,
        instance="10.0.0.2:9100",
        addresses=(("InternalIP", "10.0.0.2"),),
        speed=3.125e9,
    ),
    FleetNode("worker-3", devices=("eth0", "eth1", "bond0", "veth1", "eth0.100")),
    FleetNode("worker-4", ends=1e6),
)


@pytest.fixture(scope="module")
def prometheus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("prometheus")
    with prometheus(directory, openmetrics(NODES, end=time.time())) as url:
        yield url


@pytest.fixture
def cluster(
    settings: Settings, tmp_path: Path, prometheus_url: str
) -> Iterator[Cluster]:
    collector._slow.clear()
    with scripted(Reply(node_list(NODES))) as api:
        settings.KUBECONFIG = kubeconfig(tmp_path / "kubeconfig", api.url)
        settings.PROMETHEUS_URL = prometheus_url
        cluster = Cluster.objects.create(
            name=settings.CLUSTER, extender_url="http://127.0.0.1:1"
        )
        PrometheusSource.objects.create(cluster=cluster)
        yield cluster


def test_a_tick_publishes_what_prometheus_knows(cluster: Cluster) -> None:
    tick = collector.tick(cluster.name, owner="test")
    assert tick is not None
    assert (tick.prometheus_error, tick.cluster_error) == ("", "")
    assert tick.outcome == Tick.Outcome.PARTIAL
    assert (tick.nodes, tick.nodes_with_data) == (4, 3)
    seen = snapshot.latest(cluster)
    assert seen is not None
    assert seen.version == tick.snapshot_id
    print(seen, tick.durations, tick.warnings)
