"""The data directory: private, and used by one supervisor at a time."""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from console.supervisor.refusal import Refusal

LOCK_NAME = "up.lock"
OURS = (LOCK_NAME, "bandmaster.sqlite3", "secrets", "queue", "staticfiles")
ORPHANS_SECONDS = 20.0  # children of a killed supervisor end sooner than this
_POLL_SECONDS = 0.1


def make_private(data_dir: Path) -> None:
    """Make the directory with mode 0700, or take the permissions of others away.

    Raises Refusal when it cannot be written, or when it is somebody else's: open to
    others and with other files in it, such as /tmp.
    """
    try:
        data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if data_dir.stat().st_mode & 0o077:
            _refuse_foreign(data_dir)
            data_dir.chmod(0o700)
        for name in ("tmp", "secrets", "simulator"):
            (data_dir / name).mkdir(mode=0o700, exist_ok=True)
    except OSError as exc:
        raise Refusal(
            f"the data directory {data_dir} cannot be used ({exc.strerror}): "
            "make it writable, or choose another with BANDMASTER_DATA_DIR"
        ) from exc


def _refuse_foreign(data_dir: Path) -> None:
    names = {path.name for path in data_dir.iterdir()}
    if names and not names.intersection(OURS):
        raise Refusal(
            f"the data directory {data_dir} is open to others and holds other files: "
            "choose an empty one with BANDMASTER_DATA_DIR"
        )


def lock(data_dir: Path, url: str, say: Callable[[str], None]) -> int:
    """Take the directory for this process; returns the descriptor that holds it.

    Children inherit the descriptor. When a supervisor was killed, the lock therefore
    lasts until its last child is gone, and this call waits for that.
    Raises Refusal when another supervisor is alive.
    """
    descriptor = _open(data_dir / LOCK_NAME)
    deadline = time.monotonic() + ORPHANS_SECONDS
    told = False
    while not _try_lock(descriptor):
        pid, running_at = _holder(descriptor)
        if pid != os.getpid() and _is_alive(pid):
            raise Refusal(_already_runs(data_dir, pid, running_at))
        if time.monotonic() > deadline:
            raise Refusal(
                f"processes of an earlier start still use {data_dir}: end them, "
                "or choose another data directory with BANDMASTER_DATA_DIR"
            )
        if not told:
            say("waiting for the processes of an earlier start to end")
            told = True
        time.sleep(_POLL_SECONDS)
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "url": url}).encode(), 0)
    return descriptor


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as exc:
        raise Refusal(
            f"{path} cannot be used ({exc.strerror}): run as the user that owns it, "
            "or choose another data directory with BANDMASTER_DATA_DIR"
        ) from exc


def _already_runs(data_dir: Path, pid: int, url: str) -> str:
    return (
        f"Bandmaster already runs on {data_dir} (process {pid}, {url}): stop it first, "
        "or choose another data directory with BANDMASTER_DATA_DIR"
    )


def _try_lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(descriptor: int) -> tuple[int, str]:
    """Process id and URL in the lock file; (0, "") while it is being written."""
    try:
        content = json.loads(os.pread(descriptor, 4096, 0))
        return int(content["pid"]), str(content["url"])
    except (ValueError, KeyError, TypeError):
        return 0, ""


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
