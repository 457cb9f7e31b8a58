"""The HTTP interfaces, asked by the clients that the product uses."""

from __future__ import annotations

import http.client
import json
import math
import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from prometheus_api_client import PrometheusConnect

from scoring.bandwidth import queries
from scoring.cluster import ClusterAccess, ClusterError, list_nodes
from scoring.prometheus import PrometheusAccess, PrometheusError, instant
from scoring.simulator.cluster import SimulatedCluster
from scoring.simulator.kubeconfig import write_kubeconfig
from scoring.simulator.server import LARGEST_BODY, Server
from tests.scoring.simulation.worlds import START

TOKEN = "a-token"
BOUND = ("standard-01", "standard-02")


@dataclass(slots=True)
class Running:
    """A served cluster whose time the test moves."""

    cluster: SimulatedCluster
    server: Server
    now: float

    @property
    def url(self) -> str:
        return self.server.url

    def live(self, seconds: float) -> None:
        self.now += seconds
        self.cluster.advance()

    def ask(
        self,
        path: str,
        body: bytes | None = None,
        *,
        token: str = TOKEN,
        method: str = "",
    ) -> tuple[int, Any]:
        """Status and decoded JSON, or text."""
        connection = http.client.HTTPConnection(self.url.rpartition("/")[2], timeout=5)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            method = method or ("GET" if body is None else "POST")
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            content = response.read()
        finally:
            connection.close()
        if response.headers["Content-Type"] == "application/json":
            return response.status, json.loads(content)
        return response.status, content.decode()


@pytest.fixture
def running() -> Iterator[Running]:
    made: Running
    now = START

    def clock() -> float:
        return made.now if started else now

    started = False
    cluster = SimulatedCluster(12, random.Random(1), clock=clock)
    server = Server(0, cluster, TOKEN)
    made = Running(cluster, server, now)
    started = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_product_reads_traffic_by_its_own_door(running: Running) -> None:
    access = PrometheusAccess(running.url)
    asked = {
        **queries.tick_queries("", 60),
        "speed": queries.speed_query(""),
        "interval": queries.interval_query(""),
        "uname": queries.uname_query(""),
    }
    for name, query in asked.items():
        found = instant(access, query, time=running.now).series
        assert len(found) == 12, name
        assert all(math.isfinite(one.value) for one in found), name
    devices = {
        one.labels["device"]
        for one in instant(access, asked["receive"], time=running.now).series
    }
    assert devices == {"eth0"}
    assert {
        one.value for one in instant(access, asked["interval"], time=running.now).series
    } == {15.0}


def test_the_time_of_a_query_is_honoured(running: Running) -> None:
    access = PrometheusAccess(running.url)
    running.live(100)
    query = queries.tick_queries("", 60)["age"]
    now = instant(access, query, time=running.now).series
    assert all(one.value < 16 for one in now)
    assert len(instant(access, query, time=running.now - 90).series) == 12
    assert not instant(access, query, time=running.now + 400).series


def test_prometheus_api_client_can_talk_to_it(running: Running) -> None:
    client = PrometheusConnect(url=running.url)
    assert client.check_prometheus_connection()
    found = client.custom_query("max by (instance) (up)", {"time": str(running.now)})
    assert len(found) == 12
    assert found[0]["value"][1] == "1"


def test_a_query_beyond_it_is_refused_in_words(running: Running) -> None:
    access = PrometheusAccess(running.url)
    with pytest.raises(PrometheusError, match=r"\(422\): the simulated Prometheus"):
        instant(access, "quantile(0.9, up)", time=running.now)
    status, said = running.ask("/api/v1/query?query=up&time=soon")
    assert status == 400
    assert said["error"] == 'invalid parameter "time": write Unix seconds or RFC 3339'


def test_queries_come_by_get_and_by_form(running: Running) -> None:
    at = "2027-01-15T08:00:00Z"  # START
    by_get = running.ask(f"/api/v1/query?query=up&time={at}")
    by_form = running.ask("/api/v1/query", f"query=up&time={START}".encode())
    assert by_get == by_form
    assert by_get[1]["data"]["resultType"] == "vector"
    scalar = running.ask(f"/api/v1/query?query=1.5&time={START}", token="")
    assert scalar[1]["data"] == {"resultType": "scalar", "result": [START, "1.5"]}


@pytest.mark.parametrize(
    "path", ["/-/ready", "/-/healthy", "/readyz", "/livez", "/healthz"]
)
def test_health_needs_no_token(running: Running, path: str) -> None:
    assert running.ask(path, token="")[0] == 200


def test_the_product_reads_nodes_by_its_own_door(
    running: Running, tmp_path: Path
) -> None:
    path = tmp_path / "sub" / "kubeconfig"
    write_kubeconfig(path, server=running.url, token=TOKEN)
    rows = list_nodes(ClusterAccess(kubeconfig=str(path)))
    assert len(rows) == 12
    assert [row.name for row in rows if row.control_plane] == ["control-plane-1"]
    assert sum(row.cordoned for row in rows) == 1
    assert all(row.ready and row.zone and row.pool for row in rows)
    write_kubeconfig(path, server=running.url, token="another")
    with pytest.raises(ClusterError, match="401"):
        list_nodes(ClusterAccess(kubeconfig=str(path)))


@pytest.mark.parametrize("token", ["", "wrong", "a-toke", "ü"])
def test_kubernetes_part_is_for_the_token_alone(running: Running, token: str) -> None:
    status, said = running.ask("/api/v1/nodes", token=token)
    assert status == 401
    assert (said["kind"], said["reason"]) == ("Status", "Unauthorized")


def test_pods_are_listed_by_field(running: Running) -> None:
    running.live(20)
    every = running.ask("/api/v1/pods")[1]["items"]
    waiting = running.ask("/api/v1/pods?fieldSelector=spec.nodeName%3D")[1]["items"]
    bound = running.ask("/api/v1/pods?fieldSelector=spec.nodeName!%3D")[1]["items"]
    assert waiting
    assert bound
    assert len(waiting) + len(bound) == len(every)
    assert not any("nodeName" in pod["spec"] for pod in waiting)
    system = running.ask("/api/v1/namespaces/kube-system/pods")[1]["items"]
    assert len(system) == 12
    owner = system[0]["metadata"]["ownerReferences"][0]
    assert (owner["kind"], owner["controller"]) == ("DaemonSet", True)
    name = waiting[0]["metadata"]
    one = running.ask(f"/api/v1/namespaces/{name['namespace']}/pods/{name['name']}")[1]
    assert one == {"apiVersion": "v1", "kind": "Pod", **waiting[0]}


@pytest.mark.parametrize(
    ("path", "status", "sentence"),
    [
        ("/api/v1/pods?fieldSelector=spec.x%3D1", 400, "not a field that can be"),
        ("/api/v1/pods?fieldSelector=spec.nodeName", 400, "needs = or !="),
        ("/api/v1/pods?watch=1&resourceVersion=x", 400, "number that a list gave"),
        ("/api/v1/nodes?watch=true", 405, "cannot be watched"),
        ("/api/v1/nodes/nobody", 404, 'nodes "nobody" not found'),
        ("/api/v1/namespaces/a/pods/b", 404, 'pods "a/b" not found'),
        ("/api/v1/secrets", 404, "no such resource"),
        ("/apis/apps/v1/deployments", 404, "no such resource"),
    ],
)
def test_what_is_not_there_is_a_status(
    running: Running, path: str, status: int, sentence: str
) -> None:
    got, said = running.ask(path)
    assert (got, said["code"], said["kind"]) == (status, status, "Status")
    assert sentence in said["message"]


def test_version_and_single_nodes(running: Running) -> None:
    assert running.ask("/version")[1]["major"] == "1"
    node = running.ask("/api/v1/nodes/small-01")[1]
    assert (node["kind"], node["metadata"]["name"]) == ("Node", "small-01")


def binding(node: str) -> bytes:
    target = {"kind": "Node", "name": node}
    return json.dumps({"kind": "Binding", "target": target}).encode()


def test_a_binding_starts_the_pod(running: Running) -> None:
    running.live(20)
    pod = running.cluster.waiting()[0].pod
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/binding"
    assert running.ask(path, binding("nowhere"))[0] == 409
    assert running.ask(path, b"{}")[0] == 400
    status, said = running.ask(path, binding(BOUND[0]))
    assert (status, said["status"]) == (201, "Success")
    found = running.ask(path.removesuffix("/binding"))[1]
    assert found["spec"]["nodeName"] == BOUND[0]
    assert found["status"]["phase"] == "Running"
    assert running.ask(path, binding(BOUND[1]))[0] == 409
    nobody = "/api/v1/namespaces/shop/pods/nobody/binding"
    assert running.ask(nobody, binding(BOUND[0]))[0] == 404
    assert running.ask("/api/v1/namespaces/shop/pods", b"{}")[0] == 405


def test_a_client_that_goes_away_leaves_no_trace(
    running: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    threads = threading.active_count()
    for _ in range(5):
        follower = Follower(running, "timeoutSeconds=60")
        follower.next()
        follower.close()
    deadline = time.monotonic() + 10
    while threading.active_count() > threads and time.monotonic() < deadline:
        running.live(5)
        time.sleep(0.05)
    assert threading.active_count() <= threads
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize(
    "header",
    [("Content-Length", str(LARGEST_BODY + 1)), ("Transfer-Encoding", "chunked")],
)
def test_too_large_a_body_is_refused_unread(
    running: Running, header: tuple[str, str]
) -> None:
    connection = http.client.HTTPConnection(running.url.rpartition("/")[2], timeout=5)
    connection.putrequest("POST", "/api/v1/query")
    connection.putheader(*header)
    connection.endheaders()
    response = connection.getresponse()
    assert response.status == 413
    assert b"at most 1 MB" in response.read()
    connection.close()


class Follower:
    """A client that watches."""

    def __init__(self, running: Running, query: str) -> None:
        host = running.url.rpartition("/")[2]
        self._connection = http.client.HTTPConnection(host, timeout=10)
        headers = {"Authorization": f"Bearer {TOKEN}"}
        self._connection.request(
            "GET", f"/api/v1/pods?watch=true&{query}", None, headers
        )
        self._response = self._connection.getresponse()
        assert self._response.status == 200

    def next(self) -> tuple[str, dict[str, Any]]:
        """Type and object of the next event; ("", {}) at the end."""
        line = self._response.readline()
        if not line:
            return "", {}
        event = json.loads(line)
        return event["type"], event["object"]

    def close(self) -> None:
        self._response.close()
        self._connection.close()


@pytest.fixture
def followers() -> Iterator[list[Follower]]:
    opened: list[Follower] = []
    yield opened
    for follower in opened:
        follower.close()


def test_a_watch_tells_what_happens_to_pods(
    running: Running, followers: list[Follower]
) -> None:
    version = running.ask("/api/v1/pods")[1]["metadata"]["resourceVersion"]
    where = f"resourceVersion={version}&timeoutSeconds=5"
    followers.append(every := Follower(running, where))
    only = f"{where}&fieldSelector=spec.nodeName%3D,metadata.namespace%3Dshop"
    followers.append(waiting := Follower(running, only))
    running.live(20)
    pod = next(o.pod for o in running.cluster.waiting() if o.pod.namespace == "shop")
    kinds = {pod.name: ["ADDED"]}
    while (told := every.next())[1]["metadata"]["name"] != pod.name:
        assert told[0] in {"ADDED", "DELETED"}
    running.cluster.bind(pod.key, BOUND[0])
    while (told := every.next())[1]["metadata"]["name"] != pod.name:
        pass
    assert told[0] == "MODIFIED"
    assert told[1]["spec"]["nodeName"] == BOUND[0]
    seen: list[str] = []
    while seen[-1:] != ["DELETED"]:  # by the binding it leaves the selection
        kind, found = waiting.next()
        assert found["metadata"]["namespace"] == "shop"
        if found["metadata"]["name"] == pod.name:
            seen.append(kind)
    assert seen == [*kinds[pod.name], "DELETED"]


def test_a_watch_from_nowhere_begins_with_all(
    running: Running, followers: list[Follower]
) -> None:
    count = len(running.cluster.pods()[1])
    followers.append(made := Follower(running, "timeoutSeconds=1"))
    started = time.monotonic()
    kinds = []
    while (told := made.next())[0]:
        kinds.append(told[0])
    assert kinds == ["ADDED"] * count
    assert time.monotonic() - started < 20  # not the minutes of an endless watch


def test_a_watch_that_is_too_far_behind_must_list_again(
    running: Running, followers: list[Follower]
) -> None:
    followers.append(made := Follower(running, "resourceVersion=1&timeoutSeconds=5"))
    running.live(3)
    made.next()
    for _ in range(600):
        running.live(10)
        for one in running.cluster.waiting():
            running.cluster.bind(one.pod.key, BOUND[0])
    followers.append(late := Follower(running, "resourceVersion=2&timeoutSeconds=5"))
    kind, said = late.next()
    assert (kind, said["code"], said["reason"]) == ("ERROR", 410, "Expired")
    assert late.next()[0] == ""


def test_bookmarks_come_when_asked_for(
    running: Running, followers: list[Follower], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("scoring.simulator.kubernetesapi.BOOKMARK_SECONDS", 0.05)
    where = "resourceVersion=1&timeoutSeconds=3"
    followers.append(made := Follower(running, f"{where}&allowWatchBookmarks=true"))
    kind, said = made.next()
    assert kind == "BOOKMARK"
    assert said == {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "1"},
    }
