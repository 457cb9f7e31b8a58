"""A user's own password."""

from __future__ import annotations

from django.db import transaction

from console.models import User
from console.services import audit


@transaction.atomic
def choose_password(*, user: User, password: str, source: str) -> User:
    """Set the password that a user chose; a one-time password is used up by it."""
    user.set_password(password)
    user.must_change_password = False
    user.save(update_fields=["password", "must_change_password"])
    audit.record(
        audit.Actor(user.username, source),
        action="user.change_password",
        target=f"user {user.username}",
        summary="changed the own password",
    )
    return user
