"""Sessions for a browser without the login page."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.test import Client

from console.models import User


def session_of(user: User, url: str) -> Any:
    """The cookie of somebody who is logged in, as Playwright wants it."""
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return {"name": name, "value": client.cookies[name].value, "url": url}
