"""The image that every node gets: what containerd will find in it."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
from pathlib import Path

import pytest

from tools.lab.image import NAME, write_image


@pytest.mark.skipif(shutil.which("busybox") is None, reason="busybox is missing")
def test_image_is_a_whole_docker_archive(tmp_path: Path) -> None:
    write_image(tmp_path / "image.tar")
    with tarfile.open(tmp_path / "image.tar") as archive:
        files = {
            entry.name: found.read()
            for entry in archive
            if (found := archive.extractfile(entry)) is not None
        }
    (manifest,) = json.loads(files["manifest.json"])
    assert manifest["RepoTags"] == [NAME]
    config, layer = files[manifest["Config"]], files[manifest["Layers"][0]]
    digest = f"sha256:{hashlib.sha256(layer).hexdigest()}"
    assert json.loads(config)["rootfs"]["diff_ids"] == [digest]
    with tarfile.open(fileobj=io.BytesIO(layer)) as root:
        assert root.getmember("bin/busybox").mode & 0o111
        assert root.getmember("bin/sh").linkname == "busybox"
