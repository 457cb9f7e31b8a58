"""The tick as it runs: a real worker, broker, database and Prometheus."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scoring.lifeline import DESCRIPTOR_VARIABLE
from tests.fleet import FleetNode, kubeconfig, node_list, openmetrics
from tests.servers import (
    Reply,
    free_port,
    new_postgres,
    postgres,
    prometheus,
    redis,
    scripted,
    wait_until,
)

TICK_SECONDS = 1
ROOT = Path(__file__).resolve().parents[2]
NODES = (FleetNode("worker-1"), FleetNode("worker-2", receive=9e6))
WORKER = """
from console.celery import EMBEDDED_WORKER_ARGV, app
app.start(EMBEDDED_WORKER_ARGV)
"""
PREPARE = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0, skip_checks=True)
from scoring.models import Cluster
Cluster.objects.update_or_create(
    name="default", defaults=dict(extender_url="http://e", tick_seconds={tick})
)
"""


@dataclass(frozen=True, slots=True)
class Installation:
    """An environment with a prepared database, and a look into it."""

    environ: dict[str, str]
    database: str

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        if self.database.startswith("postgres"):
            with psycopg.connect(self.database) as connection:
                return connection.execute(sql.encode()).fetchall()
        path = self.database.removeprefix("sqlite:///")
        with contextlib.closing(sqlite3.connect(path, timeout=10)) as connection:
            return connection.execute(sql).fetchall()

    def ticks(self) -> list[tuple[str, float]]:
        """(outcome, Unix second of the start), oldest first."""
        rows = self.rows("SELECT outcome, started_at FROM scoring_tick ORDER BY id")
        return [(outcome, _seconds(started)) for outcome, started in rows]

    def good(self) -> int:
        return sum(outcome == "ok" for outcome, _ in self.ticks())

    def closest(self) -> float:
        starts = [started for _, started in self.ticks()]
        return min(b - a for a, b in itertools.pairwise(starts))

    @contextlib.contextmanager
    def worker(
        self, log: Path = Path(os.devnull), lifeline: int | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        watched = {} if lifeline is None else {DESCRIPTOR_VARIABLE: str(lifeline)}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", WORKER],
                cwd=ROOT,
                env={**self.environ, **watched},
                pass_fds=() if lifeline is None else (lifeline,),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        try:
            yield process
        finally:
            process.kill()
            process.wait(10)


def _seconds(stored: datetime | str) -> float:
    if isinstance(stored, str):
        stored = datetime.fromisoformat(f"{stored}+00:00")
    return stored.timestamp()


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """A Prometheus that holds the fleet, and the API server's list of it."""
    directory = tmp_path_factory.mktemp("sources")
    # samples lie ahead, so that the last one stays new while the tests run
    text = openmetrics(NODES, end=time.time() + 300, seconds=600, scrape=5)
    with (
        prometheus(directory, text) as url,
        scripted(Reply(node_list(NODES))) as api,
    ):
        yield {
            "BANDMASTER_PROMETHEUS_URL": url,
            "BANDMASTER_KUBECONFIG": kubeconfig(directory / "kubeconfig", api.url),
        }


def prepare(
    directory: Path, sources: dict[str, str], broker_url: str, database_url: str
) -> Installation:
    """An installation with a migrated database and one cluster."""
    environ = {
        **os.environ,
        **sources,
        "DJANGO_SETTINGS_MODULE": "console.settings",
        "BANDMASTER_DATA_DIR": str(directory / "data"),
        "BANDMASTER_TICK_SECONDS": str(TICK_SECONDS),
        "BANDMASTER_BROKER_URL": broker_url,
        "BANDMASTER_DATABASE_URL": database_url,
    }
    script = PREPARE.format(tick=TICK_SECONDS)
    for _ in range(3):  # a busy machine may let a connection wait too long
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=ROOT,
            env=environ,
            check=False,
            timeout=240,
            stderr=subprocess.PIPE,
            text=True,
        )
        if done.returncode == 0:
            break
    assert done.returncode == 0, done.stderr
    return Installation(environ, database_url)


@contextlib.contextmanager
def installation(
    directory: Path, sources: dict[str, str], broker: str, database: str
) -> Iterator[Installation]:
    with contextlib.ExitStack() as stack:
        broker_url = stack.enter_context(redis(directory)) if broker == "redis" else ""
        database_url = (
            stack.enter_context(postgres(directory))
            if database == "postgres"
            else f"sqlite:///{directory / 'bandmaster.sqlite3'}"
        )
        yield prepare(directory, sources, broker_url, database_url)


@pytest.fixture
def embedded(tmp_path: Path, sources: dict[str, str]) -> Iterator[Installation]:
    with installation(tmp_path, sources, "files", "sqlite") as ready:
        yield ready


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
@pytest.mark.parametrize("broker", ["files", "redis"])
def test_ticks_on_every_broker_and_database_survive_a_killed_worker(
    tmp_path: Path, sources: dict[str, str], broker: str, database: str
) -> None:
    with installation(tmp_path, sources, broker, database) as ready:
        with ready.worker() as worker:
            wait_until(lambda: ready.good() >= 2, "two ticks")
            worker.kill()
            worker.wait(10)
        before = len(ready.ticks())
        time.sleep(1.5 * TICK_SECONDS)
        assert len(ready.ticks()) == before, "something still ticks without a worker"
        with ready.worker():
            wait_until(lambda: ready.good() >= before + 2, "ticks after the restart")
        assert ready.closest() >= 0.7 * TICK_SECONDS
        stored = ready.rows("SELECT count(*) FROM scoring_snapshot")[0][0]
        assert stored == ready.good()
        assert ready.rows("SELECT counter FROM scoring_version")[0][0] >= stored
        assert ready.rows("SELECT count(*) FROM scoring_nodetable")[0][0] == 1


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_two_clocks_do_not_double_the_ticks(
    tmp_path: Path, sources: dict[str, str], database: str
) -> None:
    with installation(tmp_path, sources, "files", database) as ready:
        with ready.worker(), ready.worker():
            wait_until(lambda: ready.good() >= 5, "five ticks")
        assert ready.closest() >= 0.7 * TICK_SECONDS


def test_a_database_that_stops_and_comes_back_needs_no_restart(
    tmp_path: Path, sources: dict[str, str]
) -> None:
    server = new_postgres(tmp_path)
    with contextlib.ExitStack() as stack:
        with server.running():
            ready = prepare(tmp_path, sources, "", server.url)
            worker = stack.enter_context(ready.worker())
            wait_until(lambda: ready.good() >= 1, "a tick")
        time.sleep(3 * TICK_SECONDS)
        with server.running():
            before = ready.good()
            wait_until(lambda: ready.good() >= before + 2, "ticks after the return")
            assert worker.poll() is None
            worker.kill()


def test_a_redis_that_stops_and_comes_back_needs_no_restart(
    tmp_path: Path, sources: dict[str, str]
) -> None:
    port, log = free_port(), tmp_path / "worker.log"
    with contextlib.ExitStack() as stack:
        with redis(tmp_path, port) as broker:
            database = f"sqlite:///{tmp_path / 'bandmaster.sqlite3'}"
            ready = prepare(tmp_path, sources, broker, database)
            worker = stack.enter_context(ready.worker(log))
            wait_until(lambda: ready.good() >= 1, "a tick")
        time.sleep(3 * TICK_SECONDS)
        with redis(tmp_path, port):
            before = ready.good()
            wait_until(lambda: ready.good() >= before + 2, "ticks after the return")
            assert worker.poll() is None
            worker.kill()
    assert "Traceback" not in log.read_text()


def test_a_locked_database_only_delays_the_tick(embedded: Installation) -> None:
    with embedded.worker() as worker:
        wait_until(lambda: embedded.good() >= 1, "a tick")
        path = embedded.database.removeprefix("sqlite:///")
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as held:
            held.execute("BEGIN IMMEDIATE")
            time.sleep(3 * TICK_SECONDS)
            held.execute("ROLLBACK")
        before = embedded.good()
        wait_until(lambda: embedded.good() >= before + 2, "ticks after the lock")
        assert worker.poll() is None


def test_worker_ends_with_its_supervisor(embedded: Installation) -> None:
    reader, writer = os.pipe()
    with embedded.worker(lifeline=reader) as worker:
        os.close(reader)
        wait_until(lambda: embedded.good() >= 1, "a tick")
        os.close(writer)
        worker.wait(40)


def test_a_poison_message_does_not_stop_the_worker(embedded: Installation) -> None:
    queue = Path(embedded.environ["BANDMASTER_DATA_DIR"]) / "queue"
    queue.mkdir(parents=True)
    (queue / "0_x.ticks.msg").write_bytes(b"")
    (queue / "0_y.ticks.msg").write_bytes(b'{"body": 1}')
    with embedded.worker() as worker:
        wait_until(lambda: embedded.good() >= 1, "a tick")
        assert worker.poll() is None
        worker.send_signal(signal.SIGTERM)
        worker.wait(40)
    assert not list(queue.glob("*_[xy].*"))
