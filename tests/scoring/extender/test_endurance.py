"""What the extender stands: a fork, a database that hangs, 5,000 nodes."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests import servers
from tests.scoring.extender import granian, material
from tests.scoring.extender.granian import Extender
from tests.scoring.extender.material import FILTER, PRIORITIZE
from tests.servers import wait_until

NAMES = list(material.USE)
LINUX = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")


def revisions(extender: Extender, calls: int) -> set[int]:
    """What as many connections are told, whichever worker takes them."""
    told = [extender.get("/readyz") for _ in range(calls)]
    return {t["policies"][0]["revision"] if t["policies"] else 0 for t in told}


def test_workers_forked_after_loading_follow_the_database(tmp_path: Path) -> None:
    """Threads started before the fork would be dead in every worker."""
    extender = granian.new(tmp_path / "data")
    argv = [
        *(sys.executable, "-m", "gunicorn", "--no-control-socket", "--preload"),
        *("--workers", "2", "--worker-class", "gthread", "--threads", "1"),
        *("--keep-alive", "0", "--bind", f"127.0.0.1:{extender.port}"),
        "console.extender:application",
    ]
    with extender.running(argv):
        wait_until(lambda: revisions(extender, 20) == {1}, "both workers loaded", 30)
        extender.seed("policy", "2")
        wait_until(lambda: revisions(extender, 20) == {2}, "both workers follow", 15)


@contextmanager
def stopped(pids: list[int]) -> Iterator[None]:
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@LINUX
def test_a_database_that_hangs_delays_no_answer(tmp_path: Path) -> None:
    with servers.postgres(tmp_path) as url:
        extender = granian.new(tmp_path / "data", database=url)
        with extender.running():
            extender.wait_loaded()
            (pidfile,) = tmp_path.glob("**/postmaster.pid")
            postmaster = int(pidfile.read_text().split()[0])
            with stopped([*granian.children(postmaster), postmaster]):
                deadline = time.monotonic() + 6
                slowest = 0.0
                while time.monotonic() < deadline:
                    started = time.monotonic()
                    assert len(set(extender.scores(NAMES).values())) == 3
                    slowest = max(slowest, time.monotonic() - started)
                    time.sleep(0.05)
                detail = extender.get("/readyz")["detail"]
                assert any("database has not answered" in s for s in detail), detail
                assert slowest < 2.5, "an answer waited for the database"
            extender.seed("policy", "2")
            wait_until(lambda: revisions(extender, 1) == {2}, "it follows again", 30)
            assert extender.get("/readyz")["detail"] == []


@LINUX
def test_five_thousand_nodes_fit_in_memory(tmp_path: Path) -> None:
    """The benchmark shows that 20,000 calls add nothing; here a few hundred do not."""
    extender = granian.new(tmp_path / "data")
    extender.seed("snapshot", "fleet=5000")
    names = list(material.fleet(5000))
    bodies = [material.extender_args(names[i : i + 500]) for i in range(0, 5000, 500)]
    bodies.append(material.extender_args(names))
    with extender.running() as main:
        extender.wait_loaded()
        (worker,) = granian.children(main.pid)

        def held() -> float:
            return granian.pss_megabytes(main.pid) + granian.pss_megabytes(worker)

        connection = extender.connect()
        sizes = []
        for _ in range(2):
            for i in range(150):
                path = (PRIORITIZE, FILTER)[i % 2]
                granian.post(connection, bodies[i % len(bodies)], path)
            sizes.append(held())
        connection.close()
    assert sizes[1] < 160, "MB, main process and worker"
    assert sizes[1] - sizes[0] < 8, "MB that 150 calls added"
