"""The record of who did what, when and why. Rows are only ever added."""

from __future__ import annotations

from dataclasses import dataclass

from console.models import AuditEntry


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acts, and by which way: ui, admin, api or cli."""

    name: str
    source: str


SYSTEM = Actor("system", "cli")


def record(
    actor: Actor, *, action: str, target: str, summary: str, reason: str = ""
) -> AuditEntry:
    """Add an entry; call it inside the transaction of the change that it tells of.

    `summary` is one readable line, without secrets.
    """
    entry = AuditEntry(
        actor=actor.name,
        source=actor.source,
        action=action,
        target=target[:200],
        summary=summary[:300],
        reason=reason[:500],
    )
    entry.full_clean()
    entry.save()
    return entry
