"""Keeps the children running until somebody asks to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from itertools import groupby

from console.supervisor.children import Child
from console.supervisor.process import Inheritance, Supervised
from console.supervisor.refusal import Refusal
from console.supervisor.wakeup import Wakeup

PROBE_INTERVAL = 0.1  # seconds, while something is not ready
IDLE_INTERVAL = 60.0

Say = Callable[[str], None]


class Supervisor:
    """The children of one `up`."""

    def __init__(self, inheritance: Inheritance, wakeup: Wakeup, say: Say) -> None:
        self._inheritance = inheritance
        self._wakeup = wakeup
        self._say = say
        self._children: list[Supervised] = []

    def is_stopping(self) -> bool:
        return self._wakeup.stop_requests > 0

    def start(self, children: Sequence[Child]) -> None:
        for child in children:
            supervised = Supervised(child, self._inheritance)
            supervised.step(time.monotonic())
            self._children.append(supervised)

    def run_once(
        self, argv: Sequence[str], environ: dict[str, str], *, capture: bool = False
    ) -> tuple[int, str]:
        """Run a command to its end; returns its exit status and captured output.

        A request to stop ends the command: each of its transactions is all or
        nothing. The other children are watched meanwhile.
        """
        try:
            process = self._inheritance.popen(argv, environ, capture=capture)
        except OSError as exc:
            raise Refusal(
                f"{argv[0]} cannot be started ({exc.strerror}): use a Python that "
                "this user may run"
            ) from exc
        while process.poll() is None:
            if self.is_stopping():
                process.terminate()
            self._step()
            self._wakeup.wait(0.2)
        output = process.stdout.read() if process.stdout else ""
        if process.stdout:
            process.stdout.close()
        return process.returncode, output

    def wait_until_ready(self, seconds: float) -> bool:
        """True when every child is ready; False at the deadline or a stop."""
        deadline = time.monotonic() + seconds
        while not self.is_stopping():
            self._step()
            for supervised in self._children:
                supervised.probe()
            if all(supervised.ready for supervised in self._children):
                return True
            if time.monotonic() >= deadline:
                return False
            self._wakeup.wait(PROBE_INTERVAL)
        return False

    def unready(self) -> list[str]:
        return [one.child.name for one in self._children if not one.ready]

    def run(self) -> None:
        """Restart what ends, until somebody asks to stop."""
        while not self.is_stopping():
            self._step()
            self._wakeup.wait(self._seconds_to_next())

    def stop(self) -> None:
        """End the children, one rank after the other; a second request hurries."""
        ranked = sorted(self._children, key=lambda one: one.child.stop_rank)
        for _, group in groupby(ranked, key=lambda one: one.child.stop_rank):
            members = list(group)
            for supervised in members:
                supervised.ask_to_stop()
            for supervised in members:
                self._finish(supervised)
        self._tell()

    def _finish(self, supervised: Supervised) -> None:
        deadline = time.monotonic() + supervised.child.stop_seconds
        hurried = self._wakeup.stop_requests + 1
        while supervised.is_running and time.monotonic() < deadline:
            if self._wakeup.stop_requests >= hurried:
                break
            self._wakeup.wait(0.1)
        supervised.finish()

    def _step(self) -> None:
        now = time.monotonic()
        for supervised in self._children:
            supervised.step(now)
        self._tell()

    def _tell(self) -> None:
        for supervised in self._children:
            for event in supervised.events:
                self._say(event)
            supervised.events.clear()

    def _seconds_to_next(self) -> float:
        now = time.monotonic()
        waits = [one.due_at - now for one in self._children if not one.is_running]
        return max(0.0, min([*waits, IDLE_INTERVAL]))
