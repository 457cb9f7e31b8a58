"""One child process: started, watched, ended with its whole group."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from console.supervisor.children import Child, Probe
from scoring.lifeline import DESCRIPTOR_VARIABLE

FIRST_BACK_OFF = 0.5  # seconds
LONGEST_BACK_OFF = 30.0
STEADY_SECONDS = 30.0  # up this long: the next fall starts from FIRST_BACK_OFF
PROBE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Inheritance:
    """What every child gets from the supervisor."""

    environ: Mapping[str, str]
    lifeline: int  # read end of the pipe
    lock: int

    def popen(
        self, argv: Sequence[str], environ: Mapping[str, str], *, capture: bool = False
    ) -> subprocess.Popen[str]:
        """Start a program in a session of its own.

        Ctrl-C at the terminal therefore reaches the supervisor alone, which ends the
        children in order.
        """
        return subprocess.Popen(
            argv,
            env={
                **self.environ,
                **environ,
                DESCRIPTOR_VARIABLE: str(self.lifeline),
            },
            pass_fds=(self.lifeline, self.lock),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if capture else None,
            text=True,
            start_new_session=True,
        )


@dataclass(slots=True)
class Supervised:
    """A child and its fate. Times are seconds of one monotonic clock."""

    child: Child
    inheritance: Inheritance
    process: subprocess.Popen[str] | None = None
    started_at: float = 0.0
    due_at: float = 0.0
    back_off: float = FIRST_BACK_OFF
    ready: bool = False
    events: list[str] = field(default_factory=list)

    @property
    def is_running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def step(self, now: float) -> None:
        """Notice an end and plan the next start, or start when that is due."""
        if self.process is None:
            if now >= self.due_at:
                self._start(now)
            return
        code = self.process.poll()
        if code is None:
            return
        self._kill_group()
        self.process = None
        if now - self.started_at >= STEADY_SECONDS:
            self.back_off = FIRST_BACK_OFF
        self._plan(now, f"ended ({describe_exit(code)})")

    def _start(self, now: float) -> None:
        self.started_at = now
        self.ready = False
        try:
            self.process = self.inheritance.popen(self.child.argv, self.child.environ)
        except OSError as exc:
            self._plan(now, f"cannot be started ({exc.strerror})")

    def _plan(self, now: float, what: str) -> None:
        self.due_at = now + self.back_off
        self.events.append(
            f"{self.child.name} {what}: starting it again in {self.back_off:g} s"
        )
        self.back_off = min(self.back_off * 2, LONGEST_BACK_OFF)

    def probe(self) -> None:
        """Find out whether a running child has become ready."""
        if self.process is None or self.ready:
            return
        if self.child.probe is None or answers(self.child.probe):
            self.ready = True

    def ask_to_stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()

    def finish(self) -> None:
        """End the whole group now; says so when the child had not stopped itself."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.events.append(f"{self.child.name} did not stop in time: killed it")
        self._kill_group()
        self.process.wait()
        self.process = None

    def _kill_group(self) -> None:
        """End what a dead child left behind: granian's worker outlives granian."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):  # nobody left
            os.killpg(self.process.pid, signal.SIGKILL)


def describe_exit(code: int) -> str:
    """A return code of Popen in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return f"killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"killed by signal {-code}"


def answers(probe: Probe) -> bool:
    """True when a GET is answered with a status below 500."""
    connection = http.client.HTTPConnection(
        probe.host, probe.port, timeout=PROBE_SECONDS
    )
    try:
        connection.request("GET", probe.path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
