"""A real Go client keeps one connection, whatever the size of the answer."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.components import require
from tests.scoring.extender import granian, material
from tests.scoring.extender.granian import Extender
from tests.scoring.extender.material import FILTER, KEY, PRIORITIZE, QUERY

SOURCE = Path(__file__).parent / "goclient"
CALLS = 600


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Path:
    program = tmp_path_factory.mktemp("go") / "goclient"
    subprocess.run(
        [require("go"), "build", "-o", str(program), "."],
        cwd=SOURCE,
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
        timeout=300,
    )
    return program


@pytest.fixture(scope="module")
def extender(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extender]:
    extender = granian.new(tmp_path_factory.mktemp("data"))
    extender.seed("snapshot", "fleet=1000")
    with extender.running():
        extender.wait_loaded()
        yield extender


@pytest.mark.parametrize("names", [10, 1000])
@pytest.mark.parametrize("path", [PRIORITIZE, FILTER])
def test_go_opens_one_connection_for_all_calls(
    client: Path, extender: Extender, path: str, names: int
) -> None:
    url = f"http://bandmaster:{KEY}@127.0.0.1:{extender.port}{path}?{QUERY}"
    done = subprocess.run(
        [str(client), "-url", url, "-calls", str(CALLS)],
        input=material.extender_args(list(material.fleet(names))),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert int(done.stdout) >= CALLS - 2, "connections were opened anew"
