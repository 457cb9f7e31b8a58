"""The data directory is private and has one user."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from console.supervisor import datadir
from console.supervisor.refusal import Refusal

HOLD = """
import fcntl, os, sys
descriptor = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
fcntl.flock(descriptor, fcntl.LOCK_EX)
os.pwrite(descriptor, sys.argv[2].encode(), 0)
print("held", flush=True)
sys.stdin.read()
"""


def hold(data_dir: Path, content: str) -> subprocess.Popen[str]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(data_dir / datadir.LOCK_NAME), content],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    return holder


def release(holder: subprocess.Popen[str]) -> None:
    holder.communicate("")


def dead_pid() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_directory_is_private(tmp_path: Path) -> None:
    datadir.make_private(tmp_path / "a" / "var")
    assert mode(tmp_path / "a" / "var") == 0o700


def test_our_directory_is_made_private_again(tmp_path: Path) -> None:
    (tmp_path / "bandmaster.sqlite3").touch()
    tmp_path.chmod(0o755)
    datadir.make_private(tmp_path)
    assert mode(tmp_path) == 0o700


def test_a_directory_of_others_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "theirs").touch()
    tmp_path.chmod(0o755)
    with pytest.raises(Refusal, match="holds other files: choose an empty one"):
        datadir.make_private(tmp_path)
    assert mode(tmp_path) == 0o755


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "var").touch()
    with pytest.raises(Refusal, match=r"cannot be used .* BANDMASTER_DATA_DIR"):
        datadir.make_private(tmp_path / "var")


def test_a_lock_that_cannot_be_opened_is_refused(tmp_path: Path) -> None:
    (tmp_path / datadir.LOCK_NAME).mkdir()
    with pytest.raises(Refusal, match=r"up.lock cannot be used .Is a directory.: run"):
        datadir.lock(tmp_path, "http://127.0.0.1:9/", print)


def test_a_living_supervisor_is_named(tmp_path: Path) -> None:
    holder = hold(
        tmp_path, json.dumps({"pid": os.getppid(), "url": "http://127.0.0.1:8000/"})
    )
    try:
        with pytest.raises(Refusal) as refused:
            datadir.lock(tmp_path, "http://127.0.0.1:9/", print)
    finally:
        release(holder)
    assert f"process {os.getppid()}, http://127.0.0.1:8000/" in str(refused.value)


def test_the_children_of_a_killed_supervisor_are_waited_for(tmp_path: Path) -> None:
    holder = hold(tmp_path, json.dumps({"pid": dead_pid(), "url": "http://x/"}))
    said: list[str] = []
    timer = threading.Timer(0.5, release, [holder])
    timer.start()
    descriptor = datadir.lock(tmp_path, "http://127.0.0.1:9/", said.append)
    timer.join()
    os.close(descriptor)
    assert said == ["waiting for the processes of an earlier start to end"]


def test_children_that_never_end_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datadir, "ORPHANS_SECONDS", 0.3)
    holder = hold(tmp_path, json.dumps({"pid": dead_pid(), "url": "http://x/"}))
    try:
        with pytest.raises(Refusal, match="processes of an earlier start still use"):
            datadir.lock(tmp_path, "http://127.0.0.1:9/", print)
    finally:
        release(holder)


@pytest.mark.parametrize("content", ["", "nonsense", "[]", '{"pid": "x"}'])
def test_what_an_old_lock_file_says_does_not_matter(
    tmp_path: Path, content: str
) -> None:
    (tmp_path / datadir.LOCK_NAME).write_text(content, encoding="utf-8")
    descriptor = datadir.lock(tmp_path, "http://127.0.0.1:9/", print)
    os.close(descriptor)
    written = json.loads((tmp_path / datadir.LOCK_NAME).read_text(encoding="utf-8"))
    assert written == {"pid": os.getpid(), "url": "http://127.0.0.1:9/"}
