"""deploy/docker/Dockerfile: small, pinned, nobody's root, and the pods' commands."""

from __future__ import annotations

import re

import pytest

from tests.deploy import manifests

DOCKER = manifests.DEPLOY / "docker"
TEXT = (DOCKER / "Dockerfile").read_text(encoding="utf-8")
BUILD, FINAL = TEXT.split("\nFROM ")[1:]
HEADER = " ".join(
    line.removeprefix("#").strip().removesuffix("\\")
    for line in TEXT.splitlines()
    if line.startswith("#")
)


def _words(text: str) -> str:
    """Options without the ways in which they can be written."""
    return " ".join(text.replace("=", " ").split())


def test_both_stages_start_from_the_base_that_is_asked_for() -> None:
    assert re.search(r"^ARG BASE=\S+:\d+\.\d+-slim-\w+$", TEXT, flags=re.MULTILINE)
    assert BUILD.startswith("${BASE} AS build")
    assert FINAL.startswith("${BASE}\n")


def test_packages_are_those_of_the_pins() -> None:
    assert "--require-hashes" in BUILD
    assert "--only-binary :all:" in BUILD
    assert "requirements-dev" not in TEXT


def test_the_final_stage_installs_nothing_and_has_no_pip() -> None:
    assert not re.search(r"\b(?:pip|apt-get|curl)\b", FINAL)
    assert "--without-pip /opt/venv" in BUILD
    assert re.findall(r"COPY --from=build (\S+)", FINAL) == [
        "/opt/venv",
        "/opt/bandmaster",
    ]


def test_the_process_is_the_user_that_the_pods_name() -> None:
    context = manifests.workload("web").pod["securityContext"]
    user, group = context["runAsUser"], context["runAsGroup"]
    assert f"USER {user}:{group}" in FINAL
    assert f"chown {user}:{group} /data" in FINAL


def test_what_is_written_is_a_volume_in_image_and_pods() -> None:
    assert 'VOLUME ["/data", "/tmp"]' in FINAL
    assert "BANDMASTER_DATA_DIR=/data" in FINAL
    for name in ("web", "extender", "worker", "beat", "migrate"):
        for container in manifests.workload(name).containers:
            mounted = {one["mountPath"] for one in container["volumeMounts"]}
            assert {"/data", "/tmp"} <= mounted


@pytest.mark.parametrize("name", ["web", "extender", "worker", "beat"])
def test_the_documented_command_is_the_pods(name: str) -> None:
    command = " ".join(manifests.workload(name).containers[0]["command"])
    assert _words(command) in _words(HEADER)


def test_the_context_holds_what_is_copied_and_nothing_else() -> None:
    ignore = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8")
    let_in = {line[1:] for line in ignore.splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY ((?!--)[^\n]+)", BUILD, flags=re.MULTILINE)
    sources = {word for line in copied for word in line.split()[:-1]}
    assert let_in == sources
    for source in sources:
        assert (manifests.ROOT / source).exists()
