"""A missing program skips a test here, and fails it in CI."""

from __future__ import annotations

import pytest

from tests import components


def test_a_program_that_is_there_is_found() -> None:
    assert components.require("sh").endswith("/sh")


def test_a_missing_program_skips_with_the_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no-such-program is not installed"):
        components.require("no-such-program")


def test_a_missing_program_fails_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="no-such-program is not installed"):
        components.require("no-such-program")
