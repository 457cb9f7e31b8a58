"""The build of the control plane's programs: what is skipped, and what is said."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.lab import build


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        pytest.param({"BANDMASTER_CACHE": "/c"}, "/c", id="our own variable wins"),
        pytest.param({"XDG_CACHE_HOME": "/x"}, "/x/bandmaster", id="XDG"),
    ],
)
def test_cache_lies_outside_the_tree(environ: dict[str, str], expected: str) -> None:
    assert build.cache_directory(environ) == Path(expected)


@pytest.mark.parametrize("version", build.VERSIONS)
def test_every_module_has_its_sums_committed(version: str) -> None:
    for program in build.programs(version):
        assert (program.module / program.modfile).is_file()
        assert len(program.stamp()) == 64


def test_programs_of_nodes_are_a_module_of_their_own() -> None:
    plane = {program.module for program in build.programs(build.NEWEST)}
    nodes = build.node_programs(build.NEWEST)
    assert [program.name for program in nodes] == [
        "kube-proxy",
        "kubelet",
        "kube-controller-manager",
    ]
    # a change to it may not make CI build the control plane again
    assert plane.isdisjoint(program.module for program in nodes)
    assert all(len(program.stamp()) == 64 for program in nodes)
    # the same release: kubelets newer than their API server are not supported
    versions = {
        line.split()[1]
        for program in (*nodes, *build.programs(build.NEWEST))
        for line in (program.module / program.modfile).read_text().splitlines()
        if line.strip().startswith("k8s.io/kubernetes v")
    }
    assert versions == {f"v{build.NEWEST}"}


def test_versions_have_stamps_of_their_own() -> None:
    newest, older = (
        {program.name: program.stamp() for program in build.programs(version)}
        for version in build.VERSIONS
    )
    assert newest["kube-scheduler"] != older["kube-scheduler"]
    assert newest["etcd"] == older["etcd"]


def test_what_is_built_is_known_by_its_stamp(tmp_path: Path) -> None:
    program = build.programs(build.NEWEST)[0]
    (tmp_path / program.name).write_text("program")
    assert not build.is_built(program, tmp_path)
    (tmp_path / f"{program.name}.stamp").write_text(program.stamp())
    assert build.is_built(program, tmp_path)
    (tmp_path / f"{program.name}.stamp").write_text("another go.sum")
    assert not build.is_built(program, tmp_path)


def test_nothing_built_is_no_version(tmp_path: Path) -> None:
    assert build.newest_built({"BANDMASTER_CACHE": str(tmp_path)}) is None


@pytest.fixture
def go_that_says(tmp_path: Path) -> Path:
    """A directory with a go command; the file `words` beside it is what it says."""
    command = tmp_path / "go"
    command.write_text(f"#!/bin/sh\ncat {tmp_path}/words >&2\nexit 1\n")
    command.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        pytest.param(
            "go: dial tcp: lookup proxy: no such host", "GOPROXY", id="no network"
        ),
        pytest.param("main.go:3: undefined: x", "does not build: main.go", id="code"),
    ],
)
def test_failure_is_one_sentence(
    go_that_says: Path, tmp_path: Path, words: str, sentence: str
) -> None:
    (tmp_path / "words").write_text(words)
    environ = {
        **os.environ,
        "PATH": f"{go_that_says}{os.pathsep}{os.environ['PATH']}",
        "BANDMASTER_CACHE": str(tmp_path / "cache"),
    }
    with pytest.raises(build.BuildError, match=sentence) as caught:
        build.build_version(build.NEWEST, environ)
    assert "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_made_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(build.BuildError, match="BANDMASTER_CACHE"):
        build.build_version(
            build.NEWEST, {"BANDMASTER_CACHE": str(tmp_path / "file" / "cache")}
        )
