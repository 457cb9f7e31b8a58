from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import msgspec
import numpy as np
import pytest
import zstandard
from django.utils import timezone

from scoring import lease, models, snapshot
from scoring.framework.snapshot import (
    COLUMNS,
    CPU,
    RECEIVE,
    SAMPLE_AGE,
    NodeRow,
    NodeTable,
    Snapshot,
)

NOW = 1_700_000_000.25


def rows(count: int) -> tuple[NodeRow, ...]:
    return tuple(
        NodeRow(f"worker-{i}", zone="z", addresses=(f"10.0.0.{i}",), devices=("eth0",))
        for i in range(count)
    )


def draft(count: int = 3, at: float = NOW) -> tuple[Snapshot, bytes]:
    """A snapshot with random values, and the blob of its node table."""
    digest, blob = snapshot.encode_table(rows(count))
    source = np.random.default_rng(7)
    columns = {
        name: source.lognormal(17.0, 1.0, count).astype(np.float32) for name in COLUMNS
    }
    columns[CPU] = source.random(count).astype(np.float32)
    columns[SAMPLE_AGE] = (15 * source.random(count)).astype(np.float32)
    if count:
        columns[RECEIVE][0] = np.nan
    made = Snapshot(
        version=0,
        cluster="default",
        collected_at=at,
        window=60.0,
        scrape_interval=15.0,
        table=NodeTable.build(rows(count), digest),
        columns=columns,
        quality=(np.arange(count) % 4).astype(np.uint8),
        warnings=("partial response",),
    )
    return made, blob


@pytest.mark.parametrize("count", [0, 1, 3, 500])
def test_a_snapshot_comes_back_exactly(count: int) -> None:
    made, blob = draft(count)
    table = snapshot.decode_table(made.table.digest, blob)
    back = snapshot.decode(snapshot.encode(made), table, version=9)
    assert table.rows == made.table.rows
    assert (back.version, back.cluster, back.warnings) == (
        9,
        "default",
        ("partial response",),
    )
    assert (back.collected_at, back.window, back.scrape_interval) == (NOW, 60.0, 15.0)
    for name in COLUMNS:
        assert back.columns[name].tobytes() == made.columns[name].tobytes()
    assert back.quality.tolist() == made.quality.tolist()


def test_at_most_16_bytes_per_node_and_tick() -> None:
    made, _ = draft(5000)
    thinned = replace(made, columns=snapshot.thin(dict(made.columns)))
    assert len(snapshot.encode(thinned)) <= 16 * 5000


def test_thinning_changes_nothing_that_was_measured() -> None:
    made, _ = draft(500)
    thinned = snapshot.thin(dict(made.columns))
    for name, limit in ((RECEIVE, 1e-5), (CPU, 0.0), (SAMPLE_AGE, 0.0)):
        absolute = {CPU: 1 / 8192, SAMPLE_AGE: 1 / 128}.get(name, 0.0)
        np.testing.assert_allclose(
            thinned[name], made.columns[name], rtol=limit, atol=absolute
        )


def test_thinning_keeps_unknown_and_zero() -> None:
    values = np.array([np.nan, 0.0, 1e-30, 3e38], dtype=np.float32)
    thinned = snapshot.thin({RECEIVE: values, CPU: values[:2]})
    assert np.isnan(thinned[RECEIVE][0])
    assert thinned[RECEIVE][1] == 0.0
    assert np.isfinite(thinned[RECEIVE][3])
    assert np.isnan(thinned[CPU][0])


def test_the_digest_names_the_content() -> None:
    digest, blob = snapshot.encode_table(rows(2))
    assert snapshot.encode_table(rows(2)) == (digest, blob)
    assert snapshot.encode_table(rows(3))[0] != digest
    assert len(digest) == 64


def other_schema(blob: bytes) -> bytes:
    body = msgspec.msgpack.decode(zstandard.ZstdDecompressor().decompress(blob))
    if isinstance(body[0], list):
        body[0] = [99, "a field of the future"]
    else:
        body[0] = 99
    return zstandard.ZstdCompressor().compress(msgspec.msgpack.encode(body))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        pytest.param(other_schema, "has schema 99", id="another release"),
        pytest.param(lambda blob: blob[:-4], "damaged", id="cut short"),
        pytest.param(lambda _: b"", "damaged", id="empty"),
        pytest.param(
            lambda _: zstandard.ZstdCompressor().compress(b"\x93"), "damaged", id="odd"
        ),
    ],
)
def test_an_unknown_blob_is_a_sentence(
    spoil: Callable[[bytes], bytes], expected: str
) -> None:
    made, blob = draft()
    with pytest.raises(snapshot.UnknownSchema, match=expected):
        snapshot.decode(spoil(snapshot.encode(made)), made.table, version=1)
    with pytest.raises(snapshot.UnknownSchema, match=expected):
        snapshot.decode_table(made.table.digest, spoil(blob))


def test_a_blob_of_another_table_is_refused() -> None:
    made, _ = draft(3)
    other = NodeTable.build(rows(3), "another digest")
    with pytest.raises(snapshot.UnknownSchema, match="another node table"):
        snapshot.decode(snapshot.encode(made), other, version=1)


@pytest.fixture
def cluster(db: None) -> models.Cluster:
    return models.Cluster.objects.create(name="default", extender_url="http://e")


def begin(cluster: models.Cluster) -> models.Tick:
    """A tick whose fence is the lease's."""
    now = timezone.now()
    name = snapshot.lease_name(cluster)
    fence = lease.acquire(name, owner="o", now=now, until=now + timedelta(minutes=1))
    assert fence is not None
    lease.release(name, fence=fence)
    return models.Tick.objects.create(cluster=cluster, fence=fence, started_at=now)


def test_what_is_saved_is_latest(cluster: models.Cluster) -> None:
    assert snapshot.latest(cluster) is None
    made, blob = draft()
    first = snapshot.save(cluster, made, blob, tick=begin(cluster))
    second = snapshot.save(cluster, made, blob, tick=begin(cluster))
    assert second.pk > first.pk
    newest = snapshot.latest(cluster)
    assert newest is not None
    assert newest.version == second.pk
    assert snapshot.latest(cluster) is newest, "decoded once per version"
    older = snapshot.load(first.pk)
    assert older.table is newest.table, "node tables are shared by digest"
    assert models.NodeTable.objects.count() == 1
    assert models.Version.objects.get(cluster=cluster).counter == 2


def test_a_stale_fence_publishes_nothing(cluster: models.Cluster) -> None:
    late = begin(cluster)
    begin(cluster)
    made, blob = draft()
    with pytest.raises(snapshot.StaleFence):
        snapshot.save(cluster, made, blob, tick=late)
    assert models.Snapshot.objects.count() == 0
    assert models.NodeTable.objects.count() == 0
    assert not models.Version.objects.filter(counter__gt=0).exists()


def test_latest_skips_what_this_release_cannot_read(cluster: models.Cluster) -> None:
    made, blob = draft()
    good = snapshot.save(cluster, made, blob, tick=begin(cluster))
    newer = snapshot.save(cluster, made, blob, tick=begin(cluster))
    models.Snapshot.objects.filter(pk=newer.pk).update(schema_version=99)
    damaged = snapshot.save(cluster, made, blob, tick=begin(cluster))
    models.Snapshot.objects.filter(pk=damaged.pk).update(blob=b"damaged")
    newest = snapshot.latest(cluster)
    assert newest is not None
    assert newest.version == good.pk


def test_a_damaged_node_table_is_written_again(cluster: models.Cluster) -> None:
    made, blob = draft()
    snapshot.save(cluster, made, blob, tick=begin(cluster))
    models.NodeTable.objects.update(blob=b"damaged")
    snapshot._cache.tables.clear()  # as in a new process
    snapshot._cache.newest.clear()
    assert snapshot.latest(cluster) is None
    snapshot.save(cluster, made, None, tick=begin(cluster))
    snapshot._cache.tables.clear()
    found = snapshot.latest(cluster)
    assert found is not None
    assert found.table.rows == rows(3)
    assert models.NodeTable.objects.count() == 1


@pytest.mark.parametrize("place", range(-40, -1, 3))
def test_one_wrong_bit_is_noticed(place: int) -> None:
    made, table_blob = draft(50)
    blob = snapshot.encode(made)
    with pytest.raises(snapshot.UnknownSchema, match="is skipped"):
        snapshot.decode(spoilt(blob, place), made.table, version=1)
    with pytest.raises(snapshot.UnknownSchema, match="is skipped"):
        snapshot.decode_table(made.table.digest, spoilt(table_blob, place))


def test_a_blob_that_claims_to_be_huge_is_refused() -> None:
    head = b"\x28\xb5\x2f\xfd\xe0" + (2**50).to_bytes(8, "little")
    with pytest.raises(snapshot.UnknownSchema, match="is skipped"):
        snapshot.decode_table("digest", head + b"x" * 20)


def spoilt(blob: bytes, place: int) -> bytes:
    """With one bit turned over."""
    changed = bytearray(blob)
    changed[place] ^= 4
    return bytes(changed)


def test_old_rows_go_in_batches_and_the_last_good_one_stays(
    cluster: models.Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "DELETE_BATCH", 2)
    made, blob = draft()
    for _ in range(4):
        snapshot.save(cluster, made, blob, tick=begin(cluster))
    now = timezone.now()
    models.Snapshot.objects.update(collected_at=now - timedelta(hours=49))
    models.Tick.objects.filter(fence=1).update(started_at=now - timedelta(days=91))
    assert snapshot.prune(cluster, now=now) == 3
    assert models.Snapshot.objects.count() == 2
    assert models.Tick.objects.count() == 3
    snapshot.prune(cluster, now=now)
    assert models.Snapshot.objects.count() == 1
    assert snapshot.latest(cluster) is not None
    assert snapshot.prune(cluster, now=now) == 0


def test_unused_node_tables_go(cluster: models.Cluster) -> None:
    made, blob = draft()
    snapshot.save(cluster, made, blob, tick=begin(cluster))
    models.NodeTable.objects.create(cluster=cluster, digest="old", blob=b"")
    now = timezone.now()
    models.NodeTable.objects.update(created_at=now - timedelta(hours=49))
    assert snapshot.prune(cluster, now=now) == 1
    assert models.NodeTable.objects.get().digest == made.table.digest


def test_a_primary_key_used_again_is_another_snapshot(cluster: models.Cluster) -> None:
    made, blob = draft()
    row = snapshot.save(cluster, made, blob, tick=begin(cluster))
    snapshot.latest(cluster)
    other, other_blob = draft(5, at=NOW + 60)
    again = snapshot.save(cluster, other, other_blob, tick=begin(cluster))
    models.Snapshot.objects.filter(pk=row.pk).delete()
    models.Snapshot.objects.filter(pk=again.pk).update(id=row.pk)
    newest = snapshot.latest(cluster)
    assert newest is not None
    assert (newest.version, len(newest.table)) == (row.pk, 5)
