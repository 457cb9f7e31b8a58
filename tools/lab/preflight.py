"""Says in one sentence what this machine lacks for a lab with real nodes."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from tools.lab.processes import LabError

# what has to be there -> the Debian package that brings it
PACKAGES = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/lib/cni/host-local": "containernetworking-plugins",
    "iptables": "iptables",
    "busybox": "busybox-static",
    "ip": "iproute2",
    "unshare": "util-linux",
    "nsenter": "util-linux",
    "setpriv": "util-linux",
    "openssl": "openssl",
    "prometheus": "prometheus",
    "prometheus-node-exporter": "prometheus-node-exporter",
}
PROBE = ("unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "true")


def has(what: str) -> bool:
    """Whether the file, or the program on PATH, is there."""
    return Path(what).exists() if what.startswith("/") else bool(shutil.which(what))


def require(*, user: int | None = None, present: Callable[[str], bool] = has) -> None:
    """Checks everything that a lab needs of its machine.

    Raises:
        LabError: something is missing; the text names the line that brings it.
    """
    if (os.geteuid() if user is None else user) != 0:
        raise LabError(
            "real nodes need root for their namespaces: run it again with sudo"
        )
    missing = sorted({PACKAGES[what] for what in PACKAGES if not present(what)})
    if missing:
        raise LabError(
            "real nodes need more packages: "
            f"apt-get install --no-install-recommends {' '.join(missing)}"
        )
    _require_namespaces()


def _require_namespaces() -> None:
    probe = subprocess.run(PROBE, capture_output=True, timeout=30, check=False)
    if probe.returncode != 0:
        raise LabError(
            "this machine lets root make no namespaces (a container without "
            "privileges?): run the lab on a machine of its own"
        )
