"""Writes to users: the first administrator and one-time passwords."""

from __future__ import annotations

import secrets

from django.db import transaction

from console.models import User
from console.services import audit

FIRST_ADMIN = "admin"


@transaction.atomic
def ensure_first_admin(*, password: str = "") -> str | None:
    """Make the first administrator; returns the one-time password, once.

    None when an administrator exists, or when the operator chose `password` (a file
    named by the environment), which nobody needs to be told.
    """
    if User.objects.filter(is_superuser=True).exists():
        return None
    chosen = password or one_time_password()
    user = User(
        username=FIRST_ADMIN,
        is_staff=True,
        is_superuser=True,
        must_change_password=not password,
    )
    user.set_password(chosen)
    user.full_clean()
    user.save()
    _tell(user, "user.create", "made the first administrator")
    return None if password else chosen


@transaction.atomic
def reset_password(*, user: User) -> str:
    """Give a user a one-time password; it must be changed at the next login."""
    password = one_time_password()
    user.set_password(password)
    user.must_change_password = True
    user.save(update_fields=["password", "must_change_password"])
    _tell(user, "user.reset_password", f"reset the password of {user.username}")
    return password


def one_time_password() -> str:
    """96 random bits in groups that can be read aloud."""
    text = secrets.token_hex(12)
    return "-".join(text[i : i + 6] for i in range(0, 24, 6))


def _tell(user: User, action: str, summary: str) -> None:
    audit.record(
        audit.SYSTEM,
        action=action,
        target=f"user {user.username}",
        summary=summary,
    )
