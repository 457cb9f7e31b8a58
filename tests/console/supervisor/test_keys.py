"""Secrets are made once, private, and only where none is given."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from console.supervisor import keys
from console.supervisor.refusal import Refusal


@pytest.fixture
def data_dir(tmp_path: Path) -> Path:
    (tmp_path / "secrets").mkdir()
    return tmp_path


def test_a_first_start_makes_three_private_files(data_dir: Path) -> None:
    variables = keys.ensure(data_dir, {})
    paths = [Path(value) for value in variables.values()]
    assert sorted(variables) == [
        "BANDMASTER_ENCRYPTION_KEY_FILE",
        "BANDMASTER_EXTENDER_KEY_FILE",
        "BANDMASTER_SECRET_KEY_FILE",
    ]
    assert {stat.S_IMODE(path.stat().st_mode) for path in paths} == {0o600}
    assert len({path.read_text(encoding="utf-8") for path in paths}) == 3


def test_a_second_start_keeps_them(data_dir: Path) -> None:
    first = {p: Path(p).read_text("utf-8") for p in keys.ensure(data_dir, {}).values()}
    again = {p: Path(p).read_text("utf-8") for p in keys.ensure(data_dir, {}).values()}
    assert first == again


@pytest.mark.parametrize("suffix", ["", "_FILE"])
def test_a_given_secret_is_not_made(data_dir: Path, suffix: str) -> None:
    variables = keys.ensure(data_dir, {f"BANDMASTER_SECRET_KEY{suffix}": "given"})
    assert "BANDMASTER_SECRET_KEY_FILE" not in variables
    assert not (data_dir / "secrets" / "secret_key").exists()


def test_a_file_that_others_can_read_is_made_private(data_dir: Path) -> None:
    path = data_dir / "secrets" / "secret_key"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o644)
    keys.ensure(data_dir, {})
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text(encoding="utf-8") == "old"


def test_an_empty_file_is_refused_rather_than_replaced(data_dir: Path) -> None:
    (data_dir / "secrets" / "encryption_key").touch()
    with pytest.raises(Refusal, match="encryption_key is empty: restore it"):
        keys.ensure(data_dir, {})
