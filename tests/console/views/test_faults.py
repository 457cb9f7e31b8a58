"""What a page or a program is told when a request is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client


def test_a_strange_host_name_is_told_the_variable(client: Client) -> None:
    answer = client.get("/login", headers={"host": "evil.example"})
    page = answer.content.decode()
    assert answer.status_code == 400
    assert "BANDMASTER_ALLOWED_HOSTS" in page
    assert "evil.example" not in page


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        pytest.param({"reason": "x" * 3_000_000}, "too large", id="bytes"),
        pytest.param({f"f{i}": "1" for i in range(2000)}, "too large", id="fields"),
    ],
)
def test_too_much_is_refused_in_words(sent: dict[str, Any], words: str) -> None:
    client = Client()
    # as a browser sends a form: the test client's multipart has no such limits
    body = "&".join(f"{key}={value}" for key, value in sent.items())
    form = "application/x-www-form-urlencoded"
    answer = client.post("/theme", body, content_type=form)
    assert answer.status_code == 400
    assert words in answer.content.decode()


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param({}, 404, id="no such page"),
        pytest.param({"host": "evil.example"}, 400, id="strange host"),
    ],
)
def test_programs_are_told_in_json(
    client: Client, headers: dict[str, str], status: int
) -> None:
    answer = client.get("/api/v1/nope", headers=headers)
    assert answer.status_code == status
    assert answer.json()["detail"].endswith(".")


def test_nobody_is_led_to_another_site(client: Client) -> None:
    for there in ("//evil.example", "https://evil.example/", "javascript:alert(1)"):
        answer = client.post("/theme", {"theme": "dark", "next": there})
        assert answer["Location"] == "/"
