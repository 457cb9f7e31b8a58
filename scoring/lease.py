"""One holder at a time for a job that must not run twice.

The conditional update decides who wins; the fence, which grows with every new holder,
lets what a late holder writes be refused.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import F

from scoring.models import Lease

_LONG_AGO = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def acquire(name: str, *, owner: str, now: datetime, until: datetime) -> int | None:
    """The new fence, or None while another holder's time has not run out."""
    Lease.objects.get_or_create(name=name, defaults={"until": _LONG_AGO})
    with transaction.atomic():
        won = Lease.objects.filter(name=name, until__lt=now).update(
            owner=owner, until=until, fence=F("fence") + 1
        )
        if not won:
            return None
        # our own update holds the row: nobody can raise the fence in between
        return Lease.objects.values_list("fence", flat=True).get(name=name)


def release(name: str, *, fence: int) -> None:
    """Give the lease back at once; does nothing when another holder has it."""
    Lease.objects.filter(name=name, fence=fence).update(until=_LONG_AGO)
