from __future__ import annotations

import pytest
from pytest_django import Settings

from console.models import SchedulerConfiguration, User
from console.services import clusters, configurations
from scoring.models import Cluster
from tests.console.documents import DOCUMENT


@pytest.fixture
def cluster(db: None, settings: Settings) -> Cluster:
    settings.EXTENDER_KEY = "a-key-of-the-tests"
    return clusters.ensure_default_cluster()


@pytest.fixture
def author(db: None) -> User:
    return User.objects.create_user("ana", password="a long pass phrase")


@pytest.fixture
def configuration(cluster: Cluster) -> SchedulerConfiguration:
    made = configurations.create_configuration(cluster=cluster, name="main")
    configurations.publish_revision(
        configuration=made,
        text=DOCUMENT,
        options=configurations.RevisionOptions(),
        base=None,
        publication=configurations.Publication("ana", "first", "cli"),
    )
    made.refresh_from_db()
    return made
