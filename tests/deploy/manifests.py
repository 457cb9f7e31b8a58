"""Reads deploy/: the objects of each kustomization, and the pods among them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
KUSTOMIZE = DEPLOY / "kustomize"
BASE = KUSTOMIZE / "base"
ALL_IN_ONE = KUSTOMIZE / "overlays/all-in-one"
SECOND_SCHEDULER = KUSTOMIZE / "overlays/second-scheduler"
KUSTOMIZATIONS = (BASE, ALL_IN_ONE, SECOND_SCHEDULER)

Object = dict[str, Any]
_WITH_PODS = {"Deployment", "StatefulSet", "Job"}


@dataclass(frozen=True, slots=True)
class Workload:
    """An object that makes pods."""

    name: str
    kind: str
    spec: Object  # of the object
    pod: Object  # spec of its pods
    labels: dict[str, str]  # of its pods

    @property
    def containers(self) -> list[Object]:
        return [*self.pod.get("initContainers", []), *self.pod["containers"]]


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def kustomization(folder: Path) -> Object:
    loaded: Object = load(folder / "kustomization.yaml")
    return loaded


@cache
def objects(*folders: Path) -> tuple[Object, ...]:
    """What the files that these kustomizations list hold, before kustomize."""
    return tuple(_objects(folders or KUSTOMIZATIONS))


def _objects(folders: tuple[Path, ...]) -> Iterator[Object]:
    for folder in folders:
        for name in kustomization(folder)["resources"]:
            if name.endswith(".yaml"):
                text = (folder / name).read_text(encoding="utf-8")
                yield from yaml.safe_load_all(text)


def of_kind(kind: str, *folders: Path) -> dict[str, Object]:
    found = [one for one in objects(*folders) if one["kind"] == kind]
    return {one["metadata"]["name"]: one for one in found}


@cache
def workloads(*folders: Path) -> tuple[Workload, ...]:
    return tuple(
        Workload(
            name=one["metadata"]["name"],
            kind=one["kind"],
            spec=one["spec"],
            pod=one["spec"]["template"]["spec"],
            labels=one["spec"]["template"]["metadata"]["labels"],
        )
        for one in objects(*folders)
        if one["kind"] in _WITH_PODS
    )


def workload(name: str) -> Workload:
    return next(one for one in workloads() if one.name == name)


def literals(folder: Path) -> dict[str, str]:
    """What the kustomization's generated ConfigMaps hold."""
    pairs = (
        line.partition("=")[::2]
        for generated in kustomization(folder).get("configMapGenerator", [])
        for line in generated["literals"]
    )
    return dict(pairs)
