from __future__ import annotations

import pytest
from pytest_django import Settings

from scoring.access import cluster_access, prometheus_access
from scoring.models import Cluster, PrometheusSource

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def environment(settings: Settings) -> None:
    settings.CLUSTER = "default"
    settings.PROMETHEUS_URL = settings.PROMETHEUS_SELECTOR = settings.KUBECONFIG = ""


def cluster(name: str = "default", tick_seconds: int = 15) -> Cluster:
    made = Cluster.objects.create(
        name=name, extender_url="http://e", tick_seconds=tick_seconds
    )
    PrometheusSource.objects.create(cluster=made, url="http://row", selector='a="row"')
    return made


def test_the_row_says_where_prometheus_is() -> None:
    access = prometheus_access(cluster())
    assert (access.url, access.selector) == ("http://row", 'a="row"')


def test_the_environment_wins_for_its_own_cluster(settings: Settings) -> None:
    settings.PROMETHEUS_URL = "http://environment"
    settings.PROMETHEUS_SELECTOR = 'a="environment"'
    settings.KUBECONFIG = "/k"
    own, other = cluster(), cluster("other")
    assert prometheus_access(own).url == "http://environment"
    assert prometheus_access(own).selector == 'a="environment"'
    assert cluster_access(own).kubeconfig == "/k"
    assert prometheus_access(other).url == "http://row"
    assert cluster_access(other).kubeconfig == ""


def test_without_anything_there_is_nothing() -> None:
    bare = Cluster.objects.create(name="bare", extender_url="http://e")
    assert prometheus_access(bare).url == ""
    assert not cluster_access(bare).in_cluster


@pytest.mark.parametrize(("tick", "budget"), [(5, 4.0), (1, 0.8), (3600, 10.0)])
def test_one_answer_never_takes_longer_than_its_tick(tick: int, budget: float) -> None:
    row = cluster(tick_seconds=tick)
    assert prometheus_access(row).read_timeout == pytest.approx(budget)
    assert cluster_access(row).read_timeout == pytest.approx(budget)
