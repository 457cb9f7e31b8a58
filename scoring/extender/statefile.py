"""The last good state on disk, so that a restart needs no database.

Holds digests of keys, never keys. Written as a whole beside its place and renamed, with
mode 0600; a file that cannot be understood counts as none.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import msgspec

from scoring import snapshot as codec
from scoring.extender.state import Facts, Stored, build_facts

FILE_NAME = "extender.state"
SCHEMA_VERSION = 1
UNKNOWN_COUNTER = -1  # so that the first read of the database counts as a change
_ASK = "it is written again as soon as the database answers."


class StateFileError(Exception):
    """The file cannot be read or written; the text is a sentence."""


class _Content(msgspec.Struct):
    schema: int
    cluster: str
    keys: list[str]
    neutral_reason: str | None
    documents: list[bytes]
    table_digest: str
    table: bytes
    snapshot_version: int
    snapshot: bytes | None


class _Schema(msgspec.Struct):
    schema: int


class StateFile:
    """One file of one process; the node table is encoded once per content."""

    def __init__(self, data_dir: Path) -> None:
        self.path = data_dir / FILE_NAME
        self._table: tuple[str, bytes] = ("", b"")

    def write(self, facts: Facts) -> None:
        """Raises StateFileError; the file that was there then stays."""
        part = self.path.with_name(f"{FILE_NAME}.{os.getpid()}.part")
        try:
            self._write_part(part, self._encode(facts.stored))
            part.replace(self.path)
        except OSError as exc:
            with contextlib.suppress(OSError):
                part.unlink()
            raise StateFileError(
                f"The state file cannot be written ({exc.strerror or exc}): a restart "
                "without the database would begin with neutral answers."
            ) from exc

    @staticmethod
    def _write_part(part: Path, content: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        descriptor = os.open(part, flags, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            os.fchmod(descriptor, 0o600)  # a left-over part may have another mode
            stream.write(content)

    def _encode(self, stored: Stored) -> bytes:
        snapshot = stored.snapshot
        if snapshot is not None and snapshot.table.digest != self._table[0]:
            blob = codec.encode_table(snapshot.table.rows)[1]
            self._table = (snapshot.table.digest, blob)
        return msgspec.msgpack.encode(
            _Content(
                schema=SCHEMA_VERSION,
                cluster=stored.cluster,
                keys=sorted(stored.keys),
                neutral_reason=stored.neutral_reason,
                documents=list(stored.documents),
                table_digest=self._table[0],
                table=self._table[1],
                snapshot_version=snapshot.version if snapshot else 0,
                snapshot=codec.encode(snapshot) if snapshot else None,
            )
        )

    def read(self, cluster: str) -> Facts | None:
        """The facts in the file; None when there is no file.

        Raises StateFileError for a file of another cluster or release, or a bad one.
        """
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise StateFileError(
                f"The state file cannot be read ({exc.strerror or exc}): {_ASK}"
            ) from exc
        try:
            return self._decode(raw, cluster)
        except (msgspec.DecodeError, codec.UnknownSchema) as exc:
            raise StateFileError(f"The state file is damaged: {_ASK}") from exc

    @staticmethod
    def _decode(raw: bytes, cluster: str) -> Facts:
        schema = msgspec.msgpack.decode(raw, type=_Schema).schema
        if schema != SCHEMA_VERSION:
            raise StateFileError(f"The state file is of another release: {_ASK}")
        content = msgspec.msgpack.decode(raw, type=_Content)
        if content.cluster != cluster:
            raise StateFileError(
                f"The state file is of cluster {content.cluster}, not {cluster}: give "
                "each extender its own BANDMASTER_DATA_DIR."
            )
        snapshot = None
        if content.snapshot is not None:
            table = codec.decode_table(content.table_digest, content.table)
            snapshot = codec.decode(
                content.snapshot, table, version=content.snapshot_version
            )
        stored = Stored(
            cluster=cluster,
            counter=UNKNOWN_COUNTER,
            keys=frozenset(content.keys),
            neutral_reason=content.neutral_reason,
            documents=tuple(content.documents),
            snapshot=snapshot,
        )
        return build_facts(stored)
