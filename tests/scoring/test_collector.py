from __future__ import annotations

import logging
import time
import urllib.request
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.utils import timezone
from pytest_django import Settings

from scoring import collector, lease, snapshot
from scoring.bandwidth.observation import observe
from scoring.framework.snapshot import RECEIVE, TRANSMIT
from scoring.models import Cluster, PrometheusSource, Snapshot, Tick, Version
from tests.fleet import FleetNode, kubeconfig, node_list, openmetrics
from tests.servers import Reply, Seen, free_port, prometheus, scripted

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
EMPTY = b'{"status":"success","data":{"resultType":"vector","result":[]}}'
HTML = {"Content-Type": "text/html"}


@pytest.fixture(scope="module")
def prometheus_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("prometheus")
    # samples lie ahead, so that the newest is never old while the tests run
    text = openmetrics(NODES, end=time.time() + 120, seconds=420)
    with prometheus(directory, text) as url:
        yield url


@pytest.fixture
def cluster(
    settings: Settings, tmp_path: Path, prometheus_url: str
) -> Iterator[Cluster]:
    collector._slow.clear()
    with scripted(Reply(node_list(NODES))) as api:
        settings.KUBECONFIG = kubeconfig(tmp_path / "kubeconfig", api.url)
        settings.PROMETHEUS_URL = prometheus_url
        settings.PROMETHEUS_SELECTOR = ""
        cluster = Cluster.objects.create(
            name=settings.CLUSTER, extender_url="http://127.0.0.1:1"
        )
        PrometheusSource.objects.create(cluster=cluster)
        yield cluster


def tick(cluster: Cluster) -> Tick:
    done = collector.tick(cluster.name, owner="test")
    assert done is not None
    done.refresh_from_db()
    assert done.finished_at is not None
    return done


def test_a_tick_publishes_what_prometheus_knows(cluster: Cluster) -> None:
    done = tick(cluster)
    assert (done.prometheus_error, done.cluster_error, done.warnings) == ("", "", [])
    assert done.outcome == Tick.Outcome.PARTIAL, "worker-4 has no data"
    assert (done.nodes, done.nodes_with_data) == (4, 3)
    assert {"receive", "transmit", "age", "cpu", "speed"} <= set(done.durations)
    seen = snapshot.latest(cluster)
    assert seen is not None
    assert seen.version == done.snapshot_id
    assert (seen.window, seen.scrape_interval) == (60.0, 15.0)
    np.testing.assert_allclose(seen.column(RECEIVE), [2e6, 8e6, 2e6, np.nan], rtol=1e-3)
    np.testing.assert_allclose(
        seen.column(TRANSMIT), [1e6, 5e5, 1e6, np.nan], rtol=1e-3
    )
    assert [row.mapping_rule for row in seen.table.rows] == [
        "instance without port",
        "node address",
        "instance without port",
        "",
    ]
    assert [row.capacity_origin for row in seen.table.rows] == [
        *["link speed"] * 3,
        "fleet median",
    ]
    assert seen.table.rows[2].devices == ("eth0", "eth1")
    assert Version.objects.get(cluster=cluster).counter == 1


def test_a_selector_narrows_every_query(cluster: Cluster, settings: Settings) -> None:
    settings.PROMETHEUS_SELECTOR = 'instance="worker-1:9100"'
    done = tick(cluster)
    assert (done.nodes, done.nodes_with_data) == (4, 1)


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(Reply(b"<html>", 200, HTML), "HTML page", id="login page"),
        pytest.param(Reply(b"", 401), "asks for credentials", id="401"),
        pytest.param(Reply(b"", 503), "is not ready (503)", id="503"),
        pytest.param(Reply(EMPTY, cut=9), "cut short", id="truncated"),
        pytest.param(Reply(EMPTY, delay=30), "too slow", id="slow"),
        pytest.param(Reply(EMPTY), "check that node_exporter is scraped", id="empty"),
    ],
)
def test_a_prometheus_fault_keeps_the_last_good_snapshot(
    cluster: Cluster, settings: Settings, reply: Reply, expected: str
) -> None:
    good = tick(cluster)
    Cluster.objects.update(tick_seconds=1)
    with scripted(reply) as server:
        settings.PROMETHEUS_URL = server.url
        started = time.monotonic()
        bad = tick(cluster)
        assert time.monotonic() - started < 8, "a tick must not wait for the 30 s"
    assert bad.outcome == Tick.Outcome.FAILED
    assert expected in bad.prometheus_error
    assert bad.snapshot is None
    newest = snapshot.latest(cluster)
    assert newest is not None
    assert newest.version == good.snapshot_id
    assert Version.objects.get(cluster=cluster).counter == 1


@pytest.mark.parametrize(
    ("url", "selector", "expected"),
    [
        pytest.param("", "", "no Prometheus is known", id="no URL"),
        pytest.param(
            f"http://127.0.0.1:{free_port()}", "", "refuses connections", id="wrong URL"
        ),
        pytest.param("http://x", 'a="b"} or x{', "the selector", id="odd selector"),
    ],
)
def test_a_wrong_setting_is_a_sentence(
    cluster: Cluster,
    settings: Settings,
    caplog: pytest.LogCaptureFixture,
    url: str,
    selector: str,
    expected: str,
) -> None:
    settings.PROMETHEUS_URL, settings.PROMETHEUS_SELECTOR = url, selector
    done = tick(cluster)
    assert done.outcome == Tick.Outcome.FAILED
    assert expected in done.prometheus_error
    [logged] = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert expected in logged
    assert "\n" not in logged


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(Reply(b"{}", 403), "grant get and list on nodes", id="403"),
        pytest.param(Reply(b"{}", delay=30), "too slow", id="hangs"),
        pytest.param(Reply(b'{"items": []}'), "lists no node", id="empty"),
    ],
)
def test_without_the_api_server_the_known_nodes_are_used(
    cluster: Cluster, settings: Settings, tmp_path: Path, reply: Reply, expected: str
) -> None:
    tick(cluster)
    Cluster.objects.update(tick_seconds=1)
    with scripted(reply) as api:
        settings.KUBECONFIG = kubeconfig(tmp_path / "other", api.url)
        done = tick(cluster)
    assert done.outcome == Tick.Outcome.PARTIAL
    assert expected in done.cluster_error
    assert (done.nodes, done.nodes_with_data) == (4, 3)
    assert done.snapshot is not None


def test_without_any_known_node_the_tick_fails_with_a_sentence(
    cluster: Cluster, settings: Settings
) -> None:
    settings.KUBECONFIG = "/nowhere/kubeconfig"
    done = tick(cluster)
    assert done.outcome == Tick.Outcome.FAILED
    assert "cannot be read" in done.cluster_error
    assert Snapshot.objects.count() == 0


def passing(url: str, refuse: str, reply: Reply) -> Callable[[Seen], Reply]:
    """Answers queries that hold `refuse` with `reply`, others as `url` does."""

    def answer(seen: Seen) -> Reply:
        if refuse.encode() in seen.body:
            return reply
        request = urllib.request.Request(url + seen.path, seen.body)
        with urllib.request.urlopen(request, timeout=5) as response:
            return Reply(response.read())

    return answer


@pytest.mark.parametrize("metric", ["node_cpu_seconds", "node_network_speed"])
def test_one_query_that_fails_costs_only_its_own_numbers(
    cluster: Cluster, settings: Settings, prometheus_url: str, metric: str
) -> None:
    with scripted(passing(prometheus_url, metric, Reply(b"", 503))) as server:
        settings.PROMETHEUS_URL = server.url
        done = tick(cluster)
    assert done.nodes_with_data == 3
    assert len(done.warnings) == 1
    assert "(503)" in done.warnings[0]


def test_the_words_of_prometheus_reach_the_tick(
    cluster: Cluster, settings: Settings, prometheus_url: str
) -> None:
    def partial(seen: Seen) -> Reply:
        reply = passing(prometheus_url, "nothing at all", Reply())(seen)
        reply.body = reply.body[:-1] + b',"warnings":["store is away"]}'
        return reply

    with scripted(partial) as server:
        settings.PROMETHEUS_URL = server.url
        done = tick(cluster)
    assert "Prometheus: store is away" in done.warnings


def test_an_exporter_at_a_strange_address_is_found_by_its_host_name(
    cluster: Cluster, settings: Settings, tmp_path: Path
) -> None:
    node = FleetNode("worker-9", instance="192.168.7.7:9100")
    end = time.time()
    text = openmetrics([node], end=end).replace(
        "# EOF",
        "# TYPE node_uname_info gauge\nnode_uname_info"
        f'{{instance="{node.exporter}",nodename="Worker-9"}} 1 {end:.3f}\n# EOF',
    )
    with (
        prometheus(tmp_path / "prometheus", text) as url,
        scripted(Reply(node_list([node]))) as api,
    ):
        settings.PROMETHEUS_URL = url
        settings.KUBECONFIG = kubeconfig(tmp_path / "other", api.url)
        first, second = tick(cluster), tick(cluster)
    assert first.nodes_with_data == second.nodes_with_data == 1
    assert "uname" not in second.durations, "asked every five minutes at most"
    seen = snapshot.latest(cluster)
    assert seen is not None
    assert seen.table.rows[0].mapping_rule == "host name of the exporter"


def test_a_held_lease_means_no_tick(cluster: Cluster) -> None:
    now = timezone.now()
    name = snapshot.lease_name(cluster)
    lease.acquire(name, owner="other", now=now, until=now + timedelta(minutes=1))
    assert collector.tick(cluster.name, owner="test") is None
    assert Tick.objects.count() == 0


def test_a_spaced_tick_is_never_doubled(cluster: Cluster) -> None:
    first = collector.tick(cluster.name, owner="test", spaced=True)
    assert first is not None
    assert collector.tick(cluster.name, owner="test", spaced=True) is None
    assert collector.tick(cluster.name, owner="test") is not None, "now means now"
    Tick.objects.update(started_at=timezone.now() - timedelta(seconds=14))
    assert collector.tick(cluster.name, owner="test", spaced=True) is not None


def test_the_time_spent_waiting_for_the_lease_does_not_bring_ticks_closer(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now()
    Tick.objects.create(cluster=cluster, started_at=now - timedelta(seconds=9), fence=0)
    acquire = lease.acquire

    def slowly(name: str, **given: Any) -> int | None:
        monkeypatch.setattr(timezone, "now", lambda: now + timedelta(seconds=3))
        return acquire(name, **given)

    monkeypatch.setattr(timezone, "now", lambda: now)
    monkeypatch.setattr(lease, "acquire", slowly)
    assert collector.tick(cluster.name, owner="test", spaced=True) is None


def test_a_tick_without_its_worker_is_closed_by_the_next(cluster: Cluster) -> None:
    lost = Tick.objects.create(
        cluster=cluster, fence=0, started_at=timezone.now() - timedelta(minutes=1)
    )
    tick(cluster)
    lost.refresh_from_db()
    assert lost.outcome == Tick.Outcome.FAILED
    assert "worker stopped" in lost.prometheus_error


def test_a_late_tick_publishes_nothing(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def overtaken(*arguments: object) -> object:
        later = timezone.now() + timedelta(minutes=5)
        name = snapshot.lease_name(cluster)
        assert lease.acquire(name, owner="other", now=later, until=later)
        return observe(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(collector, "observe", overtaken)
    done = tick(cluster)
    assert done.outcome == Tick.Outcome.FAILED
    assert "another one took over" in done.prometheus_error
    assert Snapshot.objects.count() == 0


def test_a_fault_of_our_own_is_logged_once_and_fails_the_tick(
    cluster: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*_: object) -> None:
        raise ValueError("canary-7\ncanary-8")

    monkeypatch.setattr(collector, "observe", broken)
    done = tick(cluster)
    assert done.outcome == Tick.Outcome.FAILED
    assert "see the worker's log" in done.prometheus_error
    [logged] = [r for r in caplog.records if r.levelno >= logging.ERROR]
    assert "ValueError at test_collector.py" in logged.getMessage()
    assert logged.exc_info is None
    assert "canary" not in caplog.text


def test_no_secret_is_in_the_row_or_the_log(
    cluster: Cluster, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    settings.PROMETHEUS_URL = f"http://user:canary-7@127.0.0.1:{free_port()}"
    done = tick(cluster)
    assert "canary-7" not in done.prometheus_error
    assert "canary-7" not in caplog.text
