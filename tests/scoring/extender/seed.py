"""Writes rows for a running extender: `python -m tests.scoring.extender.seed VERB ...`.

The extender is another process with a database of its own, so the rows come from a
process of their own too.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

import django


def create() -> None:
    """A migrated database with a cluster, its key, a policy and a first snapshot."""
    from django.core.management import call_command

    from scoring.models import Cluster, ExtenderKey, PrometheusSource
    from tests.scoring.extender import material

    call_command("migrate", verbosity=0)
    cluster = Cluster.objects.create(name="default", extender_url="http://127.0.0.1:9")
    PrometheusSource.objects.create(cluster=cluster)
    ExtenderKey.objects.create(cluster=cluster, digest=material.DIGEST, secret=b"x")
    policy("1")
    snapshot(*(f"{name}={share}" for name, share in material.USE.items()))


def policy(revision: str) -> None:
    from scoring.models import Cluster, ScoringPolicy, Version
    from tests.scoring.extender import material

    cluster = Cluster.objects.get()
    ScoringPolicy.objects.create(
        cluster=cluster,
        configuration="main",
        compiled_revision=1,
        scheduler_name="default-scheduler",
        revision=int(revision),
        source_sha256="0" * 64,
        document=material.policy(revision=int(revision)),
    )
    Version.bump(cluster)


def snapshot(*shares: str) -> None:
    """NAME=SHARE of a gigabit link, for each node; `fleet=N` makes N nodes."""
    from datetime import UTC, datetime

    from scoring import models
    from scoring import snapshot as codec
    from tests.scoring.extender import material

    use = {name: float(share) for name, _, share in (s.partition("=") for s in shares)}
    if "fleet" in use:
        use = material.fleet(int(use["fleet"]))
    now = time.time()
    draft = material.snapshot(use, collected_at=now)
    cluster = models.Cluster.objects.get()
    digest, blob = codec.encode_table(draft.table.rows)
    table, _ = models.NodeTable.objects.get_or_create(
        cluster=cluster, digest=digest, defaults={"blob": blob}
    )
    models.Snapshot.objects.create(
        cluster=cluster,
        node_table=table,
        schema_version=codec.SCHEMA_VERSION,
        collected_at=datetime.fromtimestamp(now, UTC),
        blob=codec.encode(draft),
    )
    models.Version.bump(cluster)


def neutral(reason: str = "") -> None:
    """The row's kill switch: on with a reason, off without."""
    from scoring.models import Cluster, Version

    Cluster.objects.update(neutral=bool(reason), neutral_reason=reason)
    Version.bump(Cluster.objects.get())


VERBS: dict[str, Callable[..., None]] = {
    "create": create,
    "policy": policy,
    "snapshot": snapshot,
    "neutral": neutral,
}

if __name__ == "__main__":
    os.environ["DJANGO_SETTINGS_MODULE"] = "console.settings_extender"
    django.setup()
    VERBS[sys.argv[1]](*sys.argv[2:])
