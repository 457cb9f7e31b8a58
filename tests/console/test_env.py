from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from console.env import Env, SettingError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def env() -> Env:
    return Env()


def test_a_file_gives_the_value(
    env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "key"
    secret.write_text("from a file\n")
    monkeypatch.setenv("BANDMASTER_SECRET_KEY_FILE", str(secret))
    assert env.text("SECRET_KEY") == "from a file"


def test_a_file_that_is_not_there(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_SECRET_KEY_FILE", "/nonexistent/key")
    with pytest.raises(SettingError, match="SECRET_KEY_FILE"):
        env.text("SECRET_KEY")


def test_a_kept_secret_serves_where_none_is_given(
    env: Env, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BANDMASTER_EXTENDER_KEY", raising=False)
    assert env.secret("EXTENDER_KEY", tmp_path) == ""
    (tmp_path / "extender_key").write_text("kept\n")
    assert env.secret("EXTENDER_KEY", tmp_path) == "kept"
    monkeypatch.setenv("BANDMASTER_EXTENDER_KEY", "given")
    assert env.secret("EXTENDER_KEY", tmp_path) == "given"


def test_a_kept_secret_that_cannot_be_read(env: Env, tmp_path: Path) -> None:
    (tmp_path / "extender_key").mkdir()
    with pytest.raises(SettingError, match="run this as the user that runs `up`"):
        env.secret("EXTENDER_KEY", tmp_path)


@pytest.mark.parametrize(
    ("raw", "value"),
    [("", True), ("true", True), ("NO", False), ("0", False), ("on", True)],
)
def test_flag(
    env: Env, monkeypatch: pytest.MonkeyPatch, raw: str, *, value: bool
) -> None:
    monkeypatch.setenv("BANDMASTER_DEBUG", raw)
    assert env.flag("DEBUG", default=True) is value


def test_flag_refuses_other_words(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_DEBUG", "perhaps")
    with pytest.raises(SettingError, match="true or false"):
        env.flag("DEBUG")


@pytest.mark.parametrize("raw", ["0", "65536", "-1", "8e3", "٣", "abc", "8000 8001"])
def test_whole_refuses(env: Env, monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("BANDMASTER_PORT", raw)
    with pytest.raises(SettingError, match="whole number from 1 to 65535"):
        env.whole("PORT", 8000, low=1, high=65535)


@pytest.mark.parametrize("raw", ["prometheus:9090", "ftp://x", "http://", "/path"])
def test_url_refuses(env: Env, monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("BANDMASTER_PROMETHEUS_URL", raw)
    with pytest.raises(SettingError, match="http or https URL"):
        env.http_url("PROMETHEUS_URL")


def test_url_loses_its_last_slash(env: Env, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANDMASTER_PROMETHEUS_URL", "http://a:9090/prefix/")
    assert env.http_url("PROMETHEUS_URL") == "http://a:9090/prefix"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("PORT", "eighty", "BANDMASTER_PORT"),
        ("DATABASE_URL", "mysql://x/y", "must start with sqlite:/// or postgres://"),
        ("LOG_FORMAT", "xml", "text, json"),
        ("TICK_SECONDS", "0", "whole number from 1"),
        ("PROMETHEUS_URL", "nonsense", "http or https URL"),
        ("TIME_ZONE", "Mars/Olympus", "BANDMASTER_TIME_ZONE"),
    ],
)
def test_a_bad_setting_stops_the_start_with_one_sentence(
    name: str, value: str, words: str
) -> None:
    """What the operator sees, from the outside: no traceback, status 2."""
    result = subprocess.run(
        [sys.executable, "-c", "import console.settings"],
        cwd=ROOT,
        env={**os.environ, f"BANDMASTER_{name}": value},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_secrets_are_not_in_the_refusal() -> None:
    result = subprocess.run(
        [sys.executable, "-c", "import console.settings"],
        cwd=ROOT,
        env={**os.environ, "BANDMASTER_DATABASE_URL": "mysql://u:hunter2@h/d"},
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert result.returncode == 2
    assert "hunter2" not in result.stderr
