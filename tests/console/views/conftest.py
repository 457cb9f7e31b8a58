from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from console.models import User
from scoring import snapshot as snapshots
from scoring.explain import current
from scoring.models import Cluster
from tests import rows


@pytest.fixture(autouse=True)
def own_data(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory and caches of the test's own: primary keys are used again."""
    monkeypatch.setattr(snapshots._cache, "newest", {})
    monkeypatch.setattr(current, "_previous", {})
    settings.DATA_DIR = tmp_path
    settings.NEUTRAL = ""
    return tmp_path


@pytest.fixture
def ana(db: None) -> User:
    return rows.make_user()


@pytest.fixture
def browser(client: Client, ana: User) -> Client:
    """Logged in as an administrator."""
    client.force_login(ana)
    return client


@pytest.fixture
def cluster(db: None) -> Cluster:
    return rows.make_cluster()
