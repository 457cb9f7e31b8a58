from __future__ import annotations

import errno
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kombu import Connection
from kombu.exceptions import OperationalError

from console import filequeue

filequeue.register()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "queue"


@pytest.fixture
def connection(folder: Path) -> Iterator[Connection]:
    options = filequeue.transport_options(folder)
    with Connection(
        f"{filequeue.SCHEME}://localhost//", transport_options=options
    ) as c:
        yield c


def drain(connection: Connection, name: str) -> list[Any]:
    found: list[Any] = []
    with connection.SimpleQueue(name) as queue:
        while True:
            try:
                message = queue.get(block=False)
            except queue.Empty:
                return found
            message.ack()
            found.append(message.payload)


def test_messages_come_once_and_in_order(connection: Connection) -> None:
    with connection.SimpleQueue("ticks") as queue:
        for n in range(20):
            queue.put({"n": n})
        assert queue.qsize() == 20
    assert drain(connection, "ticks") == [{"n": n} for n in range(20)]
    assert drain(connection, "ticks") == []


def test_queues_are_apart(connection: Connection) -> None:
    for name in ("ticks", "rollouts", "more.ticks"):
        with connection.SimpleQueue(name) as queue:
            queue.put(name)
    assert drain(connection, "rollouts") == ["rollouts"]
    assert drain(connection, "ticks") == ["ticks"]


def test_a_queue_can_be_cleared(connection: Connection) -> None:
    with connection.SimpleQueue("ticks") as queue:
        queue.put(1)
        assert queue.clear() == 1
        assert queue.qsize() == 0


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"body": "cut sho', id="cut short"),
        pytest.param(b"\xff\xfe", id="no text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'{"body": 1}', id="fields missing"),
    ],
)
def test_what_is_no_message_is_dropped(
    connection: Connection, folder: Path, content: bytes
) -> None:
    with connection.SimpleQueue("ticks") as queue:
        (folder / "0_poison.ticks.msg").write_bytes(content)
        queue.put("good")
    assert drain(connection, "ticks") == ["good"]
    assert not list(folder.glob("*.msg"))


def test_a_message_is_never_seen_half_written(
    connection: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with connection.SimpleQueue("ticks") as queue:
        seen: list[list[Any]] = []
        rename = Path.rename

        def look_first(self: Path, target: Path) -> Path:
            if self.name.startswith("."):
                seen.append(list(folder.glob("[!.]*.msg")))
            return rename(self, target)

        monkeypatch.setattr(Path, "rename", look_first)
        queue.put("x" * 100_000)
    assert seen == [[]]


def test_two_readers_share_without_loss_or_double(folder: Path) -> None:
    options = filequeue.transport_options(folder)

    def connect() -> Connection:
        return Connection(
            f"{filequeue.SCHEME}://localhost//", transport_options=options
        )

    got: list[Any] = []
    with connect() as writer, writer.SimpleQueue("ticks") as queue:
        for n in range(200):
            queue.put(n)

    def read() -> None:
        with connect() as reader:
            got.extend(drain(reader, "ticks"))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(30)
    assert sorted(got) == list(range(200))


def test_what_a_killed_reader_left_is_cleared_later(
    connection: Connection, folder: Path
) -> None:
    folder.mkdir()
    old, new = folder / ".1_old.ticks.msg", folder / ".2_new.ticks.msg"
    for path in (old, new):
        path.write_text(json.dumps({}))
    long_ago = time.time() - 2 * 3600
    os.utime(old, (long_ago, long_ago))
    assert drain(connection, "ticks") == []
    assert (old.exists(), new.exists()) == (False, True)


def test_nobody_else_can_read_the_folder(connection: Connection, folder: Path) -> None:
    drain(connection, "ticks")
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_cannot_be_made_is_an_operational_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    options = filequeue.transport_options(tmp_path / "file" / "queue")
    connection = Connection(
        f"{filequeue.SCHEME}://localhost//", transport_options=options
    )
    with pytest.raises((OperationalError, OSError)), connection.SimpleQueue("t") as q:
        q.put(1)


def test_a_folder_that_takes_no_message_is_an_operational_error(
    connection: Connection, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, *_: object, **__: object) -> None:
        self.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with connection.SimpleQueue("ticks") as queue:
        queue.put("before")
        monkeypatch.setattr(Path, "write_text", full)
        with pytest.raises(OperationalError, match="cannot be written: No space left"):
            queue.put("lost")
    assert len(list(folder.iterdir())) == 1, "nothing half-written stays"
    assert drain(connection, "ticks") == ["before"]


def test_a_message_that_cannot_be_claimed_waits(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read_only(self: Path, target: Path) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    with connection.SimpleQueue("ticks") as queue:
        queue.put("before")
    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", read_only)
        assert drain(connection, "ticks") == []
    assert drain(connection, "ticks") == ["before"]
