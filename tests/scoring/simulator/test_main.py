"""The simulator as a process: its ports, its file, its end."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring.lifeline import DESCRIPTOR_VARIABLE

START_SECONDS = 15.0


@contextlib.contextmanager
def simulator(
    directory: Path, *more: str, lifeline: int | None = None
) -> Iterator[subprocess.Popen[str]]:
    arguments = [
        *(sys.executable, "-m", "scoring.simulator", "--port", "0"),
        *("--kubeconfig-out", str(directory / "kubeconfig"), *more),
    ]
    environ = dict(os.environ)
    if lifeline is not None:
        environ[DESCRIPTOR_VARIABLE] = str(lifeline)
    process = subprocess.Popen(
        arguments,
        stderr=subprocess.PIPE,
        text=True,
        env=environ,
        pass_fds=() if lifeline is None else (lifeline,),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready_url(process: subprocess.Popen[str]) -> str:
    """The address in the line that says that it is ready."""
    assert process.stderr is not None
    line = process.stderr.readline()
    assert line.startswith("simulating "), line
    return line.split()[-1]


def refused(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "scoring.simulator", *arguments],
        capture_output=True,
        text=True,
        timeout=START_SECONDS,
    )
    return done.returncode, done.stderr


def test_it_starts_fast_small_and_without_django(tmp_path: Path) -> None:
    started = time.monotonic()
    with simulator(tmp_path, "--nodes", "40") as process:
        url = ready_url(process)
        took = time.monotonic() - started
        with urllib.request.urlopen(f"{url}/readyz", timeout=30) as response:
            assert response.read() == b"ok\n"
        status = Path(f"/proc/{process.pid}/status")
        if status.exists():
            used = next(
                line for line in status.read_text().splitlines() if "VmRSS" in line
            )
            assert int(used.split()[1]) < 40 * 1024
            maps = Path(f"/proc/{process.pid}/maps").read_text()
            assert "numpy" not in maps
    assert took < 5  # about half a second when nothing else runs


def test_no_module_of_django_is_imported() -> None:
    code = (
        "import sys, scoring.simulator.__main__;"
        "print([m for m in sys.modules if m.split('.')[0] in"
        " ('django', 'numpy', 'kubernetes', 'requests', 'celery')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_kubeconfig_is_for_its_owner_and_points_here(tmp_path: Path) -> None:
    with simulator(tmp_path, "--nodes", "5") as process:
        url = ready_url(process)
        path = tmp_path / "kubeconfig"
        assert path.stat().st_mode & 0o777 == 0o600
        assert list(tmp_path.iterdir()) == [path]
        document = json.loads(path.read_text())
        assert document["clusters"][0]["cluster"]["server"] == url
        token = document["users"][0]["user"]["token"]
        request = urllib.request.Request(
            f"{url}/api/v1/nodes", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            assert len(json.load(response)["items"]) == 5


def test_a_signal_ends_it_cleanly(tmp_path: Path) -> None:
    with simulator(tmp_path, "--nodes", "5") as process:
        ready_url(process)
        process.terminate()
        _, rest = process.communicate(timeout=30)
        assert process.returncode == 0
        assert "Traceback" not in rest


def test_it_ends_with_its_supervisor(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    try:
        with simulator(tmp_path, "--nodes", "5", lifeline=read_end) as process:
            ready_url(process)
            assert process.poll() is None
            os.close(write_end)
            assert process.wait(5) == 0
    finally:
        os.close(read_end)


def test_a_busy_port_is_one_sentence(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        status, said = refused(
            *("--port", str(port), "--kubeconfig-out", str(tmp_path / "k"))
        )
    assert status == 2
    assert said == (
        f"the simulator cannot start: port {port} of 127.0.0.1 cannot be used "
        "(Address already in use)\n"
    )
    assert not (tmp_path / "k").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--port", "99999"], "'99999' is not a port from 0 to 65535"),
        (["--port", "x"], "'x' is not a port from 0 to 65535"),
        (["--port", "0", "--nodes", "3"], "has 4 to 1000 nodes, not 3"),
        (["--port", "0", "--extender-url", "https://x"], "write http://HOST:PORT"),
        (["--port", "0", "--kubeconfig-out", "/dev/null/k"], "cannot be written"),
    ],
)
def test_odd_arguments_are_refused_in_words(
    arguments: list[str], sentence: str, tmp_path: Path
) -> None:
    place = ["--kubeconfig-out", str(tmp_path / "k")]
    status, said = refused(*place, *arguments)
    assert status == 2
    assert sentence in said
    assert "Traceback" not in said
    assert not list(tmp_path.iterdir())
