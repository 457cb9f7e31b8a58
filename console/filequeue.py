"""Celery over a folder: the queue of an installation without a broker.

kombu's own filesystem transport writes a message where a reader may take it half
written, and one that cannot be read ends the worker. Here a message appears by rename
and is claimed by rename, within one folder; what cannot be read is dropped.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
import uuid
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES, virtual

logger = logging.getLogger(__name__)

SCHEME = "bmfs"
_LEFTOVER_SECONDS = 3600.0  # a claim that old belongs to a killed reader


def register() -> None:
    """Make `bmfs://` a broker URL."""
    TRANSPORT_ALIASES[SCHEME] = f"{__name__}:Transport"


def transport_options(folder: Path) -> dict[str, object]:
    """The options of a queue in `folder`, which is made with the first message."""
    return {"folder": str(folder), "polling_interval": 0.2}


class Channel(virtual.Channel):
    """Messages are files `<order>_<id>.<queue>.msg`; names with a dot are in work."""

    def __init__(self, connection: Any, **kwargs: Any) -> None:
        super().__init__(connection, **kwargs)
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        oldest = time.time() - _LEFTOVER_SECONDS
        for path in self._folder.glob(".*.msg"):
            try:
                if path.stat().st_mtime < oldest:
                    path.unlink()
            except FileNotFoundError:
                continue  # another channel was quicker

    @property
    def _folder(self) -> Path:
        client: Any = self.connection.client
        return Path(client.transport_options["folder"])

    def _put(self, queue: str, message: Any, **_: Any) -> None:
        name = f"{time.time_ns():020d}_{uuid.uuid4().hex}.{queue}.msg"
        part = self._folder / f".{name}"
        try:
            part.write_text(json.dumps(message), encoding="utf-8")
            part.rename(self._folder / name)
        except OSError as exc:
            with contextlib.suppress(OSError):
                part.unlink()
            raise OperationalError(
                f"the folder {self._folder} cannot be written: {exc.strerror}"
            ) from exc

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        for path in self._waiting(queue):
            claimed = path.with_name(f".{path.name}")
            try:
                path.rename(claimed)
            except OSError:
                continue  # another reader was quicker, or nothing can be written
            message = _read(claimed)
            if message is not None:
                return message
        raise Empty

    def _waiting(self, queue: str) -> list[Path]:
        found = self._folder.glob(f"[!.]*.{queue}.msg")
        return sorted(p for p in found if p.name.partition(".")[2] == f"{queue}.msg")

    def _size(self, queue: str) -> int:
        return len(self._waiting(queue))

    def _purge(self, queue: str) -> int:
        waiting = self._waiting(queue)
        for path in waiting:
            path.unlink(missing_ok=True)
        return len(waiting)


def _read(claimed: Path) -> dict[str, Any] | None:
    """The message in a claimed file, which is gone afterwards; None for no message."""
    try:
        message = json.loads(claimed.read_bytes())
    except (OSError, ValueError):
        message = None
    with contextlib.suppress(OSError):
        claimed.unlink()
    if isinstance(message, dict) and {"body", "headers", "properties"} <= set(message):
        return message
    logger.warning("queue file=%s is no message and was dropped", claimed.name)
    return None


class Transport(virtual.Transport):
    """A polled transport over one folder; every process routes for itself."""

    Channel = Channel
    default_port = 0
    driver_type = SCHEME
    driver_name = SCHEME
