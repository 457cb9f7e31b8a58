"""Reads one cluster's rows for the extender: one tiny query unless they changed."""

from __future__ import annotations

from django import db

from scoring import snapshot as store
from scoring.extender.state import Facts, Stored, build_facts
from scoring.framework.snapshot import Snapshot
from scoring.models import Cluster, ScoringPolicy, Tick, Version


class NoCluster(Exception):
    """The database does not hold the cluster; the text is a sentence."""


class Rows:
    """The door to the database of one extender process.

    Policies never change once written, so their documents are kept and not read again.
    """

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._documents: dict[int, bytes] = {}

    def read(self, known: Facts | None) -> Facts | None:
        """New facts, or None when nothing changed since `known`.

        Raises NoCluster, and the errors of django.db.
        """
        counter = (
            Version.objects.filter(cluster__name=self._cluster)
            .values_list("counter", flat=True)
            .first()
        )
        if known is not None and counter == known.stored.counter:
            return None
        # the counter first: what changes while we read comes with the next poll
        cluster = Cluster.objects.filter(name=self._cluster).first()
        if cluster is None:
            raise NoCluster(
                f"The database holds no cluster {self._cluster}: run "
                "`manage.py bootstrap`, or set BANDMASTER_CLUSTER to one that exists."
            )
        problems: list[str] = []
        snapshot = self._snapshot(cluster, known, problems)
        stored = Stored(
            cluster=self._cluster,
            counter=counter or 0,
            keys=frozenset(cluster.extender_keys.values_list("digest", flat=True)),
            neutral_reason=cluster.neutral_reason if cluster.neutral else None,
            documents=tuple(self._policies(cluster)),
            snapshot=snapshot,
        )
        return build_facts(stored, problems)

    def tick_sentences(self) -> tuple[str, ...]:
        """What the newest finished tick has to say of its sources."""
        row = (
            Tick.objects.filter(cluster__name=self._cluster, finished_at__isnull=False)
            .order_by("-pk")
            .values_list("prometheus_error", "cluster_error")
            .first()
        )
        return tuple(sentence for sentence in row or () if sentence)

    @staticmethod
    def release() -> None:
        """Close connections that are broken or old; the next read opens its own."""
        db.close_old_connections()

    def _policies(self, cluster: Cluster) -> list[bytes]:
        """The two newest revisions of every stock document: the second is a spare."""
        rows = ScoringPolicy.objects.for_extender(cluster).values_list(
            "pk", "configuration", "compiled_revision", "revision"
        )
        revisions: dict[tuple[str, int], list[int]] = {}
        wanted = []
        for pk, configuration, compiled, revision in rows:
            kept = revisions.setdefault((configuration, compiled), [])
            if revision not in kept and len(kept) < 2:
                kept.append(revision)
            if revision in kept:
                wanted.append(pk)
        missing = [pk for pk in wanted if pk not in self._documents]
        read = ScoringPolicy.objects.filter(pk__in=missing)
        fresh = {pk: bytes(blob) for pk, blob in read.values_list("pk", "document")}
        known = {**self._documents, **fresh}
        self._documents = {pk: known[pk] for pk in wanted if pk in known}
        return list(self._documents.values())

    @staticmethod
    def _snapshot(
        cluster: Cluster, known: Facts | None, problems: list[str]
    ) -> Snapshot | None:
        snapshot = store.latest(cluster)
        if snapshot is None and known is not None:
            snapshot = known.stored.snapshot
        newest = cluster.snapshots.order_by("-pk").values_list("pk", flat=True).first()
        if newest is not None and (snapshot is None or newest > snapshot.version):
            problems.append(
                "The newest snapshot is damaged or of another release and is skipped: "
                "if this stays, bring all processes to one release."
            )
        return snapshot
