"""docs/operations.md: its commands exist, and name what exists."""

from __future__ import annotations

import io
import re
import shlex
from pathlib import Path

import pytest
from django.core.management import call_command, get_commands, load_command_class
from pytest_django import Settings

from console.kubescheduler.compiler import KEY_PLACEHOLDER
from console.services import people
from scoring.models import Cluster
from tests.deploy import manifests
from tests.deploy.manifests import SECOND_SCHEDULER

TEXT = (manifests.ROOT / "docs/operations.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"^ *```\n(.*?)^ *```", TEXT, flags=re.MULTILINE | re.S))
LINES = BLOCKS.replace("\\\n", " ").splitlines()
OUTSIDE = re.compile(r"\s(?:>|<|\||#)\s?.*$|;.*$")


def _manage_calls() -> list[list[str]]:
    found = []
    for line in LINES:
        if "manage.py" in line and "'" not in line:
            call = OUTSIDE.sub("", line.partition("manage.py ")[2])
            found.append(shlex.split(call))
    return found


@pytest.mark.parametrize("call", _manage_calls(), ids=" ".join)
def test_commands_take_these_arguments(call: list[str]) -> None:
    name, *arguments = call
    command = load_command_class(get_commands()[name], name)
    command.create_parser("manage.py", name).parse_args(arguments)


def test_commands_are_found_at_all() -> None:
    assert len(_manage_calls()) >= 5


def test_folders_and_files_exist() -> None:
    paths = set(re.findall(r"\bdeploy/(?:docker|kustomize|monitoring)[\w./-]*", TEXT))
    assert len(paths) > 5
    for path in paths:
        assert (manifests.ROOT / path.rstrip(".")).exists(), path


def test_objects_exist() -> None:
    kinds = {"deploy": "Deployment", "deployment": "Deployment", "service": "Service"}
    kinds["job"] = "Job"
    found = re.findall(r"\b(deploy|deployment|service|job)/([a-z-]+)", BLOCKS)
    assert len(found) > 5
    for kind, name in found:
        if name not in {"kustomize", "monitoring", "docker"}:
            assert name in manifests.of_kind(kinds[kind]), name


def test_the_secret_has_every_key_that_a_pod_mounts() -> None:
    made = set(re.findall(r"--from-literal=([a-z-]+)=", BLOCKS))
    mounted = {
        item["key"]
        for pods in manifests.workloads()
        for volume in pods.pod.get("volumes", [])
        if volume["name"] == "secrets"
        for item in volume["secret"]["items"]
    }
    assert made == mounted


def test_the_table_has_every_process_with_its_replicas() -> None:
    rows = dict(re.findall(r"^\| (\w+) \| (\d) \|", TEXT, flags=re.MULTILINE))
    assert {name: int(count) for name, count in rows.items()} == {
        name: manifests.workload(name).spec["replicas"]
        for name in ("web", "extender", "worker", "beat")
    }


@pytest.mark.django_db
def test_the_second_schedulers_document_is_published_and_fetched(
    settings: Settings, tmp_path: Path
) -> None:
    settings.EXTENDER_KEY = "a-key-of-this-test"
    settings.EXTENDER_URL = manifests.literals(manifests.BASE)[
        "BANDMASTER_EXTENDER_URL"
    ]
    call_command("bootstrap", password_file=tmp_path / "password")
    call_command(
        "publish_configuration",
        str(SECOND_SCHEDULER / "document.yaml"),
        "--configuration=main",
        "--target=second-scheduler",
        f"--as={people.FIRST_ADMIN}",
        "--message=second scheduler",
        stdout=io.StringIO(),
        stderr=io.StringIO(),
    )
    fetched = io.StringIO()
    call_command(
        *("compile_configuration", "--configuration=main", "--with-key"),
        stdout=fetched,
    )
    shipped = (SECOND_SCHEDULER / "config.yaml").read_text(encoding="utf-8")
    expected = shipped.replace(KEY_PLACEHOLDER, "a-key-of-this-test")
    assert fetched.getvalue() == expected.replace("revision=1&", "revision=2&")


@pytest.mark.django_db
def test_old_keys_are_forgotten_by_the_command_in_the_text(
    settings: Settings, tmp_path: Path
) -> None:
    for key in ("the-old-key", "the-new-key"):
        settings.EXTENDER_KEY = key
        call_command("bootstrap", password_file=tmp_path / "password")
    cluster = Cluster.objects.get()
    assert cluster.extender_keys.count() == 2
    newest = cluster.extender_keys.latest("pk")
    (code,) = re.findall(r"shell -c\s+'([^']+)'", BLOCKS.replace("\\\n", " "))
    exec(code, {})
    assert list(cluster.extender_keys.all()) == [newest]
