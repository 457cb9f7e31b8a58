from __future__ import annotations

import logging

import pytest

from console.logs import Refusals


def record(name: str, status: int | None) -> logging.LogRecord:
    cause = ValueError("cause")
    told = (ValueError, cause, None)
    made = logging.LogRecord(name, logging.ERROR, "", 1, "said", None, told)
    if status is not None:
        made.status_code = status
    return made


@pytest.mark.parametrize(
    ("name", "status", "kept"),
    [
        pytest.param("django.security.DisallowedHost", 400, False, id="host"),
        pytest.param("django.request", 403, False, id="forbidden"),
        pytest.param("django.request", 500, True, id="our fault"),
        pytest.param("django.request", None, True, id="no status"),
        pytest.param("scoring.collector", 400, True, id="another logger"),
    ],
)
def test_a_refusal_has_no_traceback(name: str, status: int | None, kept: bool) -> None:
    made = record(name, status)
    assert Refusals().filter(made)
    assert bool(made.exc_info) is kept
