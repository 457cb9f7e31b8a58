"""Celery's way in. Tasks take names, call one function, and never raise."""

from __future__ import annotations

import logging
import os
import socket

from celery import shared_task
from django.db import DatabaseError
from kombu.exceptions import OperationalError

from scoring import collector
from scoring.models import Cluster

logger = logging.getLogger(__name__)


@shared_task(name="scoring.tick_all")
def tick_all() -> None:
    """Send one tick per cluster, so that a slow cluster delays no other."""
    try:
        clusters = list(Cluster.objects.values_list("name", "tick_seconds"))
    except DatabaseError as exc:
        logger.warning("no tick: the database cannot be used (%s)", type(exc).__name__)
        return
    for name, seconds in clusters:
        try:
            tick.apply_async((name,), expires=float(seconds))
        except OperationalError as exc:
            logger.warning("cluster=%s no tick: the queue fails (%s)", name, exc)


@shared_task(name="scoring.tick")
def tick(cluster_name: str) -> None:
    """Collect once from one cluster, unless a tick runs or was a moment ago."""
    owner = f"{socket.gethostname()}:{os.getpid()}"
    try:
        collector.tick(cluster_name, owner=owner, spaced=True)
    except Cluster.DoesNotExist:
        logger.warning("no tick: there is no cluster %s any more", cluster_name)
    except DatabaseError as exc:
        logger.warning(
            "cluster=%s no tick: the database cannot be used (%s)",
            cluster_name,
            type(exc).__name__,
        )
