"""A real Chromium against the real server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Page,
    sync_playwright,
)

from console.models import User
from scoring import snapshot as snapshots
from scoring.explain import current
from scoring.models import Cluster
from tests import rows
from tests.browser.sessions import session_of
from tests.components import require

# Playwright keeps an event loop in this thread; our ORM calls here are blocking ones
os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"

CHROMIUM = "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

NewPage = Callable[..., Page]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    require("chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, headless=True, args=FLAGS
        )
        yield browser
        browser.close()


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "DATA_DIR", tmp_path)
    monkeypatch.setattr(settings, "NEUTRAL", "")
    monkeypatch.setattr(snapshots._cache, "newest", {})
    monkeypatch.setattr(current, "_previous", {})


@pytest.fixture
def emptied(transactional_db: None) -> Iterator[None]:
    """The record of changes lets nobody delete, not even the end of a test."""
    yield
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, sql FROM sqlite_master "
            "WHERE type = 'trigger' AND tbl_name = 'console_auditentry'"
        )
        triggers = cursor.fetchall()
        for name, _ in triggers:
            cursor.execute(f"DROP TRIGGER {name}")
        cursor.execute("DELETE FROM console_auditentry")
        for _, sql in triggers:
            cursor.execute(sql)


@pytest.fixture
def ana(emptied: None) -> User:
    return rows.make_user()


@pytest.fixture
def cluster(emptied: None) -> Cluster:
    """Forty nodes: one without data, one with old data, some out of the race."""
    cluster = rows.make_cluster()
    rows.collected(cluster, rows.motley())
    return cluster


@pytest.fixture
def new_page(chromium: Browser, live_server: Any, ana: User) -> Iterator[NewPage]:
    """Opens pages of the live server; console errors fail the test."""
    contexts: list[BrowserContext] = []
    said: list[str] = []

    def open_page(path: str, *, login: bool = True, **options: Any) -> Page:
        context = chromium.new_context(base_url=live_server.url, **options)
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        if login:
            context.add_cookies([session_of(ana, live_server.url)])
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    # what a test breaks on purpose: a page that is not there, a cut connection
    broken = ("status of 4", "status of 502", "net::ERR_FAILED")
    assert [text for text in said if not any(word in text for word in broken)] == []
