"""A container image of one static busybox, as `docker save` would write it.

Nodes cannot pull anything; what their pods run is put on them from this file. It has
no C library: an applet that looks up names (wget, ping) crashes, `nc` with an address
works.
"""

from __future__ import annotations

import hashlib
import io
import json
import platform
import shutil
import subprocess
import tarfile
from pathlib import Path

from tools.lab.processes import LabError

NAME = "localhost/bandmaster-lab:1"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
LISTED_SECONDS = 10


def write_image(target: Path) -> None:
    """Writes the image. It has /bin with every applet, /tmp, and sleeps by default.

    Raises:
        LabError: there is no busybox.
    """
    busybox = shutil.which("busybox")
    if busybox is None:
        raise LabError("busybox is missing: apt-get install busybox-static")
    layer = _layer(Path(busybox))
    config = _config(hashlib.sha256(layer).hexdigest())
    name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = [{"Config": name, "RepoTags": [NAME], "Layers": ["layer.tar"]}]
    with tarfile.open(target, "w") as archive:
        _add(archive, name, config)
        _add(archive, "layer.tar", layer)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _layer(busybox: Path) -> bytes:
    listed = subprocess.run(
        [busybox, "--list"],
        capture_output=True,
        text=True,
        timeout=LISTED_SECONDS,
        check=True,
    )
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for directory in ("bin", "tmp"):
            entry = tarfile.TarInfo(directory)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o1777
            archive.addfile(entry)
        _add(archive, "bin/busybox", busybox.read_bytes(), mode=0o755)
        for applet in set(listed.stdout.split()) - {"busybox"}:
            entry = tarfile.TarInfo(f"bin/{applet}")
            entry.type, entry.linkname = tarfile.SYMTYPE, "busybox"
            archive.addfile(entry)
    return buffer.getvalue()


def _config(layer_digest: str) -> bytes:
    machine = platform.machine()
    config = {
        "architecture": ARCHITECTURES.get(machine, machine),
        "os": "linux",
        "config": {"Cmd": ["/bin/sleep", "2147483647"], "Env": ["PATH=/bin"]},
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{layer_digest}"]},
    }
    return json.dumps(config).encode()


def _add(
    archive: tarfile.TarFile, name: str, data: bytes, *, mode: int = 0o644
) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(data), mode
    archive.addfile(entry, io.BytesIO(data))
