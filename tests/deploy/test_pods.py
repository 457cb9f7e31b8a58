"""What every pod of deploy/kustomize keeps to."""

from __future__ import annotations

from typing import Any

import pytest

from tests.deploy import manifests
from tests.deploy.manifests import Workload

PODS = pytest.mark.parametrize(
    "pods", manifests.workloads(), ids=lambda workload: workload.name
)
# the only ones that speak to the API server
WITH_TOKEN = {"worker", "second-scheduler"}
SECRETS = "/run/secrets/bandmaster/"


def test_all_workloads_are_looked_at() -> None:
    assert {one.name for one in manifests.workloads()} == {
        *("web", "extender", "worker", "beat", "migrate"),
        *("postgres", "redis", "second-scheduler"),
    }


@PODS
def test_no_process_is_root_or_can_become_it(pods: Workload) -> None:
    context = pods.pod["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    for container in pods.containers:
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        assert key not in pods.pod


@PODS
def test_only_what_asks_the_api_server_has_a_token(pods: Workload) -> None:
    assert pods.pod["automountServiceAccountToken"] is (pods.name in WITH_TOKEN)
    account = manifests.of_kind("ServiceAccount")[pods.pod["serviceAccountName"]]
    assert account["automountServiceAccountToken"] is False
    assert pods.pod["serviceAccountName"] == pods.name


@PODS
def test_services_set_no_variables(pods: Workload) -> None:
    """A Service of the right name would set BANDMASTER_EXTENDER_PORT to a URL."""
    assert pods.pod["enableServiceLinks"] is False


@PODS
def test_pods_say_what_they_need(pods: Workload) -> None:
    for container in pods.containers:
        resources = container["resources"]
        assert set(resources["requests"]) == {"cpu", "memory"}
        assert "memory" in resources["limits"]
        assert "cpu" not in resources["limits"], "throttling makes answers late"


@PODS
def test_every_volume_is_declared_and_used(pods: Workload) -> None:
    declared = {one["name"] for one in pods.pod.get("volumes", [])}
    declared |= {
        one["metadata"]["name"] for one in pods.spec.get("volumeClaimTemplates", [])
    }
    mounted = {
        mount["name"]
        for one in pods.containers
        for mount in one.get("volumeMounts", [])
    }
    assert mounted == declared


@PODS
def test_files_that_variables_name_come_from_the_secret(pods: Workload) -> None:
    named = {
        variable["value"].removeprefix(SECRETS)
        for container in pods.containers
        for variable in container.get("env", [])
        if variable["name"].endswith("_FILE")
    }
    items: list[dict[str, Any]] = [
        item
        for volume in pods.pod.get("volumes", [])
        if volume["name"] == "secrets"
        for item in volume["secret"]["items"]
    ]
    assert {item["path"] for item in items} == named
    assert all(item["key"] == item["path"] for item in items)


@PODS
def test_selectors_find_their_own_pods(pods: Workload) -> None:
    if pods.kind != "Job":
        assert pods.spec["selector"]["matchLabels"] == pods.labels
    assert pods.labels == {"app.kubernetes.io/name": pods.name}


@PODS
def test_a_drain_or_an_upgrade_leaves_one_at_work(pods: Workload) -> None:
    if pods.spec.get("replicas", 1) == 1:
        return
    assert pods.spec["strategy"]["rollingUpdate"] == {
        "maxSurge": 1,
        "maxUnavailable": 0,
    }
    budget = manifests.of_kind("PodDisruptionBudget")[pods.name]["spec"]
    assert budget["maxUnavailable"] == 1
    assert budget["selector"]["matchLabels"] == pods.labels


@pytest.mark.parametrize("name", ["web", "extender", "worker", "second-scheduler"])
def test_what_matters_has_two_replicas(name: str) -> None:
    assert manifests.workload(name).spec["replicas"] == 2


@pytest.mark.parametrize("name", ["web", "extender"])
def test_calls_go_on_while_a_pod_ends(name: str) -> None:
    pods = manifests.workload(name)
    container = pods.containers[0]
    command = container["lifecycle"]["preStop"]["exec"]["command"]
    assert command[0] == "sleep"
    grace = pods.pod["terminationGracePeriodSeconds"]
    assert int(command[1]) + 5 < grace


def test_no_secret_is_written_down() -> None:
    assert not manifests.of_kind("Secret")
    for folder in manifests.KUSTOMIZATIONS:
        for generated in manifests.kustomization(folder).get("secretGenerator", []):
            assert "literals" not in generated
