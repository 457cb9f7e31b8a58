"""A lab with real nodes for tests, and what they ask of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scoring.framework.snapshot import Snapshot
from scoring.snapshot import decode, decode_table
from tools.lab import build, preflight
from tools.lab.api import Json
from tools.lab.attach import Attached
from tools.lab.image import NAME as IMAGE_NAME
from tools.lab.processes import LabError

NEWEST_SNAPSHOT = (
    "select s.id, s.blob, t.digest, t.blob from scoring_snapshot s "
    "join scoring_nodetable t on t.id = s.node_table_id order by s.id desc limit 1"
)
SERVE = "mkdir -p /www; hostname >/www/index.html; exec httpd -f -p 8080 -h /www"


def programs_or_skip() -> Path:
    """Where the built programs are; the test is skipped, aloud, where it cannot run."""
    try:
        preflight.require()
    except LabError as problem:
        pytest.skip(str(problem))
    needed = (*build.programs(build.NEWEST), *build.node_programs(build.NEWEST))
    directory = build.program_directory(build.NEWEST, os.environ)
    if not all(build.is_built(program, directory) for program in needed):
        pytest.skip("nodes are not built: run python tools/lab/build.py --lab")
    return directory


def newest_snapshot(product: Attached) -> Snapshot:
    """What the product last wrote."""
    with product.read_database() as database:
        version, blob, digest, table = database.execute(NEWEST_SNAPSHOT).fetchone()
    return decode(blob, decode_table(digest, table), version=version)


def container(command: str) -> Json:
    return {
        "terminationGracePeriodSeconds": 0,
        "containers": [
            {"name": "main", "image": IMAGE_NAME, "command": ["/bin/sh", "-c", command]}
        ],
    }


def web_deployment(name: str, replicas: int) -> Json:
    """Pods that answer with their own name on port 8080."""
    labels = {"app": name}
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": container(SERVE)},
        },
    }
