"""Writes to clusters: the first one, and the kill switch."""

from __future__ import annotations

import logging
from urllib.parse import urlsplit, urlunsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from console.services import audit
from scoring import secrets
from scoring.models import Cluster, ExtenderKey, PrometheusSource, Version

logger = logging.getLogger(__name__)


@transaction.atomic
def ensure_default_cluster() -> Cluster:
    """The cluster that the environment describes; a set variable always wins."""
    cluster = Cluster.objects.filter(name=settings.CLUSTER).first() or Cluster(
        name=settings.CLUSTER
    )
    cluster.extender_url = settings.EXTENDER_URL
    cluster.window_seconds = settings.WINDOW_SECONDS
    cluster.tick_seconds = settings.TICK_SECONDS
    cluster.simulated = settings.SIMULATED
    cluster.full_clean()
    cluster.save()
    PrometheusSource.objects.update_or_create(
        cluster=cluster,
        defaults={
            # a password in it stays in the environment, which wins where both are
            "url": without_user(settings.PROMETHEUS_URL),
            "selector": settings.PROMETHEUS_SELECTOR,
        },
    )
    _ensure_key(cluster)
    Version.bump(cluster)
    return cluster


def without_user(url: str) -> str:
    """The URL without a user name and password, to be stored and shown."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


VALID_KEYS = 2  # the present one, and the one before while schedulers are rotated


def _ensure_key(cluster: Cluster) -> None:
    """Make the environment's key the newest, and retire all but the one before."""
    key = settings.EXTENDER_KEY
    newest = cluster.extender_keys.order_by("-pk").first()
    if not key:
        if newest is None:
            logger.warning("cluster=%s has no extender key: set EXTENDER_KEY", cluster)
        return
    digest = secrets.digest(key)
    if newest is not None and newest.digest == digest:
        return
    cluster.extender_keys.filter(digest=digest).delete()
    ExtenderKey.objects.create(
        cluster=cluster, digest=digest, secret=secrets.encrypt(key)
    )
    kept = cluster.extender_keys.order_by("-pk").values_list("pk", flat=True)
    retired, _ = cluster.extender_keys.exclude(pk__in=kept[:VALID_KEYS]).delete()
    audit.record(
        audit.SYSTEM,
        action="key.add",
        target=f"cluster {cluster}",
        summary=f"took extender key {digest[:8]} from the environment"
        + (f", retired {retired}" if retired else ""),
    )


def extender_key(cluster: Cluster) -> str:
    """The newest key in clear, for the one place that needs it: a written target."""
    row = cluster.extender_keys.order_by("-pk").first()
    if row is None:
        raise secrets.SecretError(
            f"cluster {cluster} has no extender key: set BANDMASTER_EXTENDER_KEY and "
            "run `manage.py bootstrap`"
        )
    return secrets.decrypt(bytes(row.secret))


@transaction.atomic
def set_neutral(
    *, cluster: Cluster, on: bool, reason: str, author: str, source: str
) -> Cluster:
    """Turn the kill switch on or off; the extender follows within a second.

    Raises ValidationError when it is turned on without a reason.
    """
    reason = reason.strip()
    if on and not reason:
        raise ValidationError({"reason": "Say why: everyone sees it in the banner."})
    if len(reason) > 200:
        raise ValidationError({"reason": "Use at most 200 characters."})
    cluster.neutral = on
    cluster.neutral_reason = reason if on else ""
    cluster.neutral_by = author if on else ""
    cluster.neutral_since = timezone.now() if on else None
    cluster.full_clean()
    cluster.save(
        update_fields=["neutral", "neutral_reason", "neutral_by", "neutral_since"]
    )
    Version.bump(cluster)
    audit.record(
        audit.Actor(author, source),
        action="neutral.on" if on else "neutral.off",
        target=f"cluster {cluster}",
        summary="turned neutral answers on" if on else "turned neutral answers off",
        reason=reason,
    )
    return cluster
