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
