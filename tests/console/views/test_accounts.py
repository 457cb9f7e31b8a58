"""Login, one-time passwords, themes."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from console.models import AuditEntry, User
from scoring.models import Cluster
from tests import rows

NEW = "plum orbit lantern 9"


def log_in(client: Client, password: str, **extra: Any) -> Any:
    data = {"username": "ana", "password": password, **extra}
    return client.post("/login", data)


@pytest.fixture
def one_time(ana: User) -> User:
    ana.must_change_password = True
    ana.save()
    return ana


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/c/default/",
        "/c/default/nodes",
        "/c/default/nodes.csv",
        "/c/default/neutral",
    ],
)
def test_pages_lead_to_the_login(client: Client, cluster: Cluster, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 302
    assert answer["Location"].startswith("/login?next=")


def test_login_goes_where_the_visitor_wanted(client: Client, ana: User) -> None:
    answer = log_in(client, rows.PASSWORD, next="/c/default/nodes")
    assert answer["Location"] == "/c/default/nodes"


def test_login_does_not_leave_the_site(client: Client, ana: User) -> None:
    answer = log_in(client, rows.PASSWORD, next="https://elsewhere.example/")
    assert answer["Location"] == "/"


def test_wrong_password_says_so(client: Client, ana: User) -> None:
    answer = log_in(client, "wrong")
    assert "The name or the password is wrong." in answer.content.decode()


def test_too_many_attempts_lock_with_a_sentence(
    client: Client, ana: User, settings: Any
) -> None:
    settings.AXES_FAILURE_LIMIT = 3
    answers = [log_in(client, "wrong") for _ in range(3)]
    assert answers[-1].status_code == 429
    assert "Try again in 15 minutes" in answers[-1].content.decode()
    assert log_in(client, rows.PASSWORD).status_code == 429


class TestOneTimePassword:
    @pytest.mark.parametrize("path", ["/c/default/nodes?q=a", "/admin/", "/nowhere"])
    def test_everything_leads_to_the_change(
        self, client: Client, one_time: User, path: str
    ) -> None:
        client.force_login(one_time)
        answer = client.get(path)
        assert answer.status_code == 302
        assert answer["Location"].startswith("/password?next=%2F")

    def test_the_api_says_why(self, client: Client, one_time: User) -> None:
        client.force_login(one_time)
        answer = client.get("/api/v1/clusters")
        assert answer.status_code == 403
        assert answer.json() == {
            "detail": "Change your one-time password on the web page first."
        }

    def test_nothing_is_written_meanwhile(
        self, client: Client, one_time: User, cluster: Cluster
    ) -> None:
        client.force_login(one_time)
        client.post("/c/default/neutral", {"on": "1", "reason": "test"})
        cluster.refresh_from_db()
        assert not cluster.neutral

    def test_a_new_one_opens_the_console(
        self, client: Client, one_time: User, cluster: Cluster
    ) -> None:
        client.force_login(one_time)
        answer = self._change(client, NEW)
        assert answer["Location"] == "/c/default/"
        one_time.refresh_from_db()
        assert one_time.check_password(NEW)
        assert not one_time.must_change_password
        assert client.get("/c/default/").status_code == 200  # still logged in
        entry = AuditEntry.objects.get(action="user.change_password")
        assert (entry.actor, entry.source) == ("ana", "ui")

    @pytest.mark.parametrize(
        ("chosen", "sentence"),
        [
            pytest.param(rows.PASSWORD, "differs from the old one", id="the same"),
            pytest.param("12345", "too short", id="weak"),
        ],
    )
    def test_a_bad_one_is_refused(
        self, client: Client, one_time: User, chosen: str, sentence: str
    ) -> None:
        client.force_login(one_time)
        answer = self._change(client, chosen)
        assert answer.status_code == 200
        assert sentence in answer.content.decode()
        one_time.refresh_from_db()
        assert one_time.must_change_password

    def _change(self, client: Client, chosen: str) -> Any:
        data = {
            "old_password": rows.PASSWORD,
            "new_password1": chosen,
            "new_password2": chosen,
        }
        return client.post("/password?next=/c/default/", data)


def test_logout_is_a_post(browser: Client, cluster: Cluster) -> None:
    assert browser.get("/logout").status_code == 405
    assert browser.post("/logout")["Location"] == "/login"
    assert browser.get("/c/default/").status_code == 302


@pytest.mark.parametrize("theme", ["system", "light", "dark"])
def test_theme_is_rendered_by_the_server(client: Client, db: None, theme: str) -> None:
    answer = client.post("/theme", {"theme": theme, "next": "/login"})
    assert answer["Location"] == "/login"
    page = client.get("/login").content.decode()
    assert f'<html lang="en" data-theme="{theme}">' in page


def test_unknown_theme_changes_nothing(client: Client, db: None) -> None:
    client.post("/theme", {"theme": '"><script>'})
    assert 'data-theme="system"' in client.get("/login").content.decode()
