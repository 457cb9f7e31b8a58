from __future__ import annotations

import pytest
from pytest_django import DjangoAssertNumQueries

from scoring import snapshot as store
from scoring.extender.rows import NoCluster, Rows
from scoring.extender.state import Facts
from scoring.framework.policy import encode_policy
from scoring.models import Cluster, ExtenderKey, ScoringPolicy, Snapshot, Tick, Version
from tests import rows as made
from tests.scoring.extender import material

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_snapshot_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rolled back rows give their keys to the next test; the cache goes by keys."""
    monkeypatch.setattr(store._cache, "newest", {})


def read(rows: Rows, known: Facts | None = None) -> Facts:
    facts = rows.read(known)
    assert facts is not None
    return facts


def test_everything_of_the_cluster_is_read_and_nothing_of_another() -> None:
    cluster, other = made.make_cluster(), made.make_cluster("other")
    for owner, digest in ((cluster, "a" * 64), (other, "b" * 64)):
        ExtenderKey.objects.create(cluster=owner, digest=digest, secret=b"x")
    Cluster.objects.filter(pk=cluster.pk).update(neutral=True, neutral_reason="why")
    made.collected(cluster, made.draft((made.node(1), made.node(2))))
    facts = read(Rows("default"))
    assert facts.stored.keys == {"a" * 64}
    assert facts.stored.neutral_reason == "why"
    assert facts.newest == {"main": 1}
    assert facts.stored.snapshot is not None
    assert [row.name for row in facts.stored.snapshot.table.rows] == [
        "node-0001",
        "node-0002",
    ]
    assert facts.problems == ()


def test_one_query_when_nothing_changed(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    made.make_cluster()
    rows = Rows("default")
    facts = read(rows)
    with django_assert_num_queries(1):
        assert rows.read(facts) is None


def test_any_other_counter_is_a_change_even_a_lower_one() -> None:
    cluster = made.make_cluster()
    rows = Rows("default")
    facts = read(rows)
    Version.objects.filter(cluster=cluster).update(counter=0)
    assert read(rows, facts).stored.counter == 0


def test_documents_are_read_once() -> None:
    cluster = made.make_cluster()
    rows = Rows("default")
    facts = read(rows)
    ScoringPolicy.objects.update(document=b"changed behind our back")
    Version.bump(cluster)
    assert read(rows, facts).stored.documents == facts.stored.documents


def test_of_each_stock_document_the_two_newest_revisions_are_read() -> None:
    cluster = made.make_cluster(published=False)
    for _ in range(4):
        made.publish(cluster)
    facts = read(Rows("default"))
    assert len(facts.stored.documents) == 2
    (rules,) = facts.groups["main", 1]
    assert rules.policy.revision == 4


def test_shadow_policies_are_not_read() -> None:
    cluster = made.make_cluster()
    policy = made.publish(cluster)
    ScoringPolicy.objects.create(
        cluster=cluster,
        configuration="main",
        compiled_revision=1,
        scheduler_name=policy.scheduler_name,
        slot=ScoringPolicy.Slot.SHADOW,
        revision=policy.revision + 1,
        source_sha256="1" * 64,
        document=encode_policy(policy),
    )
    assert len(read(Rows("default")).stored.documents) == 2


def test_a_cluster_that_is_not_there_is_one_sentence() -> None:
    with pytest.raises(NoCluster, match="no cluster default"):
        Rows("default").read(None)


def test_a_snapshot_of_another_release_keeps_the_one_in_use() -> None:
    cluster = made.make_cluster()
    rows = Rows("default")
    facts = material.facts(of=material.snapshot(version=0))
    tick = made.collected(cluster, made.draft((made.node(1),)))
    Snapshot.objects.filter(tick=tick).update(schema_version=99)
    again = read(rows, facts)
    assert again.stored.snapshot is facts.stored.snapshot
    assert len(again.problems) == 1
    assert "another release" in again.problems[0]


def test_the_newest_finished_tick_tells_of_its_sources() -> None:
    cluster = made.make_cluster()
    assert Rows("default").tick_sentences() == ()
    made.collected(
        cluster, made.draft((made.node(1),)), prometheus_error="Prometheus is down."
    )
    Tick.objects.create(cluster=cluster, fence=99, started_at="2026-01-01T00:00Z")
    assert Rows("default").tick_sentences() == ("Prometheus is down.",)
