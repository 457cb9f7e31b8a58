"""A real `manage.py up` on ports and data of its own, seen from outside."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.servers import answers, free_port, wait_until

ROOT = Path(__file__).resolve().parents[3]
START_SECONDS = 120.0  # two cores that other tests use too
STOP_SECONDS = 40.0  # the children get 6, then 4, then 4
# how each child is told from the others by its command line
MARKS = {
    "web": "console.wsgi:application",
    "extender": "scoring.extender.serve",
    "worker": "console.celery",
    "simulator": "scoring.simulator",
}


class Up:
    """One `up`; close() ends whatever is left of it."""

    def __init__(
        self,
        data_dir: Path,
        *,
        environ: Mapping[str, str] | None = None,
        prefix: tuple[str, ...] = (),
        ports: tuple[int, int] | None = None,
    ) -> None:
        self.data_dir = data_dir
        self.port, self.extender_port = ports or (free_port(), free_port())
        self.log = data_dir.parent / f"{data_dir.name}-{self.port}.log"
        with self.log.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(*prefix, sys.executable, str(ROOT / "manage.py"), "up"),
                    *("--port", str(self.port)),
                    *("--extender-port", str(self.extender_port)),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                cwd=data_dir.parent,
                env={**clean_environ(), "BANDMASTER_DATA_DIR": str(data_dir)}
                | dict(environ or {}),
            )
        self.seen: set[int] = set()

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def lines(self) -> list[str]:
        """What the supervisor itself said."""
        mark = "bandmaster: "
        found = [line for line in self.output.splitlines() if line.startswith(mark)]
        return [line.removeprefix(mark) for line in found]

    @property
    def web_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def extender_url(self) -> str:
        return f"http://127.0.0.1:{self.extender_port}"

    def wait_ready(self, times: int = 1) -> Up:
        def is_ready() -> bool:
            assert self.process.poll() is None, f"ended:\n{self.output}"
            return sum(line.startswith("ready after") for line in self.lines) >= times

        wait_until(is_ready, f"ready\n{self.output}", START_SECONDS)
        self.processes()
        return self

    def processes(self) -> dict[int, str]:
        """Command lines of everything beneath the supervisor."""
        found = descendants(self.process.pid)
        self.seen.update(found)
        return found

    def pid_of(self, name: str) -> int:
        """Main process of a child."""
        for pid, command in self.processes().items():
            if MARKS[name] in command and parent_of(pid) == self.process.pid:
                return pid
        raise AssertionError(f"{name} does not run:\n{self.output}")

    def wait(self, seconds: float = START_SECONDS) -> int:
        return self.process.wait(seconds)

    def stop(self, number: int = signal.SIGINT) -> int:
        self.processes()
        self.process.send_signal(number)
        return self.process.wait(STOP_SECONDS)

    def pages_answer(self) -> bool:
        return answers(f"{self.web_url}/login")

    def extender_answers(self) -> bool:
        return answers(f"{self.extender_url}/livez")

    def close(self) -> None:
        if self.process.poll() is None:
            self.processes()
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        wait_until(self.all_gone, f"the end of all\n{self.output}", 60)

    def all_gone(self) -> bool:
        return not [pid for pid in self.seen if is_ours(pid)]

    def query(self, sql: str) -> list[tuple[object, ...]]:
        path = self.data_dir / "bandmaster.sqlite3"
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10) as database:
            rows = database.execute(sql).fetchall()
        database.close()
        return rows


def clean_environ() -> dict[str, str]:
    """This environment without anything that would configure Bandmaster."""
    return {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("BANDMASTER_", "DJANGO_", "CELERY_"))
    }


def descendants(pid: int) -> dict[int, str]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            children.setdefault(parent_of(int(entry.name)), []).append(int(entry.name))
    found: dict[int, str] = {}
    waiting = list(children.get(pid, []))
    while waiting:
        child = waiting.pop()
        found[child] = command_of(child)
        waiting += children.get(child, [])
    return found


def parent_of(pid: int) -> int:
    return int(_stat(pid)[1]) if _stat(pid) else 0


def is_ours(pid: int) -> bool:
    """Whether the process runs, and is not another that got the same id."""
    fields = _stat(pid)
    if not fields or fields[0] == "Z":
        return False
    return any(mark in command_of(pid) for mark in (*MARKS.values(), "multiprocessing"))


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat after the name; empty when there is no such process."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
