"""kustomize itself renders every folder, as `kubectl apply --kustomize` would."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.components import require
from tests.deploy import manifests
from tests.deploy.manifests import ALL_IN_ONE, BASE, SECOND_SCHEDULER

pytestmark = pytest.mark.e2e_long  # kubectl is no part of what CI installs
MONITORING = manifests.DEPLOY / "monitoring"


def _render(folder: Path) -> list[dict[str, Any]]:
    done = subprocess.run(
        [require("kubectl"), "kustomize", folder],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@pytest.mark.parametrize(
    ("folder", "least"),
    [(BASE, 20), (ALL_IN_ONE, 28), (SECOND_SCHEDULER, 9), (MONITORING, 3)],
    ids=["base", "all-in-one", "second-scheduler", "monitoring"],
)
def test_every_folder_renders_without_a_warning(folder: Path, least: int) -> None:
    rendered = _render(folder)
    assert len(rendered) >= least
    keys = [
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in rendered
    ]
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize("folder", [ALL_IN_ONE, SECOND_SCHEDULER], ids=lambda f: f.name)
def test_rendered_pods_have_their_image_and_their_references(folder: Path) -> None:
    rendered = _render(folder)
    names = {(one["kind"], one["metadata"]["name"]) for one in rendered}
    for one in rendered:
        if one["kind"] not in {"Deployment", "StatefulSet", "Job"}:
            continue
        pod = one["spec"]["template"]["spec"]
        assert ("ServiceAccount", pod["serviceAccountName"]) in names
        for container in pod["containers"]:
            assert ":" in container["image"]
            for source in container.get("envFrom", []):
                assert ("ConfigMap", source["configMapRef"]["name"]) in names


def test_a_new_document_is_a_new_object(tmp_path: Path) -> None:
    """Otherwise an old pod that restarts would read the new document."""
    for path in SECOND_SCHEDULER.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    before = _config_name(_render(tmp_path))
    with (tmp_path / "config.yaml").open("a", encoding="utf-8") as stream:
        stream.write("# another revision\n")
    after = _config_name(_render(tmp_path))
    assert before != after


def _config_name(rendered: list[dict[str, Any]]) -> str:
    (secret,) = (one for one in rendered if one["kind"] == "Secret")
    (deployment,) = (one for one in rendered if one["kind"] == "Deployment")
    assert secret["immutable"] is True
    volume = deployment["spec"]["template"]["spec"]["volumes"][0]
    assert volume["secret"]["secretName"] == secret["metadata"]["name"]
    return str(secret["metadata"]["name"])
