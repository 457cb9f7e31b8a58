from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
import traceback
from pathlib import Path

import pytest

from scoring.cluster import ClusterAccess, ClusterError, list_nodes
from tests.fleet import FleetNode, kubeconfig, node_list
from tests.servers import Reply, Seen, free_port, scripted

NODES = node_list([FleetNode("b"), FleetNode("a")])


def refused(access: ClusterAccess) -> str:
    with pytest.raises(ClusterError) as caught:
        list_nodes(access)
    return str(caught.value)


def test_nodes_are_read_with_what_scoring_needs(tmp_path: Path) -> None:
    node = {
        "metadata": {
            "name": "worker-1",
            "labels": {
                "topology.kubernetes.io/zone": "zone-a",
                "karpenter.sh/nodepool": "big",
                "node-role.kubernetes.io/control-plane": "",
            },
        },
        "spec": {"unschedulable": True},
        "status": {
            "conditions": [
                {"type": "MemoryPressure", "status": "False"},
                {"type": "Ready", "status": "Unknown"},
            ],
            "addresses": [
                {"type": "InternalIP", "address": "10.0.0.1"},
                {"type": "Hostname", "address": "worker-1"},
                {"type": "Odd", "address": "left-out"},
            ],
        },
    }
    with scripted(Reply(json.dumps({"items": [node]}).encode())) as api:
        [row] = list_nodes(ClusterAccess(kubeconfig(tmp_path / "k", api.url)))
        [seen] = api.seen
    assert (row.name, row.zone, row.pool) == ("worker-1", "zone-a", "big")
    assert (row.ready, row.cordoned, row.control_plane) == (False, True, True)
    assert row.addresses == ("10.0.0.1", "worker-1")
    assert seen.path == "/api/v1/nodes?resourceVersion=0"
    assert seen.headers["authorization"] == "Bearer t"


@pytest.mark.parametrize(
    "node",
    [
        pytest.param({"metadata": {"name": "a"}}, id="only a name"),
        pytest.param(
            {
                "metadata": {"name": "a", "labels": None},
                "spec": None,
                "status": {"conditions": None, "addresses": None},
            },
            id="nulls",
        ),
        pytest.param(
            {"metadata": {"name": "a"}, "spec": {"taints": [{"value": None}]}},
            id="fields we do not read are odd",
        ),
    ],
)
def test_a_sparse_node_is_a_node(tmp_path: Path, node: dict[str, object]) -> None:
    with scripted(Reply(json.dumps({"items": [node]}).encode())) as api:
        [row] = list_nodes(ClusterAccess(kubeconfig(tmp_path / "k", api.url)))
    assert (row.name, row.ready) == ("a", False)


def test_pages_are_followed(tmp_path: Path) -> None:
    def pages(seen: Seen) -> Reply:
        if "continue=more" in seen.path:
            return Reply(node_list([FleetNode("a")]))
        first = json.loads(node_list([FleetNode("b")]))
        first["metadata"] = {"continue": "more"}
        return Reply(json.dumps(first).encode())

    with scripted(pages) as api:
        rows = list_nodes(ClusterAccess(kubeconfig(tmp_path / "k", api.url)))
    assert [row.name for row in rows] == ["a", "b"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(Reply(b"{}", 401), "does not accept the credentials", id="401"),
        pytest.param(Reply(b"{}", 403), "grant get and list on nodes", id="403"),
        pytest.param(Reply(b"{}", 500), "answered 500", id="500"),
        pytest.param(
            Reply(b"", 302, {"Location": "http://127.0.0.1:1/"}), "redirect", id="302"
        ),
        pytest.param(Reply(b"<html>"), "not a list of nodes", id="HTML"),
        pytest.param(Reply(NODES, cut=30), "closed the connection", id="cut short"),
        pytest.param(
            Reply(b'{"items":[],"x":%s}' % (b"[" * 9999 + b"]" * 9999)),
            "not a list of nodes",
            id="deep",
        ),
        pytest.param(
            Reply(b'{"items":[{"metadata":{}}]}'), "lists no node", id="no name"
        ),
    ],
)
def test_a_fault_is_one_sentence(tmp_path: Path, reply: Reply, expected: str) -> None:
    with scripted(reply) as api:
        sentence = refused(ClusterAccess(kubeconfig(tmp_path / "k", api.url)))
        assert len(api.seen) == 1, "a request is never repeated"
    assert expected in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(Reply(NODES, delay=30), id="no answer"),
        pytest.param(Reply(NODES, pause=0.05), id="byte by byte"),
    ],
)
def test_an_api_server_that_hangs_ends_in_time(tmp_path: Path, reply: Reply) -> None:
    started = time.monotonic()
    with scripted(reply) as api:
        path = kubeconfig(tmp_path / "k", api.url)
        sentence = refused(ClusterAccess(path, connect_timeout=0.2, read_timeout=0.3))
        assert time.monotonic() - started < 10  # not the 30 s of the server
    assert "too slow" in sentence


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        pytest.param(
            f"http://127.0.0.1:{free_port()}", "refuses connections", id="port"
        ),
        pytest.param("https://no-such-host.invalid", "cannot be resolved", id="name"),
        pytest.param("127.0.0.1:6443", "not an address", id="no scheme"),
        pytest.param("ftp://127.0.0.1", "not an address", id="another scheme"),
        pytest.param("https://[::1", "not an address", id="half a bracket"),
        pytest.param("https://x:99999", "not an address", id="no such port"),
        pytest.param("https://", "not an address", id="no host"),
    ],
)
def test_a_kubeconfig_that_points_nowhere(
    tmp_path: Path, server: str, expected: str
) -> None:
    assert expected in refused(ClusterAccess(kubeconfig(tmp_path / "k", server)))


CERTIFICATE = base64.b64encode(b"no certificate").decode()


@pytest.mark.parametrize(
    "user",
    [
        pytest.param(None, id="no TLS at the other end"),
        pytest.param(
            {
                "client-certificate-data": CERTIFICATE,
                "client-key-data": CERTIFICATE,
            },
            id="no certificate",
        ),
    ],
)
def test_tls_that_fails_is_one_sentence(
    tmp_path: Path, user: dict[str, object] | None
) -> None:
    with scripted(Reply(NODES)) as api:
        server = api.url.replace("http:", "https:")
        sentence = refused(ClusterAccess(kubeconfig(tmp_path / "k", server, user)))
    assert "cannot be asked over TLS" in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "token",
    [
        pytest.param("secret\nword", id="two lines"),
        pytest.param("secret\u8282", id="not ASCII"),
    ],
)
def test_a_token_that_cannot_be_sent_is_not_shown(tmp_path: Path, token: str) -> None:
    with scripted(Reply(NODES)) as api:
        path = kubeconfig(tmp_path / "k", api.url, {"token": token})
        with pytest.raises(ClusterError, match="must be one line") as caught:
            list_nodes(ClusterAccess(path))
    shown = "".join(traceback.format_exception(caught.value))
    assert "secret" not in shown


def test_a_page_that_comes_again_adds_no_node(tmp_path: Path) -> None:
    page = json.loads(NODES) | {"metadata": {"continue": "more"}}
    with scripted(Reply(json.dumps(page).encode())) as api:
        rows = list_nodes(ClusterAccess(kubeconfig(tmp_path / "k", api.url)))
    assert [row.name for row in rows] == ["a", "b"]


def test_an_endless_kubeconfig_is_not_read_to_the_end() -> None:
    assert "larger than 1 MB" in refused(ClusterAccess("/dev/zero"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(None, "cannot be read (FileNotFoundError)", id="missing"),
        pytest.param("a: [", "is not YAML", id="not YAML"),
        pytest.param("[]", "is it a kubeconfig?", id="a list"),
        pytest.param("users: []", "is not complete", id="empty"),
        pytest.param("users: [{user: 3}, x]", "is not complete", id="odd users"),
    ],
)
def test_an_unusable_kubeconfig_is_one_sentence(
    tmp_path: Path, text: str | None, expected: str
) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)
    assert expected in refused(ClusterAccess(str(path)))


@pytest.mark.parametrize(
    "user",
    [
        pytest.param({"exec": {"command": "touch"}}, id="exec"),
        pytest.param({"auth-provider": {"name": "gcp"}}, id="auth-provider"),
    ],
)
def test_a_kubeconfig_that_runs_a_program_is_refused(
    tmp_path: Path, user: dict[str, object]
) -> None:
    path = kubeconfig(tmp_path / "k", "http://127.0.0.1:1", user)
    assert "asks to run a program" in refused(ClusterAccess(path))


def test_a_missing_certificate_is_one_sentence(tmp_path: Path) -> None:
    path = kubeconfig(
        tmp_path / "k", "https://127.0.0.1:1", {"client-certificate": "/nowhere/x"}
    )
    assert "readable files" in refused(ClusterAccess(path))


@pytest.mark.parametrize(
    ("access", "expected"),
    [
        pytest.param(ClusterAccess(), "no API server is known", id="nothing set"),
        pytest.param(
            ClusterAccess(in_cluster=True), "not inside a cluster", id="not in a pod"
        ),
    ],
)
def test_without_a_kubeconfig(access: ClusterAccess, expected: str) -> None:
    assert expected in refused(access)


def test_the_client_s_typed_api_is_not_loaded() -> None:
    code = (
        "import sys, scoring.cluster;"
        "sys.exit(any('core_v1_api' in name for name in sys.modules))"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
