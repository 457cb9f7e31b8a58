from __future__ import annotations

import pytest
from django.test import Client

from console.models import AuditEntry, PluginConfig, Revision, User
from scoring.models import ScoringPolicy
from tests.console.services.conftest import (  # noqa: F401 - fixtures
    author,
    cluster,
    configuration,
)

pytestmark = pytest.mark.usefixtures("configuration")


@pytest.fixture
def admin(client: Client) -> Client:
    user = User.objects.create_superuser("root", password="a long pass phrase")
    client.force_login(user)
    return client


def form_url() -> str:
    return f"/admin/console/pluginconfig/{PluginConfig.objects.get().pk}/change/"


def save(admin: Client, args: str, **changes: object) -> str:
    data = {
        "args_text": args,
        "message": "less noise",
        "base": Revision.objects.latest("pk").pk,
    }
    response = admin.post(form_url(), data | changes, follow=True)
    return response.content.decode()


def test_saving_publishes_and_keeps_comments(admin: Client) -> None:
    page = save(admin, "deadBandPercent: 7")
    assert "takes effect within a second" in page
    head = Revision.objects.latest("pk")
    assert head.author == "root"
    assert "# the cluster" in head.text
    assert "deadBandPercent: 7" in head.text
    assert PluginConfig.objects.get().args == {"deadBandPercent": 7}
    assert ScoringPolicy.objects.latest("pk").revision == head.number
    entry = AuditEntry.objects.latest("pk")
    assert (entry.source, entry.reason) == ("admin", "less noise")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        pytest.param("deadBandPercent: -1", "deadBandPercent", id="out of range"),
        pytest.param("deadBandPrecent: 2", "deadBandPercent", id="did you mean"),
        pytest.param("a: [", "not YAML", id="not YAML"),
        pytest.param("a: 1\na: 2", "stands twice", id="a key twice"),
        pytest.param("a: " + "9" * 5000, "JSON cannot hold", id="a number without end"),
        pytest.param("a: &a [*a]", "alias", id="a list that holds itself"),
        pytest.param("- 1", "Write a mapping", id="a list"),
        pytest.param("deadBandPercent: 2", "in force already", id="no change"),
    ],
)
def test_refusals_are_words_at_the_field(admin: Client, args: str, words: str) -> None:
    page = save(admin, args)
    assert words in page
    assert "errorlist" in page
    assert Revision.objects.count() == 1


def test_somebody_published_meanwhile(admin: Client) -> None:
    old = Revision.objects.latest("pk").pk
    save(admin, "deadBandPercent: 7")
    data = {"args_text": "deadBandPercent: 9", "message": "mine", "base": old}
    answer = admin.post(form_url(), data)
    assert answer.status_code == 409
    assert "changed meanwhile" in answer.content.decode()
    assert Revision.objects.count() == 2


def test_a_message_is_needed(admin: Client) -> None:
    assert "This field is required" in save(admin, "deadBandPercent: 7", message="")


@pytest.mark.parametrize(
    "model",
    [
        "console/revision",
        "console/schedulerprofile",
        "console/auditentry",
        "scoring/scoringpolicy",
        "scoring/snapshot",
        "scoring/tick",
    ],
)
def test_facts_are_read_only_for_superusers_too(admin: Client, model: str) -> None:
    assert admin.get(f"/admin/{model}/").status_code == 200
    assert admin.get(f"/admin/{model}/add/").status_code == 403
    for verb in ("delete", "change"):
        response = admin.post(f"/admin/{model}/1/{verb}/", {})
        assert response.status_code in {302, 403}
