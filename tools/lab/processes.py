"""Child programs of the lab: started with a log, ended by their own process id."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

STOP_SECONDS = 10.0


class LabError(Exception):
    """Something of the lab did not come up; the text says what and where its log is."""


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(what: str, holds: Callable[[], bool], seconds: float) -> float:
    """Polls until `holds()` is true; returns the seconds that it took.

    Raises:
        LabError: it did not become true in time.
    """
    started = time.monotonic()
    while not holds():
        if time.monotonic() - started > seconds:
            raise LabError(f"{what}: not within {seconds:g} s")
        time.sleep(0.05)
    return time.monotonic() - started


@dataclass(frozen=True, slots=True)
class Child:
    """A started program in its own process group."""

    name: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def alive(self) -> bool:
        return self.process.poll() is None

    def require_alive(self) -> None:
        if not self.alive():
            raise LabError(
                f"{self.name} ended with {self.process.returncode}: {self.tail()}"
            )

    def tail(self, size: int = 1500) -> str:
        """The last of its log."""
        return self.log.read_text(encoding="utf-8", errors="replace")[-size:]

    def send(self, number: signal.Signals) -> None:
        if self.alive():
            os.kill(self.pid, number)

    def stop(self, *, gently: bool = True) -> None:
        """Ends it, and what it started; safe to call again."""
        if gently and self.alive():
            self.process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        # the group outlives its leader when a grandchild ignores the signal
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(STOP_SECONDS)


def start(
    name: str,
    command: Sequence[str],
    *,
    log: Path,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Child:
    """Starts a program that dies with us, however we die."""
    setpriv = shutil.which("setpriv")
    guard = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as stream:
        process = subprocess.Popen(
            [*guard, *command],
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=None if env is None else dict(env),
            cwd=cwd,
            start_new_session=True,
        )
    return Child(name, process, log)
