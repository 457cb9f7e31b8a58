"""Snapshots as blobs: the codec and the store.

A blob is zstd over a msgpack header and the columns, split into byte planes because
the high bytes of neighbouring floats repeat and the low ones do not.
"""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import zstandard
from django.db import connection, transaction
from django.db.models import QuerySet

from scoring import models
from scoring.framework.snapshot import CPU, SAMPLE_AGE, NodeRow, NodeTable, Snapshot
from scoring.framework.types import Bytes8, Floats32

SCHEMA_VERSION = 1
KEEP_SNAPSHOTS = timedelta(hours=48)
KEEP_TICKS = timedelta(days=90)
DELETE_BATCH = 500
VACUUM_PAGES = 500  # 2 MB at most, so that the write lock is held shortly
_LARGEST_BLOB = 256 * 1024 * 1024  # bytes after decompression
_TABLES_CACHED = 8
_NEWEST_TRIED = 20  # snapshots that may be damaged before there is none


class UnknownSchema(Exception):
    """A blob was written by another release; the text says so in a sentence."""


class StaleFence(Exception):
    """Another holder has the lease: what was collected must not be published."""


class _Header(msgspec.Struct, array_like=True):
    schema: int
    table: str
    cluster: str
    collected_at: float
    window: float
    scrape_interval: float
    warnings: tuple[str, ...]
    nodes: int
    columns: tuple[str, ...]


class _Blob(msgspec.Struct, array_like=True):
    header: _Header
    planes: bytes  # float32 columns, then one byte of quality per node


class _Table(msgspec.Struct, array_like=True):
    schema: int
    rows: tuple[NodeRow, ...]


class _Schema(msgspec.Struct, array_like=True):
    """Only the first field of whatever comes."""

    schema: int


class _BlobSchema(msgspec.Struct, array_like=True):
    header: _Schema


def encode(snapshot: Snapshot) -> bytes:
    """The blob of a snapshot, without its version and node table. Loses nothing."""
    count = len(snapshot.table)
    names = tuple(snapshot.columns)
    header = _Header(
        SCHEMA_VERSION,
        snapshot.table.digest,
        snapshot.cluster,
        snapshot.collected_at,
        snapshot.window,
        snapshot.scrape_interval,
        snapshot.warnings,
        count,
        names,
    )
    planes = b"".join(_split(snapshot.columns[name]) for name in names)
    body = _Blob(header, planes + snapshot.quality.astype(np.uint8).tobytes())
    return _compress(msgspec.msgpack.encode(body), level=6)


def decode(blob: bytes, table: NodeTable, *, version: int) -> Snapshot:
    """The snapshot in a blob. `table` must be the one that the blob was made with.

    Raises UnknownSchema for a blob of another release, or one that is damaged.
    """
    raw = _decompress(blob)
    _check_schema(raw, _BlobSchema)
    try:
        body = msgspec.msgpack.decode(raw, type=_Blob)
    except msgspec.DecodeError as exc:
        raise UnknownSchema("the stored snapshot is damaged and is skipped") from exc
    header, count = body.header, body.header.nodes
    if len(body.planes) != count * (4 * len(header.columns) + 1):
        raise UnknownSchema("the stored snapshot is damaged and is skipped")
    if count != len(table) or header.table != table.digest:
        raise UnknownSchema("the stored snapshot belongs to another node table")
    columns = {
        name: _join(body.planes[4 * count * i : 4 * count * (i + 1)])
        for i, name in enumerate(header.columns)
    }
    quality: Bytes8 = np.frombuffer(body.planes[len(body.planes) - count :], np.uint8)
    return Snapshot(
        version=version,
        cluster=header.cluster,
        collected_at=header.collected_at,
        window=header.window,
        scrape_interval=header.scrape_interval,
        table=table,
        columns=columns,
        quality=quality,
        warnings=header.warnings,
    )


def encode_table(rows: tuple[NodeRow, ...]) -> tuple[str, bytes]:
    """The digest that names this exact content, and its blob."""
    content = msgspec.msgpack.encode(_Table(SCHEMA_VERSION, rows))
    return hashlib.sha256(content).hexdigest(), _compress(content, level=3)


def decode_table(digest: str, blob: bytes) -> NodeTable:
    """Raises UnknownSchema for a table of another release, or one that is damaged."""
    raw = _decompress(blob)
    _check_schema(raw, _Schema)
    try:
        table = msgspec.msgpack.decode(raw, type=_Table)
    except msgspec.DecodeError as exc:
        raise UnknownSchema("the stored node table is damaged and is skipped") from exc
    return NodeTable.build(table.rows, digest)


def thin(columns: dict[str, Floats32]) -> dict[str, Floats32]:
    """Values without digits that no measurement has; they are half of the bytes.

    CPU and age go to steps of 1/4096 and 1/64; rates keep 17 bits, seven millionths.
    """
    steps = {CPU: 4096.0, SAMPLE_AGE: 64.0}
    return {
        name: _stepped(values, steps[name]) if name in steps else _shortened(values)
        for name, values in columns.items()
    }


def _stepped(values: Floats32, step: float) -> Floats32:
    stepped: Floats32 = np.floor(values * step + 0.5) / step
    return stepped.astype(np.float32)


def _shortened(values: Floats32) -> Floats32:
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    rounded = (bits + np.uint32(0x40)) & np.uint32(0xFFFFFF80)
    return np.where(np.isfinite(values), rounded.view(np.float32), values)


def _split(values: Floats32) -> bytes:
    cells = np.ascontiguousarray(values, dtype="<f4").view(np.uint8).reshape(-1, 4)
    return cells.T.tobytes()


def _join(planes: bytes) -> Floats32:
    cells = np.frombuffer(planes, np.uint8).reshape(4, -1).T
    return np.ascontiguousarray(cells).view("<f4").ravel()


def _compress(content: bytes, *, level: int) -> bytes:
    """With a checksum, so that no damage passes for a measurement."""
    compressor = zstandard.ZstdCompressor(level=level, write_checksum=True)
    return compressor.compress(content)


def _decompress(blob: bytes) -> bytes:
    try:
        # a size in the frame's head counts more than max_output_size
        if zstandard.frame_content_size(blob) > _LARGEST_BLOB:
            raise UnknownSchema("a stored blob is damaged and is skipped")
        raw: bytes = zstandard.ZstdDecompressor().decompress(
            bytes(blob), max_output_size=_LARGEST_BLOB
        )
    except zstandard.ZstdError as exc:
        raise UnknownSchema("a stored blob is damaged and is skipped") from exc
    return raw


def _check_schema(raw: bytes, kind: type[_Schema] | type[_BlobSchema]) -> None:
    try:
        found = msgspec.msgpack.decode(raw, type=kind)
    except msgspec.DecodeError as exc:
        raise UnknownSchema("a stored blob is damaged and is skipped") from exc
    schema = found.header.schema if isinstance(found, _BlobSchema) else found.schema
    if schema != SCHEMA_VERSION:
        raise UnknownSchema(
            f"a stored blob has schema {schema}, this release reads {SCHEMA_VERSION}: "
            "it is skipped until the next tick"
        )


@dataclass(slots=True)
class _Cache:
    """What this process has decoded: tables by digest, one snapshot per cluster.

    A primary key alone does not name a snapshot: a restored database uses it again.
    """

    lock: threading.Lock
    tables: OrderedDict[str, NodeTable]
    newest: dict[int, tuple[tuple[int, datetime, str], Snapshot]]


_cache = _Cache(threading.Lock(), OrderedDict(), {})


def latest(cluster: models.Cluster) -> Snapshot | None:
    """The newest snapshot that this release can read; None when there is none."""
    fields = ("pk", "collected_at", "node_table__digest")
    readable = cluster.snapshots.filter(schema_version=SCHEMA_VERSION)
    for identity in readable.order_by("-pk").values_list(*fields)[:_NEWEST_TRIED]:
        known = _cache.newest.get(cluster.pk)
        if known is not None and known[0] == identity:
            return known[1]
        try:
            snapshot = load(identity[0])
        except (UnknownSchema, models.Snapshot.DoesNotExist):
            continue  # damaged, or deleted a moment ago
        with _cache.lock:
            _cache.newest[cluster.pk] = (identity, snapshot)
        return snapshot
    return None


def load(version: int) -> Snapshot:
    """One stored snapshot. Raises models.Snapshot.DoesNotExist and UnknownSchema."""
    row = models.Snapshot.objects.get(pk=version)
    return decode(bytes(row.blob), _table(row.node_table_id), version=row.pk)


def _table(pk: int) -> NodeTable:
    """Decoded once per content, so that the name objects are shared by snapshots."""
    digest = models.NodeTable.objects.values_list("digest", flat=True).get(pk=pk)
    with _cache.lock:
        if (known := _cache.tables.get(digest)) is not None:
            _cache.tables.move_to_end(digest)
            return known
    blob = models.NodeTable.objects.values_list("blob", flat=True).get(pk=pk)
    table = decode_table(digest, bytes(blob))
    with _cache.lock:
        _cache.tables[digest] = table
        while len(_cache.tables) > _TABLES_CACHED:
            _cache.tables.popitem(last=False)
    return table


@transaction.atomic
def save(
    cluster: models.Cluster,
    draft: Snapshot,
    table_blob: bytes | None,
    *,
    tick: models.Tick,
) -> models.Snapshot:
    """Store `draft` (its version is ignored) and raise the cluster's counter.

    `table_blob` may be None when the node table is stored already.
    Nothing is stored, and StaleFence raised, when the lease has moved on from `tick`.
    """
    lease = models.Lease.objects.select_for_update().filter(
        name=lease_name(cluster), fence=tick.fence
    )
    if not lease.exists():
        raise StaleFence
    stored = models.NodeTable.objects.defer("blob")
    table = stored.filter(cluster=cluster, digest=draft.table.digest).first()
    if table is None:
        blob = encode_table(draft.table.rows)[1] if table_blob is None else table_blob
        table = models.NodeTable.objects.create(
            cluster=cluster, digest=draft.table.digest, blob=blob
        )
    elif not _is_sound(table):
        # what was written once is used for weeks: damage would stay as long
        table.blob = encode_table(draft.table.rows)[1]
        table.save(update_fields=["blob"])
    row = models.Snapshot.objects.create(
        cluster=cluster,
        node_table=table,
        schema_version=SCHEMA_VERSION,
        collected_at=datetime.fromtimestamp(draft.collected_at, UTC),
        blob=encode(draft),
    )
    models.Version.bump(cluster)
    return row


def _is_sound(table: models.NodeTable) -> bool:
    """Whether the stored rows can be read; they are, once in a process."""
    if table.digest in _cache.tables:
        return True
    try:
        _table(table.pk)
    except UnknownSchema:
        return False
    return True


def lease_name(cluster: models.Cluster) -> str:
    """The lease of a cluster's tick."""
    return f"tick:{cluster.name}"


def prune(cluster: models.Cluster, *, now: datetime) -> int:
    """Delete one small batch of what is older than is kept; returns the rows gone."""
    # the newest stays, however old: it is the last good state
    newest = cluster.snapshots.order_by("-pk").values("pk")[:1]
    old = cluster.snapshots.filter(collected_at__lt=now - KEEP_SNAPSHOTS).exclude(
        pk__in=newest
    )
    gone = _delete(old)
    gone += _delete(cluster.ticks.filter(started_at__lt=now - KEEP_TICKS))
    unused = models.NodeTable.objects.filter(
        cluster=cluster, snapshot__isnull=True, created_at__lt=now - KEEP_SNAPSHOTS
    )
    gone += _delete(unused)
    if gone and connection.vendor == "sqlite":
        _give_pages_back()
    return gone


def _give_pages_back() -> None:
    """SQLite keeps the pages of deleted rows in the file until it is told."""
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA incremental_vacuum({VACUUM_PAGES})").fetchall()


def _delete(rows: QuerySet[Any]) -> int:
    keys = list(rows.order_by("pk").values_list("pk", flat=True)[:DELETE_BATCH])
    return rows.model._default_manager.filter(pk__in=keys).delete()[0] if keys else 0
