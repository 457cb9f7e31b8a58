"""Finds and takes away whatever a lab with real nodes left on its machine.

It goes by the lab's own names and mark, never by what a process is called: nothing
that somebody else started can be hit. It may run at any time, and again.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from tools.lab import place

GONE_SECONDS = 15.0
COMMAND_SECONDS = 30


def sweep() -> list[str]:
    """Takes everything away; returns what is still there, as `leftovers` says it."""
    _end_processes()
    for name in _namespaces():
        _try("ip", "netns", "delete", name)
    for name in _links():
        _try("ip", "link", "delete", name)
    for target in reversed(_mounts()):
        _try("umount", "--lazy", target)
    for directory in _cgroups():
        with contextlib.suppress(OSError):
            directory.rmdir()
    shutil.rmtree(place.STATE, ignore_errors=True)
    return leftovers()


def leftovers() -> list[str]:
    """One line for everything of a lab that is on this machine now."""
    found = [f"process {pid}" for pid in _processes()]
    found += [f"network namespace {name}" for name in _namespaces()]
    found += [f"link {name}" for name in _links()]
    found += [f"mount {target}" for target in _mounts()]
    found += [f"cgroup {directory}" for directory in _cgroups()]
    if place.STATE.exists():
        found.append(f"directory {place.STATE}")
    return found


def _end_processes() -> None:
    """Kills until nobody is left: a process may start another meanwhile."""
    deadline = time.monotonic() + GONE_SECONDS
    while (found := _processes()) and time.monotonic() < deadline:
        for pid in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)


def _processes() -> list[int]:
    found = {pid for pid in _all_processes() if _is_marked(pid)}
    for directory in _cgroups():
        with contextlib.suppress(OSError):
            listed = (directory / "cgroup.procs").read_text(encoding="utf-8")
            found |= {int(pid) for pid in listed.split()}
    for name in _namespaces():
        found |= {int(pid) for pid in _try("ip", "netns", "pids", name).split()}
    return sorted(found - {os.getpid()})


def _all_processes() -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _is_marked(pid: int) -> bool:
    """Whether a process that still runs was started by a lab."""
    try:
        environ = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return False
    return f"{place.MARK}=1".encode() in environ.split(b"\0")


def _namespaces() -> list[str]:
    return sorted(p.name for p in place.NETNS.glob(f"{place.NETNS_PREFIX}*"))


def _links() -> list[str]:
    names = (path.name for path in Path("/sys/class/net").iterdir())
    return sorted(name for name in names if place.LINK_NAME.fullmatch(name))


def _mounts() -> list[str]:
    """Mount points below our directories, parents first."""
    ours = (f"{place.STATE}/", f"{place.NETNS}/{place.NETNS_PREFIX}")
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    targets = (line.split(" ")[4] for line in lines)
    return sorted({target for target in targets if target.startswith(ours)})


def _cgroups() -> list[Path]:
    """Our cgroups in every tree, the deepest first."""
    found: list[Path] = []
    for root in place.hierarchies():
        for top, _, _ in os.walk(root / place.CGROUP, topdown=False):
            found.append(Path(top))
    return found


def _try(*command: str) -> str:
    """What a command prints; that it fails shows in what is left."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
    )
    return done.stdout
