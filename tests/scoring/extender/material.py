"""Facts for tests of the extender: a few nodes, their use, and the policies."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping

import msgspec
import numpy as np

from scoring.extender.state import Facts, Stored, build_facts
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

KEY = "correct-horse"
DIGEST = hashlib.sha256(KEY.encode()).hexdigest()
AUTHORIZATION = "Basic " + base64.b64encode(f"bandmaster:{KEY}".encode()).decode()
QUERY = "configuration=main&revision=1&weight=1"
PRIORITIZE = "/extender/default/prioritize"
FILTER = "/extender/default/filter"
GIGABIT = 1.25e8  # bytes per second
NOW = 1_800_000_000.0
USE = {"node-a": 0.05, "node-b": 0.50, "node-c": 0.95}  # share of a gigabit link
TRAFFIC = PluginSpec("NetworkTraffic", score=True, weight=1)
LIMITED = PluginSpec(
    "NetworkTraffic",
    score=True,
    filter=True,
    weight=1,
    args={"maxUtilizationPercent": 80},
)


def snapshot(
    use: Mapping[str, float] = USE,
    *,
    version: int = 1,
    collected_at: float = NOW,
    age: float = 5.0,
) -> Snapshot:
    """Every node with the given share of its link received, sampled `age` s before."""
    from scoring import snapshot as codec  # needs Django; the benchmarks start without

    rows = tuple(
        NodeRow(name, receive_capacity=GIGABIT, transmit_capacity=GIGABIT)
        for name in use
    )
    digest, _ = codec.encode_table(rows)
    shares = np.array(list(use.values()), np.float32)
    columns = {
        RECEIVE: shares * np.float32(GIGABIT),
        TRANSMIT: np.zeros_like(shares),
        CPU: shares,
        SAMPLE_AGE: np.full(len(rows), age, np.float32),
    }
    return Snapshot(
        version=version,
        cluster="default",
        collected_at=collected_at,
        window=60,
        scrape_interval=15,
        table=NodeTable.build(rows, digest),
        columns=columns,
        quality=np.full(len(rows), Quality.MEASURED, np.uint8),
    )


def fleet(nodes: int) -> dict[str, float]:
    """Names of the length that clouds give, each with its share of the link."""
    zone = "eu-central-1.compute.internal"
    return {
        f"ip-10-{i // 65536}-{i // 256 % 256}-{i % 256}.{zone}": (i * 37 % 101) / 101
        for i in range(nodes)
    }


def extender_args(names: list[str]) -> bytes:
    """A call of kube-scheduler with names, for a pod of default-scheduler."""
    pod = {
        "metadata": {"name": "web-0"},
        "spec": {"schedulerName": "default-scheduler"},
    }
    return msgspec.json.encode({"Pod": pod, "Nodes": None, "NodeNames": names})


def policy(
    *plugins: PluginSpec,
    configuration: str = "main",
    compiled: int = 1,
    revision: int = 1,
    scheduler: str = "default-scheduler",
) -> bytes:
    """A stored policy; NetworkTraffic as Score of weight 1 when nothing is said."""
    chosen = plugins or (TRAFFIC,)
    return encode_policy(
        Policy(
            configuration=configuration,
            compiled_revision=compiled,
            revision=revision,
            source_sha256="0" * 64,
            scheduler_name=scheduler,
            total_weight=max(1, sum(plugin.weight for plugin in chosen)),
            plugins=chosen,
        )
    )


def of_another_release(document: bytes) -> bytes:
    """The same policy with a schema version that no release of ours knows."""
    return msgspec.json.encode({**msgspec.json.decode(document), "schema_version": 99})


def facts(
    *documents: bytes,
    of: Snapshot | None = None,
    counter: int = 1,
    neutral: str | None = None,
    keys: tuple[str, ...] = (DIGEST,),
) -> Facts:
    """Facts of cluster "default"; one policy when none is given."""
    return build_facts(
        Stored(
            cluster="default",
            counter=counter,
            keys=frozenset(keys),
            neutral_reason=neutral,
            documents=documents or (policy(),),
            snapshot=of,
        )
    )
