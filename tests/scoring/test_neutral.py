from __future__ import annotations

from pathlib import Path

import pytest

from scoring import neutral


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("", None),
        ("false", None),
        ("Off", None),
        ("1", "no reason given"),
        ("true", "no reason given"),
        ("maintenance", "maintenance"),
    ],
)
def test_environment(value: str, reason: str | None) -> None:
    assert neutral.environment_reason(value) == reason


def test_no_file(tmp_path: Path) -> None:
    assert neutral.file_reason(tmp_path) is None
    assert neutral.remove_neutral_file(tmp_path) is False


def test_file_holds_the_reason(tmp_path: Path) -> None:
    neutral.write_neutral_file(tmp_path, "switch replaced")
    assert neutral.file_reason(tmp_path) == "switch replaced"
    assert neutral.remove_neutral_file(tmp_path) is True
    assert neutral.file_reason(tmp_path) is None


def test_an_empty_or_odd_file_still_counts(tmp_path: Path) -> None:
    path = neutral.neutral_file(tmp_path)
    path.touch()
    assert neutral.file_reason(tmp_path) == "no reason given"
    path.write_bytes(b"\xff\xfe bad text")
    assert neutral.file_reason(tmp_path) is not None
    path.unlink()
    path.mkdir()
    assert neutral.file_reason(tmp_path) == "no reason given"
