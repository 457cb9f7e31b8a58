"""What the settings make of the environment, seen in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

ROOT = Path(__file__).resolve().parents[2]


def settings(expression: str, **variables: str) -> Any:
    environ = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("BANDMASTER_")
    }
    environ |= {f"BANDMASTER_{name}": value for name, value in variables.items()}
    code = (
        "import json; from console import settings as s;"
        f"print(json.dumps({expression}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    ("query", "name", "value"),
    [
        ("sslmode=require", "sslmode", "require"),
        ("sslrootcert=/etc/ca.pem", "sslrootcert", "/etc/ca.pem"),
        ("connect_timeout=9", "connect_timeout", 9),
    ],
)
def test_options_of_the_database_url_count(query: str, name: str, value: str) -> None:
    options = settings(
        's.DATABASES["default"]["OPTIONS"]',
        DATABASE_URL=f"postgres://u:p@db:5432/bandmaster?{query}",
    )
    assert options[name] == value
    assert options["pool"]["max_size"] == 4


PROXY = (
    "[getattr(s, name, None) for name in ('SECURE_PROXY_SSL_HEADER',"
    " 'SESSION_COOKIE_SECURE', 'CSRF_COOKIE_SECURE', 'SECURE_HSTS_SECONDS')]"
)


def test_a_trusted_proxy_turns_on_what_https_allows() -> None:
    assert settings(PROXY, TRUSTED_PROXY="true") == [
        ["HTTP_X_FORWARDED_PROTO", "https"],
        True,
        True,
        31_536_000,
    ]


def test_nobody_is_believed_by_default() -> None:
    assert settings(PROXY) == [None, None, None, None]


@pytest.mark.django_db
def test_the_file_can_shrink() -> None:
    if connection.vendor != "sqlite":
        pytest.skip("SQLite's own setting")
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA auto_vacuum")
        assert cursor.fetchone() == (2,)
