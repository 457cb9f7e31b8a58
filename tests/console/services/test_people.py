from __future__ import annotations

import pytest

from console.models import User
from console.services import people

pytestmark = pytest.mark.django_db


def test_the_first_admin_is_made_once() -> None:
    password = people.ensure_first_admin()
    assert password is not None
    user = User.objects.get()
    assert user.check_password(password)
    assert user.must_change_password
    assert people.ensure_first_admin() is None


def test_a_chosen_password_is_told_to_nobody() -> None:
    assert people.ensure_first_admin(password="chosen by the operator") is None
    user = User.objects.get()
    assert user.check_password("chosen by the operator")
    assert not user.must_change_password


def test_reset() -> None:
    user = User.objects.create_user("ana", password="old")
    password = people.reset_password(user=user)
    user.refresh_from_db()
    assert user.check_password(password)
    assert user.must_change_password


def test_one_time_passwords_differ() -> None:
    assert len({people.one_time_password() for _ in range(100)}) == 100
