"""A person with a browser, as far as cookies and forms go."""

from __future__ import annotations

import http.cookiejar
import re
import urllib.parse
import urllib.request
from pathlib import Path

CHOSEN_PASSWORD = "a lab is no place for secrets"


class Visitor:
    """Logs in as the first admin; a one-time password is changed on the way."""

    def __init__(self, port: int) -> None:
        self._base = f"http://127.0.0.1:{port}"
        self._cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(self._cookies),
        )

    def log_in(self, one_time_password: Path) -> None:
        password = one_time_password.read_text(encoding="utf-8").strip()
        self._post("/login", {"username": "admin", "password": password})
        self._post(
            "/password",
            {
                "old_password": password,
                "new_password1": CHOSEN_PASSWORD,
                "new_password2": CHOSEN_PASSWORD,
            },
        )

    def log_in_again(self) -> None:
        self._post("/login", {"username": "admin", "password": CHOSEN_PASSWORD})

    def page(self, path: str) -> str:
        """The text of a page without its tags."""
        with self._opener.open(self._base + path, timeout=15) as response:
            body: str = response.read().decode()
        return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", body))

    def _post(self, path: str, fields: dict[str, str]) -> None:
        self.page(path)
        token = next(c.value for c in self._cookies if c.name == "csrftoken")
        data = {**fields, "csrfmiddlewaretoken": token or ""}
        request = urllib.request.Request(
            self._base + path,
            urllib.parse.urlencode(data).encode(),
            {"Referer": self._base + path},
        )
        with self._opener.open(request, timeout=15) as response:
            response.read()
