"""`up` as another user, without a home, from another directory, at a terminal."""

from __future__ import annotations

import contextlib
import os
import pty
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests import components
from tests.console.supervisor.rig import ROOT, STOP_SECONDS, Up, clean_environ
from tests.servers import free_port, wait_until

PYTHON_RUNS = 'exec "$0" -c "import django"'  # a second exec, as every child is one


@dataclass(frozen=True, slots=True)
class Ordinary:
    """How to run a command without the powers of root, and who then owns files."""

    prefix: tuple[str, ...]
    uid: int

    def runs_python(self) -> bool:
        command = [*self.prefix, "sh", "-c", PYTHON_RUNS, sys.executable]
        done = subprocess.run(command, capture_output=True, check=False, cwd="/")
        return done.returncode == 0


@pytest.fixture
def ordinary() -> Ordinary:
    """This user, or for root the user nobody, or root's files without its powers."""
    if os.geteuid() != 0:
        return Ordinary((), os.geteuid())
    uid = pwd.getpwnam("nobody").pw_uid
    setpriv = ("setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--")
    # where Python lies in root's home, only a user namespace can still reach it
    unshare = ("unshare", "--user", f"--map-user={uid}", "--")
    choices = (Ordinary(setpriv, uid), Ordinary(unshare, 0))
    found = next((one for one in choices if one.runs_python()), None)
    if found is None:
        components.missing("no user but root may run this Python")
    return found


@pytest.fixture
def place(ordinary: Ordinary) -> Iterator[Path]:
    """A directory with a data directory and a home that may not be written."""
    made = Path(tempfile.mkdtemp(prefix="bandmaster-"))
    made.chmod(0o755)
    (made / "var").mkdir(mode=0o700)
    (made / "home").mkdir(mode=0o500)
    for name in ("var", "home"):
        os.chown(made / name, ordinary.uid, -1)
    yield made
    shutil.rmtree(made)


def powers(pid: int) -> int:
    """Effective capabilities: 0 for every ordinary user."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    line = next(one for one in status.splitlines() if one.startswith("CapEff:"))
    return int(line.split()[1], 16)


def temporary_files(uid: int) -> set[Path]:
    found = set()
    for path in Path("/tmp").iterdir():
        with contextlib.suppress(OSError):
            if path.stat().st_uid == uid:
                found.add(path)
    return found


def test_an_ordinary_user_with_a_read_only_home(
    place: Path, ordinary: Ordinary
) -> None:
    home = place / "home"
    before = temporary_files(ordinary.uid)
    up = Up(place / "var", prefix=ordinary.prefix, environ={"HOME": str(home)})
    try:
        up.wait_ready()
        assert up.pages_answer()
        assert up.extender_answers()
        assert {powers(pid) for pid in up.processes()} == {0}
        if ordinary.uid:  # root's own files cannot be told from other tests'
            assert temporary_files(ordinary.uid) == before
        assert up.stop(signal.SIGTERM) == 0
    finally:
        up.close()
    assert list(home.iterdir()) == []
    assert "Traceback" not in up.output


def test_a_data_directory_that_may_not_be_written(
    place: Path, ordinary: Ordinary
) -> None:
    done = subprocess.run(
        [*ordinary.prefix, sys.executable, str(ROOT / "manage.py"), "up"],
        env={**clean_environ(), "BANDMASTER_DATA_DIR": str(place / "home" / "var")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"bandmaster: the data directory {place}/home/var cannot be used (Permission "
        "denied): make it writable, or choose another with BANDMASTER_DATA_DIR\n"
    )


class Terminal:
    """`up` with a terminal as its output; text collects in `output`."""

    def __init__(self, data_dir: Path) -> None:
        self.output = ""
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [
                *(sys.executable, str(ROOT / "manage.py"), "up"),
                *("--port", str(free_port()), "--extender-port", str(free_port())),
            ],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env={**clean_environ(), "BANDMASTER_DATA_DIR": str(data_dir)},
            start_new_session=True,
        )
        os.close(slave)
        os.set_blocking(self._master, False)

    def shows(self, text: str) -> bool:
        try:
            while chunk := os.read(self._master, 65536):
                self.output += chunk.decode(errors="replace")
        except (BlockingIOError, OSError):
            pass
        return text in self.output

    def stop(self) -> int:
        self.process.send_signal(signal.SIGINT)
        wait_until(
            lambda: self.shows("\0") or self.process.poll() is not None,
            "the end",
            STOP_SECONDS,
        )
        self.shows("")
        os.close(self._master)
        return self.process.wait()


def test_at_a_terminal_the_password_is_shown_once(tmp_path: Path) -> None:
    told = "log in as admin with the one-time password "
    first = Terminal(tmp_path / "var")
    wait_until(lambda: first.shows(told), f"the password {first.output}", 60)
    assert first.stop() == 0
    assert first.output.count(told) == 1
    assert not (tmp_path / "var" / "first-admin-password").exists()
    second = Terminal(tmp_path / "var")
    wait_until(lambda: second.shows("ready after"), f"ready {second.output}", 60)
    assert second.stop() == 0
    assert "password" not in second.output
