"""A real API server takes every object, and each account can do its work with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scoring.cluster import ClusterAccess, list_nodes
from tests.components import missing, require
from tests.deploy import manifests
from tests.deploy.manifests import ALL_IN_ONE, SECOND_SCHEDULER
from tools.lab import build
from tools.lab.api import Api, ApiError
from tools.lab.controlplane import ControlPlane
from tools.lab.objects import BareNode
from tools.lab.processes import wait_until

pytestmark = pytest.mark.e2e_long  # kubectl is no part of what CI installs

LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/bandmaster-main"
PODS = "/api/v1/namespaces/bandmaster/pods"
ACCOUNTS = "/api/v1/namespaces/bandmaster/serviceaccounts"


def _apply(plane: ControlPlane, folder: Path) -> str:
    """Warnings of the server; the test fails when it refuses an object."""
    done = subprocess.run(
        [
            *(require("kubectl"), "--kubeconfig", plane.kubeconfig, "apply"),
            *("--server-side", "--validate=strict", "--kustomize", folder),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return "\n".join(line for line in done.stderr.splitlines() if "Warning" in line)


@pytest.fixture(scope="module")
def warnings() -> dict[str, str]:
    """What the server warned of, by folder."""
    return {}


@pytest.fixture(scope="module")
def plane(
    tmp_path_factory: pytest.TempPathFactory, warnings: dict[str, str]
) -> Iterator[ControlPlane]:
    require("kubectl")
    version = build.newest_built(os.environ)
    if version is None:
        missing("Kubernetes is not built: run python -m tools.lab.build")
    programs = build.program_directory(version, os.environ)
    with ControlPlane(programs, tmp_path_factory.mktemp("plane")) as plane:
        plane.create_nodes(
            [BareNode("quiet", "10.0.0.1"), BareNode("busy", "10.0.0.2")]
        )
        for folder in (ALL_IN_ONE, SECOND_SCHEDULER):
            warnings[folder.name] = _apply(plane, folder)
        yield plane


def _token(plane: ControlPlane, account: str) -> str:
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
    path = f"{ACCOUNTS}/{account}/token"
    answer = plane.api.json("POST", path, {**request, "spec": {}})
    return str(answer["status"]["token"])


def _kubeconfig(plane: ControlPlane, account: str, folder: Path) -> Path:
    """The plane's kubeconfig with this account's token."""
    content = yaml.safe_load(plane.kubeconfig.read_text(encoding="utf-8"))
    content["users"][0]["user"] = {"token": _token(plane, account)}
    path = folder / f"{account}.kubeconfig"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_the_server_warns_of_nothing(
    plane: ControlPlane, warnings: dict[str, str]
) -> None:
    """It warns when pods would not pass the namespace's restricted standard."""
    assert warnings == {"all-in-one": "", "second-scheduler": ""}


@pytest.mark.parametrize("name", [one.name for one in manifests.workloads()])
def test_the_namespace_takes_the_pods(plane: ControlPlane, name: str) -> None:
    pod: dict[str, Any] = dict(manifests.workload(name).pod)
    pod["containers"] = [{**one, "image": "x:1"} for one in pod["containers"]]
    pod["initContainers"] = [
        {**one, "image": "x:1"} for one in pod.get("initContainers", [])
    ]
    pod["volumes"] = [
        *pod.get("volumes", []),
        *(
            {"name": claim["metadata"]["name"], "emptyDir": {}}
            for claim in manifests.workload(name).spec.get("volumeClaimTemplates", [])
        ),
    ]
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": f"trial-{name}"},
        "spec": pod,
    }
    plane.api.json("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", body)


def test_the_worker_lists_nodes_with_its_own_account(
    plane: ControlPlane, tmp_path: Path
) -> None:
    access = ClusterAccess(kubeconfig=str(_kubeconfig(plane, "worker", tmp_path)))
    assert {row.name for row in list_nodes(access)} == {"quiet", "busy"}


@pytest.mark.parametrize(
    ("account", "path"),
    [
        ("worker", "/api/v1/pods"),
        ("worker", "/api/v1/namespaces/bandmaster/secrets"),
        ("worker", "/api/v1/nodes/quiet"),
        ("web", "/api/v1/nodes"),
        ("extender", "/api/v1/nodes"),
        ("beat", "/api/v1/nodes"),
        ("migrate", "/api/v1/nodes"),
        ("postgres", "/api/v1/nodes"),
        ("redis", "/api/v1/nodes"),
    ],
)
def test_nobody_can_read_more(plane: ControlPlane, account: str, path: str) -> None:
    api = Api(plane.port, _token(plane, account))
    try:
        with pytest.raises(ApiError) as refusal:
            api.text("GET", path)
    finally:
        api.close()
    assert refusal.value.status == 403


def test_the_second_scheduler_leads_and_places_with_its_own_account(
    plane: ControlPlane, tmp_path: Path
) -> None:
    """Without its lease right it would look ready and do nothing."""
    config = yaml.safe_load((SECOND_SCHEDULER / "config.yaml").read_text("utf-8"))
    kubeconfig = str(_kubeconfig(plane, "second-scheduler", tmp_path))
    config["clientConnection"]["kubeconfig"] = kubeconfig
    del config["extenders"]  # no extender runs here
    path = tmp_path / "config.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    scheduler = plane.start_scheduler(path, "--authentication-skip-lookup=true")
    try:
        _place_one(plane)
        assert plane.api.json("GET", LEASE)["spec"]["holderIdentity"]
    finally:
        plane.stop_scheduler(scheduler)


def _place_one(plane: ControlPlane) -> None:
    plane.create_pod(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "placed"},
            "spec": {
                "schedulerName": "bandmaster-scheduler",
                "containers": [{"name": "main", "image": "x:1"}],
            },
        }
    )

    def is_bound() -> bool:
        found = plane.api.json("GET", "/api/v1/namespaces/default/pods/placed")
        return bool(found["spec"].get("nodeName"))

    wait_until("the second scheduler placing a pod", is_bound, 30)
