"""A real PostgreSQL that can hang, stop and come back on the same data."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from tools.lab.processes import Child, free_port, start, wait_until

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


class Postgres:
    """Use as a context manager. It refuses root, so root runs it as `postgres`."""

    def __init__(self) -> None:
        # not below pytest's own directory: that is closed to other accounts
        self._home = Path(tempfile.mkdtemp(prefix="bandmaster-postgres-"))
        self.port = free_port()
        self._as_user: list[str] = []
        if os.getuid() == 0:
            account = pwd.getpwnam("postgres")
            self._as_user = [
                *("setpriv", "--reuid", str(account.pw_uid)),
                *("--regid", str(account.pw_gid), "--clear-groups"),
                *("--pdeathsig", "KILL"),
            ]
            shutil.chown(self._home, account.pw_uid, account.pw_gid)
        self._child: Child | None = None

    @property
    def url(self) -> str:
        return f"postgres://bandmaster@127.0.0.1:{self.port}/postgres"

    def __enter__(self) -> Postgres:
        options = ["-U", "bandmaster", "-A", "trust", "-E", "UTF8", "--locale=C"]
        subprocess.run(
            [
                *(*self._as_user, str(PROGRAMS[-1] / "initdb")),
                *("-D", str(self._home / "data"), *options, "--no-sync"),
            ],
            check=True,
            capture_output=True,
            cwd=self._home,
            timeout=60,
        )
        self.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()
        shutil.rmtree(self._home)

    def start(self) -> None:
        command = [
            *(*self._as_user, str(PROGRAMS[-1] / "postgres")),
            *("-D", str(self._home / "data"), "-p", str(self.port)),
            *("-c", "listen_addresses=127.0.0.1"),
            *("-c", f"unix_socket_directories={self._home}", "-c", "fsync=off"),
        ]
        log = self._home / "log"
        self._child = start("postgres", command, log=log, cwd=self._home)
        wait_until("postgres", self._is_ready, 30)

    def stop(self) -> None:
        """At once, as by a crash: nobody is waited for."""
        if self._child is not None:
            self._child.send(signal.SIGQUIT)
            self._child.stop()
            self._child = None

    def hang(self) -> None:
        """It holds its connections and answers none."""
        self._send(signal.SIGSTOP)

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def _send(self, number: signal.Signals) -> None:
        assert self._child is not None
        for pid in (self._child.pid, *children_of(self._child.pid)):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def _is_ready(self) -> bool:
        if self._child is not None:
            self._child.require_alive()
        ready = [str(PROGRAMS[-1] / "pg_isready"), "-h", "127.0.0.1", "-p"]
        done = subprocess.run(
            [*ready, str(self.port)], check=False, capture_output=True, timeout=10
        )
        return done.returncode == 0


def children_of(pid: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = entry.read_text().rpartition(")")[2].split()
            if int(fields[1]) == pid:
                found.append(int(entry.parent.name))
    return found
