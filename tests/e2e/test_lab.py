"""The control plane itself: it says why it fails, and leaves nobody behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.e2e.world import World
from tools.lab import build
from tools.lab.controlplane import ControlPlane
from tools.lab.processes import LabError


def commands_below(directory: Path) -> list[str]:
    """Command lines of this machine's processes that name the directory."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = entry.read_text().replace("\0", " ")
        except OSError:
            continue
        if str(directory) in command:
            found.append(command)
    return found


def test_nothing_is_left_of_a_control_plane(tmp_path: Path) -> None:
    version = build.newest_built(os.environ)
    if version is None:
        pytest.skip("Kubernetes is not built: run python tools/lab/build.py")
    programs = build.program_directory(version, os.environ)
    with ControlPlane(programs, tmp_path) as plane:
        config = tmp_path / "scheduler.yaml"
        config.write_text(
            "apiVersion: kubescheduler.config.k8s.io/v1\n"
            "kind: KubeSchedulerConfiguration\n"
            f"clientConnection: {{kubeconfig: {plane.kubeconfig}}}\n"
            "leaderElection: {leaderElect: false}\n"
        )
        plane.start_scheduler(config)
        assert len(commands_below(tmp_path)) == 3
    assert commands_below(tmp_path) == []


def test_a_scheduler_that_does_not_start_says_why(world: World) -> None:
    config = world.product.directory / "broken.yaml"
    config.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\n"
        "kind: KubeSchedulerConfiguration\n"
        "percentageOfNodesToScore: 101\n"
    )
    with pytest.raises(LabError, match="percentageOfNodesToScore"):
        world.plane.start_scheduler(config)
