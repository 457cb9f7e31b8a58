"""Hands published stock documents to whoever runs the scheduler."""

from __future__ import annotations

import os
from pathlib import Path

from django.conf import settings

from console.kubescheduler.compiler import fill_key
from console.models import Revision
from console.services import clusters


def simulator_document(data_dir: Path) -> Path:
    """Where the simulated scheduler reads its stock document."""
    return data_dir / "simulator" / "stock.yaml"


def stock_document_with_key(revision: Revision) -> str:
    """The stock document as a scheduler needs it: holds the key, a secret."""
    cluster = revision.configuration.cluster
    return fill_key(revision.stock_document, clusters.extender_key(cluster))


def write_simulator_target(revision: Revision) -> None:
    """Give the simulated cluster's scheduler what was published, at once."""
    if not revision.configuration.cluster.simulated:
        return
    path = simulator_document(settings.DATA_DIR)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_suffix(".part")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
        stream.write(stock_document_with_key(revision))
    part.replace(path)
