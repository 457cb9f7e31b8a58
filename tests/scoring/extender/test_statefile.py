from __future__ import annotations

import stat
from pathlib import Path

import numpy as np
import pytest

from scoring.extender.statefile import FILE_NAME, StateFile, StateFileError
from tests.scoring.extender import material


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    facts = material.facts(
        material.policy(material.LIMITED),
        of=material.snapshot(version=7),
        neutral="maintenance",
    )
    StateFile(tmp_path).write(facts)
    read = StateFile(tmp_path).read("default")
    assert read is not None
    assert read.stored.keys == facts.stored.keys
    assert read.stored.documents == facts.stored.documents
    assert read.stored.neutral_reason == "maintenance"
    assert read.newest == facts.newest
    before, after = facts.stored.snapshot, read.stored.snapshot
    assert before is not None
    assert after is not None
    assert after.version == 7
    assert after.table.rows == before.table.rows
    for name, column in before.columns.items():
        np.testing.assert_array_equal(after.columns[name], column)


def test_it_is_readable_by_its_owner_alone_and_leaves_no_part(tmp_path: Path) -> None:
    StateFile(tmp_path).write(material.facts(of=material.snapshot()))
    path = tmp_path / FILE_NAME
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [entry.name for entry in tmp_path.iterdir()] == [FILE_NAME]


def test_it_holds_no_key(tmp_path: Path) -> None:
    StateFile(tmp_path).write(material.facts(of=material.snapshot()))
    raw = (tmp_path / FILE_NAME).read_bytes()
    assert material.DIGEST.encode() in raw
    assert material.KEY.encode() not in raw


def test_no_file_is_no_error(tmp_path: Path) -> None:
    assert StateFile(tmp_path).read("default") is None


def test_before_the_first_tick_there_is_no_snapshot(tmp_path: Path) -> None:
    StateFile(tmp_path).write(material.facts())
    read = StateFile(tmp_path).read("default")
    assert read is not None
    assert read.stored.snapshot is None


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        pytest.param(lambda raw: b"", "damaged", id="empty"),
        pytest.param(lambda raw: raw[: len(raw) // 2], "damaged", id="half of it"),
        pytest.param(lambda raw: b"\x81\xa1a\x01", "damaged", id="something else"),
        pytest.param(
            lambda raw: raw.replace(b"\xa6schema\x01", b"\xa6schema\x63", 1),
            "another release",
            id="of another release",
        ),
        pytest.param(
            lambda raw: raw.replace(b"\xa7default", b"\xa7another", 1),
            "of cluster another",
            id="of another cluster",
        ),
    ],
)
def test_a_file_of_no_use_is_one_sentence(
    tmp_path: Path, damage: object, expected: str
) -> None:
    StateFile(tmp_path).write(material.facts(of=material.snapshot()))
    path = tmp_path / FILE_NAME
    assert callable(damage)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(StateFileError, match=expected):
        StateFile(tmp_path).read("default")


def test_a_file_that_cannot_be_written_keeps_the_old_one(tmp_path: Path) -> None:
    file = StateFile(tmp_path)
    file.write(material.facts(of=material.snapshot(version=1)))
    blocked = StateFile(tmp_path / "missing")
    with pytest.raises(StateFileError, match="cannot be written"):
        blocked.write(material.facts(of=material.snapshot(version=2)))
    kept = file.read("default")
    assert kept is not None
    assert kept.stored.snapshot is not None
    assert kept.stored.snapshot.version == 1
