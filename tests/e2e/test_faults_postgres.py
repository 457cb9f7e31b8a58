"""With PostgreSQL: a database that hangs or is gone changes only the freshness."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.documents import SPREAD
from tests.e2e.postgres import PROGRAMS, Postgres
from tests.e2e.product import Product
from tests.e2e.test_faults_own import is_scoring
from tests.e2e.world import World, busy
from tools.lab.processes import wait_until


@pytest.fixture
def database() -> Iterator[Postgres]:
    if not PROGRAMS:
        reason = "PostgreSQL is not installed: apt-get install postgresql"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    with Postgres() as postgres:
        yield postgres


@pytest.fixture
def elsewhere(world: World, database: Postgres, tmp_path: Path) -> Iterator[World]:
    """The same cluster and traffic with a second product, on PostgreSQL."""
    with Product(
        tmp_path / "product",
        prometheus_url=world.proxy.url,
        kubeconfig=world.plane.kubeconfig,
        database_url=database.url,
    ) as product:
        yield dataclasses.replace(world, product=product, stocks={})


def test_pods_schedule_without_their_database(
    elsewhere: World, database: Postgres
) -> None:
    world = elsewhere
    stock = world.publish("spread", SPREAD)
    world.settle(busy("a"))
    with world.scheduling(stock):
        database.hang()
        placed = world.place(10)
        print(f"\n(d) database hung: 10 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 0, "b": 10}
        database.go_on()
        database.stop()
        placed = world.place(10)
        print(f"(d) database stopped: 10 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 0, "b": 10}
        killed = world.product.process_ids()["extender"]
        os.kill(killed, signal.SIGKILL)
        wait_until("it ends", lambda: not Path(f"/proc/{killed}/exe").exists(), 5)
        seconds = wait_until("it scores", lambda: is_new(world, killed), 20)
        print(f"(d) extender restarted without it: scores after {seconds:.1f} s")
        database.start()
        back = time.time()
        world.wait_for_snapshot_after(back)
        placed = world.place(10)
        print(f"(e) database back: 10 pods landed {placed.by_group()}")
        assert placed.by_group() == {"a": 0, "b": 10}


def is_new(world: World, old: int) -> bool:
    """Whether another extender than the old one answers, and with scores."""
    new = world.product.process_ids().get("extender", old)
    return new != old and is_scoring(world)
