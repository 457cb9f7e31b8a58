from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.console.supervisor.rig import Up

Start = Callable[..., Up]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts `up` in a directory of the test, and ends it after the test."""
    started: list[Up] = []

    def begin(name: str = "var", **options: object) -> Up:
        started.append(Up(tmp_path / name, **options))  # type: ignore[arg-type]
        return started[-1]

    yield begin
    for one in started:
        one.close()


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One `up` for the tests of a module that leave it as they found it."""
    directory = tmp_path_factory.mktemp("up")
    started = Up(directory / "var", environ={"BANDMASTER_TICK_SECONDS": "2"})
    try:
        yield started.wait_ready()
    finally:
        started.close()
