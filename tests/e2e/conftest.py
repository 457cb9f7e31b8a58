"""One world for the whole run: starting it takes longer than most tests."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.world import World, running_world
from tools.lab import build


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        ours = "tests/e2e/" in item.path.as_posix()
        if ours and item.get_closest_marker("e2e_long") is None:
            item.add_marker(pytest.mark.e2e)


@pytest.fixture(scope="session")
def whole_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    version = build.newest_built(os.environ)
    if version is None:
        _missing("Kubernetes is not built: run python tools/lab/build.py")
    if shutil.which("prometheus") is None:
        _missing("prometheus is not installed: apt-get install prometheus")
    programs = build.program_directory(str(version), os.environ)
    with running_world(programs, tmp_path_factory.mktemp("world")) as world:
        print(f"\nKubernetes {version}, 12 nodes")
        yield world


@pytest.fixture
def world(whole_world: World) -> Iterator[World]:
    whole_world.reset()
    yield whole_world
    whole_world.reset()


def _missing(what: str) -> None:
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)
