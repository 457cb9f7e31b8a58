"""The manifests and the program agree: variables, commands, ports, rights, images."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.test import Client

from console.celery import ROLLOUTS, TICKS
from console.kubescheduler.compiler import (
    KEY_PLACEHOLDER,
    CompileOptions,
    compile_document,
)
from console.kubescheduler.document import decode
from scoring.extender.serve import GRANIAN_ENV
from tests.deploy import manifests
from tests.deploy.manifests import ALL_IN_ONE, BASE, SECOND_SCHEDULER
from tests.docs.test_configuration import settings_read
from tests.scoring.extender.wsgicall import Client as ExtenderClient

PREFIX = "BANDMASTER_"
OURS = ("web", "extender", "worker", "beat", "migrate")
# every right that a role of ours grants: (groups, resources, names, verbs)
RIGHTS: dict[str, list[tuple[list[str], list[str], list[str], list[str]]]] = {
    "bandmaster-worker": [([""], ["nodes"], [], ["list"])],
    "bandmaster-second-scheduler": [
        (["coordination.k8s.io"], ["leases"], ["bandmaster-main"], ["get", "update"])
    ],
}
# account -> (kind of binding, role); an account that is not named has no right
BINDINGS = {
    "worker": {("ClusterRoleBinding", "bandmaster-worker")},
    "second-scheduler": {
        ("ClusterRoleBinding", "system:kube-scheduler"),
        ("ClusterRoleBinding", "system:volume-scheduler"),
        ("RoleBinding", "bandmaster-second-scheduler"),
    },
}


def _variables(name: str) -> dict[str, str]:
    containers = manifests.workload(name).containers
    pairs = itertools.chain.from_iterable(one["env"] for one in containers)
    return {one["name"]: one["value"] for one in pairs}


def _command(name: str) -> list[str]:
    command: list[str] = manifests.workload(name).pod["containers"][0]["command"]
    return command


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_a_setting(name: str) -> None:
    known = settings_read()
    names = {*manifests.literals(BASE), *_variables(name)}
    ours = {one.removeprefix(PREFIX) for one in names if one.startswith(PREFIX)}
    assert ours
    assert {one for one in ours if one.removesuffix("_FILE") not in known} <= {
        one for one in ours if one in known
    }


@pytest.mark.parametrize("name", OURS)
def test_our_pods_take_the_shared_settings(name: str) -> None:
    for container in manifests.workload(name).containers:
        assert container["envFrom"] == [{"configMapRef": {"name": "bandmaster"}}]
        assert container["image"] == "bandmaster"


@pytest.mark.parametrize(
    ("name", "secrets"),
    [
        ("extender", {"DATABASE_URL"}),
        ("beat", {"BROKER_URL"}),
        ("worker", {"DATABASE_URL", "BROKER_URL", "ENCRYPTION_KEY"}),
        ("web", {"DATABASE_URL", "BROKER_URL", "ENCRYPTION_KEY", "SECRET_KEY"}),
        (
            "migrate",
            {"DATABASE_URL", "ENCRYPTION_KEY", "EXTENDER_KEY", "ADMIN_PASSWORD"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_process_gets_the_secrets_that_it_needs(
    name: str, secrets: set[str]
) -> None:
    files = {one for one in _variables(name) if one.endswith("_FILE")}
    assert files == {f"{PREFIX}{one}_FILE" for one in secrets}


def test_the_extender_has_the_environment_that_it_was_measured_with() -> None:
    variables = _variables("extender")
    assert {name: variables.get(name) for name in GRANIAN_ENV} == GRANIAN_ENV
    # the process chooses its own settings; `manage.py neutral` needs the others
    assert "DJANGO_SETTINGS_MODULE" not in variables


def test_the_worker_reads_both_queues() -> None:
    command = _command("worker")
    assert "--pool=prefork" in command
    assert f"--queues={TICKS},{ROLLOUTS}" in command
    assert "--beat" not in command


def test_there_is_one_clock_and_it_writes_nothing() -> None:
    beat = manifests.workload("beat")
    assert beat.spec["replicas"] == 1
    assert beat.spec["strategy"] == {"type": "Recreate"}
    assert "--pidfile=" in _command("beat")


@pytest.mark.parametrize(
    ("name", "port", "option"),
    [("web", 8000, "--bind=0.0.0.0:8000"), ("extender", 8001, "--port=8001")],
)
def test_service_container_and_command_name_one_port(
    name: str, port: int, option: str
) -> None:
    container = manifests.workload(name).containers[0]
    assert container["ports"] == [{"name": "http", "containerPort": port}]
    assert option in container["command"]
    service = manifests.of_kind("Service", BASE)[name]["spec"]
    assert service["ports"] == [{"name": "http", "port": port, "targetPort": "http"}]
    assert service["selector"] == manifests.workload(name).labels


def test_the_scheduler_is_told_the_extenders_service() -> None:
    url = urlsplit(manifests.literals(BASE)["BANDMASTER_EXTENDER_URL"])
    service = manifests.of_kind("Service", BASE)["extender"]
    assert url.hostname == f"extender.{service['metadata']['namespace']}.svc"
    assert url.port == service["spec"]["ports"][0]["port"]


def _probes(name: str) -> dict[str, str]:
    container = manifests.workload(name).containers[0]
    kinds = ("startupProbe", "livenessProbe", "readinessProbe")
    for kind in kinds:
        assert container[kind]["httpGet"]["port"] in {
            one["name"] for one in container["ports"]
        }
    return {kind: container[kind]["httpGet"]["path"] for kind in kinds}


EXPECTED_PROBES = {
    "startupProbe": "/livez",
    "livenessProbe": "/livez",
    "readinessProbe": "/readyz",
}


@pytest.mark.django_db
def test_web_answers_its_probes_to_a_caller_by_address(client: Client) -> None:
    probes = _probes("web")
    assert probes == EXPECTED_PROBES
    for path in probes.values():
        assert client.get(path, HTTP_HOST="10.1.2.3:8000").status_code == 200


def test_the_extender_answers_its_probes_with_nothing_loaded(tmp_path: Path) -> None:
    probes = _probes("extender")
    assert probes == EXPECTED_PROBES
    for path in probes.values():
        assert ExtenderClient(tmp_path).get(path).status == 200


def _rights(role: dict[str, Any]) -> list[Any]:
    return [
        (
            rule["apiGroups"],
            rule["resources"],
            rule.get("resourceNames", []),
            rule["verbs"],
        )
        for rule in role["rules"]
    ]


def test_roles_grant_what_the_table_says_and_nothing_else() -> None:
    roles = {**manifests.of_kind("ClusterRole"), **manifests.of_kind("Role")}
    assert {name: _rights(role) for name, role in roles.items()} == RIGHTS


def test_only_two_accounts_have_a_right() -> None:
    found: dict[str, set[tuple[str, str]]] = {}
    for kind in ("ClusterRoleBinding", "RoleBinding"):
        for binding in manifests.of_kind(kind).values():
            for subject in binding["subjects"]:
                assert subject["kind"] == "ServiceAccount"
                assert subject["namespace"] == "bandmaster"
                granted = (kind, binding["roleRef"]["name"])
                found.setdefault(subject["name"], set()).add(granted)
    assert found == BINDINGS


def test_each_image_is_named_once() -> None:
    set_once = Counter(
        one["name"]
        for folder in manifests.KUSTOMIZATIONS
        for one in manifests.kustomization(folder).get("images", [])
    )
    used = {one["image"] for pods in manifests.workloads() for one in pods.containers}
    assert set(set_once.values()) == {1}
    assert set(set_once) == used


@pytest.mark.parametrize("folder", manifests.KUSTOMIZATIONS, ids=lambda f: f.name)
def test_no_image_is_the_newest_whatever_it_is(folder: Path) -> None:
    for image in manifests.kustomization(folder)["images"]:
        assert image["newTag"] not in {"", "latest"}


def test_policies_name_ports_and_pods_that_exist() -> None:
    names = {one.name for one in manifests.workloads()}
    for policy in manifests.of_kind("NetworkPolicy").values():
        selector = policy["spec"]["podSelector"]
        chosen = set(selector.get("matchLabels", {}).values())
        for expression in selector.get("matchExpressions", []):
            chosen |= set(expression["values"])
        assert chosen <= names
        ports = {
            port["name"]
            for name in chosen
            for container in manifests.workload(name).containers
            for port in container.get("ports", [])
        }
        for rule in policy["spec"].get("ingress", []):
            assert {one["port"] for one in rule["ports"]} <= ports


def test_what_no_policy_names_is_refused() -> None:
    policy = manifests.of_kind("NetworkPolicy", BASE)["default-deny"]["spec"]
    assert policy == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_all_in_one_brings_what_the_base_refers_to() -> None:
    services = manifests.of_kind("Service", ALL_IN_ONE)
    assert set(services) == {"postgres", "redis"}
    assert services["postgres"]["spec"]["ports"][0]["port"] == 5432
    assert services["redis"]["spec"]["ports"][0]["port"] == 6379


def _second_scheduler_config() -> dict[str, Any]:
    config: dict[str, Any] = manifests.load(SECOND_SCHEDULER / "config.yaml")
    return config


def test_the_second_schedulers_document_is_compiled_from_the_one_beside_it() -> None:
    text = (SECOND_SCHEDULER / "document.yaml").read_text(encoding="utf-8")
    document = decode(text).document
    assert document is not None
    options = CompileOptions(
        configuration="main",
        revision=1,
        source_sha256="",
        extender_url=manifests.literals(BASE)["BANDMASTER_EXTENDER_URL"],
        cluster=manifests.literals(BASE)["BANDMASTER_CLUSTER"],
        target="second-scheduler",
        extended_range=False,
        run_by_bandmaster=frozenset(),
    )
    stock = compile_document(document, options=options).stock
    assert (SECOND_SCHEDULER / "config.yaml").read_text(encoding="utf-8") == stock
    assert KEY_PLACEHOLDER in stock


def test_the_second_scheduler_may_hold_the_lease_that_its_document_names() -> None:
    election = _second_scheduler_config()["leaderElection"]
    role = manifests.of_kind("Role", SECOND_SCHEDULER)["bandmaster-second-scheduler"]
    assert role["rules"][0]["resourceNames"] == [election["resourceName"]]
    assert role["metadata"]["namespace"] == election["resourceNamespace"]


def test_every_document_is_a_secret_of_its_own() -> None:
    (generated,) = manifests.kustomization(SECOND_SCHEDULER)["secretGenerator"]
    assert generated["files"] == ["config.yaml"]
    assert generated["options"] == {"immutable": True}
    pods = manifests.workload("second-scheduler")
    assert pods.pod["volumes"][0]["secret"]["secretName"] == generated["name"]
    assert pods.spec["progressDeadlineSeconds"] == 60
