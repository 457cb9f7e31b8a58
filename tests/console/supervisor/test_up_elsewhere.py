"""`up` as another user, without a home, from another directory, at a terminal."""

from __future__ import annotations

import os
import pty
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import components
from tests.console.supervisor.rig import ROOT, STOP_SECONDS, Up, clean_environ
from tests.servers import free_port, wait_until


@pytest.fixture
def nobody() -> tuple[str, ...]:
    """A prefix that runs a command as the user nobody."""
    if os.geteuid() != 0:
        return ()  # these tests run as an ordinary user already
    identity = pwd.getpwnam("nobody")
    prefix = (
        components.require("setpriv"),
        f"--reuid={identity.pw_uid}",
        f"--regid={identity.pw_gid}",
        "--clear-groups",
        "--",
    )
    tried = subprocess.run(
        [*prefix, sys.executable, "-c", "import django"],
        capture_output=True,
        check=False,
        cwd="/",
    )
    if tried.returncode:
        components.missing("the user nobody may not run this Python")
    return prefix


@pytest.fixture
def place(nobody: tuple[str, ...]) -> Iterator[Path]:
    """A directory that nobody may reach, with one in it that nobody may write."""
    made = Path(tempfile.mkdtemp(prefix="bandmaster-"))
    made.chmod(0o755)
    (made / "var").mkdir(mode=0o700)
    (made / "home").mkdir(mode=0o500)
    if nobody:
        identity = pwd.getpwnam("nobody")
        for name in ("var", "home"):
            os.chown(made / name, identity.pw_uid, identity.pw_gid)
    yield made
    shutil.rmtree(made)


def test_an_ordinary_user_with_a_read_only_home(
    place: Path, nobody: tuple[str, ...]
) -> None:
    home = place / "home"
    before = set(Path("/tmp").glob("*"))
    up = Up(place / "var", prefix=nobody, environ={"HOME": str(home)})
    try:
        up.wait_ready()
        assert up.pages_answer()
        assert up.extender_answers()
        if nobody:
            uid = pwd.getpwnam("nobody").pw_uid
            owners = {Path(f"/proc/{pid}").stat().st_uid for pid in up.processes()}
            assert owners == {uid}
        assert up.stop(signal.SIGTERM) == 0
    finally:
        up.close()
    assert list(home.iterdir()) == []
    assert "Traceback" not in up.output
    left = {
        path for path in set(Path("/tmp").glob("*")) - before if owned(path, nobody)
    }
    assert left == set()  # temporary files live in the data directory


def owned(path: Path, nobody: tuple[str, ...]) -> bool:
    """Whether the run made it; only a user of its own can be told from others."""
    try:
        return bool(nobody) and path.stat().st_uid == pwd.getpwnam("nobody").pw_uid
    except OSError:
        return False


def test_a_data_directory_that_may_not_be_written(
    place: Path, nobody: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [*nobody, sys.executable, str(ROOT / "manage.py"), "up"],
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
