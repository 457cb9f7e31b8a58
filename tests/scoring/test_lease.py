from __future__ import annotations

from datetime import timedelta

import pytest
from django.utils import timezone

from scoring import lease
from scoring.models import Lease

NOW = timezone.now()
LATER = NOW + timedelta(seconds=20)


@pytest.mark.django_db
def test_one_holder_until_its_time_is_up() -> None:
    assert lease.acquire("job", owner="a", now=NOW, until=LATER) == 1
    assert lease.acquire("job", owner="b", now=NOW, until=LATER) is None
    after = LATER + timedelta(seconds=1)
    assert lease.acquire("job", owner="b", now=after, until=after) == 2
    assert Lease.objects.get(name="job").owner == "b"


@pytest.mark.django_db
def test_a_release_frees_at_once_but_only_the_own_lease() -> None:
    lease.acquire("job", owner="a", now=NOW, until=LATER)
    lease.release("job", fence=7)
    assert lease.acquire("job", owner="b", now=NOW, until=LATER) is None
    lease.release("job", fence=1)
    assert lease.acquire("job", owner="b", now=NOW, until=LATER) == 2


@pytest.mark.django_db
def test_leases_are_apart() -> None:
    assert lease.acquire("one", owner="a", now=NOW, until=LATER) == 1
    assert lease.acquire("two", owner="a", now=NOW, until=LATER) == 1
