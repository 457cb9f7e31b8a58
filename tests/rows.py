"""Rows of a cluster for tests of pages: made by the services and the real codec."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
from django.utils import timezone

from console.models import Revision, SchedulerConfiguration, User
from scoring import snapshot as snapshots
from scoring.framework.policy import PluginSpec, Policy, encode_policy
from scoring.framework.snapshot import (
    CPU,
    RECEIVE,
    SAMPLE_AGE,
    TRANSMIT,
    NodeRow,
    NodeTable,
    Snapshot,
)
from scoring.framework.types import Quality
from scoring.models import Cluster, Lease, ScoringPolicy, Tick, Version

PASSWORD = "correct horse battery"
GIGABIT = 1.25e8  # bytes per second


def make_user(name: str = "ana", *, admin: bool = True) -> User:
    return User.objects.create_user(
        name, password=PASSWORD, is_staff=admin, is_superuser=admin
    )


def make_cluster(name: str = "default", *, published: bool = True) -> Cluster:
    cluster = Cluster.objects.create(
        name=name, extender_url="http://127.0.0.1:9", tick_seconds=15
    )
    if published:
        publish(cluster)
    return cluster


TRAFFIC = PluginSpec("NetworkTraffic", score=True, weight=5)


def publish(cluster: Cluster, *plugins: PluginSpec, name: str = "main") -> Policy:
    """A configuration with one revision, and its policy for default-scheduler."""
    configuration, _ = SchedulerConfiguration.objects.get_or_create(
        cluster=cluster, name=name
    )
    number = configuration.revisions.count() + 1
    configuration.head = Revision.objects.create(
        configuration=configuration,
        number=number,
        text="apiVersion: kubescheduler.config.k8s.io/v1",
        sha256="0" * 64,
        author="ana",
        message="First configuration: bandwidth-aware",
        compiled_revision=1,
        stock_document="",
    )
    configuration.save()
    chosen = plugins or (TRAFFIC,)
    policy = Policy(
        configuration=name,
        compiled_revision=1,
        revision=number,
        source_sha256="0" * 64,
        scheduler_name="default-scheduler",
        total_weight=max(1, sum(plugin.weight for plugin in chosen)),
        plugins=chosen,
    )
    ScoringPolicy.objects.create(
        cluster=cluster,
        configuration=name,
        compiled_revision=1,
        scheduler_name=policy.scheduler_name,
        revision=number,
        source_sha256=policy.source_sha256,
        document=encode_policy(policy),
    )
    Version.bump(cluster)
    return policy


def node(number: int, **changes: object) -> NodeRow:
    facts: dict[str, object] = {
        "name": f"node-{number:04d}",
        "zone": f"zone-{'abc'[number % 3]}",
        "pool": f"pool-{number % 2 + 1}",
        "receive_capacity": (10 if number % 4 == 0 else 1) * GIGABIT,
        "transmit_capacity": (10 if number % 4 == 0 else 1) * GIGABIT,
        "capacity_origin": "link speed",
        "mapping_rule": "node label",
        "devices": ("eth0",),
    }
    return NodeRow(**{**facts, **changes})  # type: ignore[arg-type]


def draft(rows: tuple[NodeRow, ...], *, seed: int = 1, ago: float = 5) -> Snapshot:
    """Random loads, collected `ago` seconds before now; every sample is 6 s older."""
    random = np.random.default_rng(seed)
    digest, _ = snapshots.encode_table(rows)
    n = len(rows)
    capacity = np.array([row.receive_capacity for row in rows])
    load = random.beta(1.3, 4, n) * capacity
    columns = {
        RECEIVE: load.astype(np.float32),
        TRANSMIT: (load * random.uniform(0.3, 1.2, n)).astype(np.float32),
        CPU: random.uniform(0.02, 0.9, n).astype(np.float32),
        SAMPLE_AGE: np.full(n, 6, np.float32),
    }
    return Snapshot(
        version=0,
        cluster="default",
        collected_at=timezone.now().timestamp() - ago,
        window=60,
        scrape_interval=15,
        table=NodeTable.build(rows, digest),
        columns=columns,
        quality=np.full(n, Quality.MEASURED, np.uint8),
    )


def without_data(draft: Snapshot, *numbers: int) -> Snapshot:
    """The same draft in which these rows have no sample."""
    for column in draft.columns.values():
        column[list(numbers)] = np.nan
    return draft


def collected(cluster: Cluster, draft: Snapshot, **changes: object) -> Tick:
    """Store a draft as a finished tick does."""
    name = snapshots.lease_name(cluster)
    at = timezone.now() - timedelta(seconds=timezone.now().timestamp())
    at += timedelta(seconds=draft.collected_at)
    lease, _ = Lease.objects.get_or_create(name=name, defaults={"until": at})
    Lease.objects.filter(name=name).update(fence=lease.fence + 1)
    tick = Tick.objects.create(
        cluster=cluster,
        fence=lease.fence + 1,
        started_at=at,
        finished_at=at,
        outcome=Tick.Outcome.OK,
        nodes=len(draft.table),
        nodes_with_data=int(np.isfinite(draft.columns[RECEIVE]).sum()),
        durations={"receive": 0.012, "transmit": 0.011, "age": 0.006, "cpu": 0.02},
        **changes,
    )
    _, blob = snapshots.encode_table(draft.table.rows)
    tick.snapshot = snapshots.save(cluster, draft, blob, tick=tick)
    tick.save(update_fields=["snapshot"])
    return tick


def failed_tick(cluster: Cluster, **errors: str) -> Tick:
    """A tick that published nothing."""
    newest = cluster.ticks.order_by("-fence").first()
    now = timezone.now()
    return Tick.objects.create(
        cluster=cluster,
        fence=newest.fence + 1 if newest else 1,
        started_at=now,
        finished_at=now,
        outcome=Tick.Outcome.FAILED,
        **errors,
    )


def motley() -> Snapshot:
    """Forty nodes in every state that a page can show."""
    states: dict[int, dict[str, object]] = {
        0: {"control_plane": True},
        5: {"cause": "No series names this node: label it or its address."},
        7: {"cordoned": True},
        11: {"ready": False},
    }
    table = tuple(node(i, **states.get(i, {})) for i in range(40))
    found = without_data(draft(table), 5)
    found.columns[SAMPLE_AGE][9] = 170
    found.columns[SAMPLE_AGE][13] = 400
    found.quality[16] = Quality.PARTIAL
    return found
