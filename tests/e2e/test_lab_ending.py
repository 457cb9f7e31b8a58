"""However a lab with real nodes ends, the machine is as it was before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.product import ROOT
from tests.e2e.reallab import programs_or_skip
from tools.lab import only
from tools.lab.processes import Child, start, wait_until
from tools.lab.sweep import leftovers

pytestmark = pytest.mark.e2e_long

UP_SECONDS = 150.0
GONE_SECONDS = 40.0
SETTINGS = (
    "vm/overcommit_memory",
    "vm/panic_on_oom",
    "kernel/panic",
    "kernel/panic_on_oops",
    "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
    "net/ipv4/ip_forward",
)
# where the programs of a node write when nobody tells them otherwise
USUAL = ("/var/lib", "/var/log", "/var/cache", "/run", "/usr/libexec", "/opt", "/etc")


def machine() -> dict[str, object]:
    """What a node could change of the machine that it runs on."""
    settings = {name: Path("/proc/sys", name).read_text() for name in SETTINGS}
    files = {
        place: sorted(path.name for path in Path(place).iterdir()) for place in USUAL
    }
    return {**settings, **files}


def run_lab(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.lab", *arguments],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def interrupt(up: Child) -> None:
    up.send(signal.SIGINT)


def kill(up: Child) -> None:
    up.send(signal.SIGKILL)


def kill_janitor_too(up: Child) -> None:
    children = Path(f"/proc/{up.pid}/task/{up.pid}/children").read_text().split()
    (janitor,) = (
        int(pid)
        for pid in children
        if "sweep-after" in Path(f"/proc/{pid}/cmdline").read_text()
    )
    os.kill(janitor, signal.SIGKILL)
    kill(up)
    wait_until("the name is free", lambda: only.holder() is None, GONE_SECONDS)
    assert leftovers() != []
    call_down(up)


def call_down(_: Child) -> None:
    done = run_lab("down")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("end", [interrupt, kill, kill_janitor_too, call_down])
def test_nothing_is_left(end: Callable[[Child], None], tmp_path: Path) -> None:
    programs_or_skip()
    assert leftovers() == [], "end the lab of this machine first: make lab-down"
    before = machine()
    up = start(
        "tools.lab up",
        [sys.executable, "-m", "tools.lab", "up"],
        log=tmp_path / "up.log",
        cwd=ROOT,
    )

    def is_ready() -> bool:
        up.require_alive()
        return "Ready after" in up.tail(5000)

    try:
        wait_until("the lab is ready", is_ready, UP_SECONDS)
        kinds = {line.split()[0] for line in leftovers()}
        assert kinds == {"process", "network", "link", "mount", "cgroup", "directory"}
        end(up)
        seconds = wait_until(
            "nothing is left",
            lambda: only.holder() is None and leftovers() == [],
            GONE_SECONDS,
        )
        print(f"\n{seconds:.1f} s")
    finally:
        up.stop()
    assert machine() == before


def test_down_without_a_lab_says_so() -> None:
    programs_or_skip()
    done = run_lab("down")
    assert done.returncode == 0
    assert "nothing is left" in done.stdout


def test_a_node_that_does_not_start_says_why(tmp_path: Path) -> None:
    programs_or_skip()
    broken = tmp_path / "containerd"
    broken.write_text("#!/bin/sh\necho the disk is full\nexit 1\n")
    broken.chmod(0o755)
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = run_lab("up", PATH=path, TMPDIR=str(tmp_path))
    assert done.returncode == 1
    assert "containerd of node-" in done.stderr
    assert "the disk is full" in done.stderr
    assert "Traceback" not in done.stderr
    (kept,) = tmp_path.glob("bandmaster-lab-logs-*")
    assert (kept / "node-1" / "containerd.log").is_file()
    assert leftovers() == []
