from __future__ import annotations

import pytest
from pytest_django import Settings


@pytest.fixture(autouse=True)
def _quick_passwords(settings: Settings) -> None:
    """Slow hashes protect people's passwords; tests have none to protect."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
