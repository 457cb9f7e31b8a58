"""Fills an empty data directory with what the extender needs, for benchmarks.

    python -m benchmarks.extender_state DOCUMENT NODES

publishes the document as configuration `main`, stores one snapshot of that many nodes
(as `bench-node-00000` and so on, with traffic that no two share) and prints the stock
document with the extender key in it. The environment says where, as for the product.
"""

from __future__ import annotations

import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import django
import numpy as np
import numpy.typing as npt

TEN_GIGABIT = 1.25e9  # bytes per second


def main() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings"
    django.setup()
    from django.core.management import call_command

    source, nodes = Path(sys.argv[1]), int(sys.argv[2])
    call_command("migrate", verbosity=0)
    sys.stdout.write(_publish(source.read_text(encoding="utf-8")))
    _store_snapshot(nodes)


def _publish(text: str) -> str:
    from console.services import clusters, configurations, targets

    cluster = clusters.ensure_default_cluster()
    revision = configurations.publish_revision(
        configuration=configurations.create_configuration(cluster=cluster, name="main"),
        text=text,
        options=configurations.RevisionOptions(),
        base=None,
        publication=configurations.Publication("system", "For a benchmark", "cli"),
    )
    return targets.stock_document_with_key(revision)


def _store_snapshot(nodes: int) -> None:
    from scoring import models, snapshot
    from scoring.framework.snapshot import NodeRow, NodeTable, Snapshot

    rows = tuple(
        NodeRow(
            f"bench-node-{i:05d}",
            receive_capacity=TEN_GIGABIT,
            transmit_capacity=TEN_GIGABIT,
        )
        for i in range(nodes)
    )
    digest, table_blob = snapshot.encode_table(rows)
    now = time.time()
    draft = Snapshot(
        version=0,
        cluster="default",
        collected_at=now,
        window=60.0,
        scrape_interval=15.0,
        table=NodeTable.build(rows, digest),
        columns=_columns(nodes),
        quality=np.zeros(nodes, np.uint8),
    )
    cluster = models.Cluster.objects.get(name="default")
    models.Snapshot.objects.create(
        cluster=cluster,
        node_table=models.NodeTable.objects.create(
            cluster=cluster, digest=digest, blob=table_blob
        ),
        schema_version=snapshot.SCHEMA_VERSION,
        collected_at=datetime.fromtimestamp(now, UTC),
        blob=snapshot.encode(draft),
    )
    models.Version.bump(cluster)


def _columns(nodes: int) -> dict[str, npt.NDArray[np.float32]]:
    used = np.random.default_rng(1).permutation(nodes) / nodes * TEN_GIGABIT
    columns = {
        "receive": used,
        "transmit": used / 4,
        "cpu": np.full(nodes, 0.2),
        "sample_age": np.full(nodes, 1.0),
    }
    return {name: column.astype(np.float32) for name, column in columns.items()}


if __name__ == "__main__":
    main()
