"""Bare Kubernetes objects: nodes without a kubelet, pods that never run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tools.lab.api import Json


@dataclass(frozen=True, slots=True)
class BareNode:
    """What a node says of itself. `address` is its InternalIP."""

    name: str
    address: str
    labels: Mapping[str, str] = field(default_factory=dict)
    cpu: str = "64"
    memory: str = "256Gi"
    pods: str = "500"

    def manifest(self) -> Json:
        resources = {"cpu": self.cpu, "memory": self.memory, "pods": self.pods}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": self.name,
                "labels": {"kubernetes.io/hostname": self.name, **self.labels},
            },
            "status": {
                "capacity": resources,
                "allocatable": resources,
                "conditions": [{"type": "Ready", "status": "True", "reason": "Lab"}],
                "addresses": [
                    {"type": "InternalIP", "address": self.address},
                    {"type": "Hostname", "address": self.name},
                ],
            },
        }


def pod_manifest(
    name: str,
    *,
    scheduler_name: str = "default-scheduler",
    labels: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Json:
    """A pod of one container that asks for nothing, with `spec` laid over it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": dict(labels or {})},
        "spec": {
            "schedulerName": scheduler_name,
            "terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "none"}],
            **(spec or {}),
        },
    }
