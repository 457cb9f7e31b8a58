"""Nodes and pods as the Kubernetes API shows them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from scoring.simulation.fleet import Node
from scoring.simulation.pods import Pod

Json = dict[str, Any]
_VERSION = "v1.36.3"  # of the kubelets
_REGION = "simulated"


def node_object(node: Node, *, created: float) -> Json:
    """A v1 Node, without apiVersion and kind, as in a list."""
    return {
        "metadata": {
            "name": node.name,
            "uid": f"node-{node.name}",
            "resourceVersion": "1",
            "creationTimestamp": timestamp(created),
            "labels": _node_labels(node),
        },
        "spec": _node_spec(node),
        "status": _node_status(node, timestamp(created)),
    }


def _node_labels(node: Node) -> Json:
    labels = {
        "kubernetes.io/hostname": node.name,
        "kubernetes.io/os": "linux",
        "agentpool": node.pool.name,
        "topology.kubernetes.io/region": _REGION,
        "topology.kubernetes.io/zone": node.zone,
    }
    if node.control_plane:
        labels["node-role.kubernetes.io/control-plane"] = ""
    return labels


def _node_spec(node: Node) -> Json:
    spec: Json = {}
    taints: list[Json] = []
    if node.control_plane:
        taints.append(_taint("node-role.kubernetes.io/control-plane"))
    if node.cordoned:
        spec["unschedulable"] = True
        taints.append(_taint("node.kubernetes.io/unschedulable"))
    if taints:
        spec["taints"] = taints
    return spec


def _node_status(node: Node, since: str) -> Json:
    room = {
        "cpu": str(node.pool.cores),
        "memory": f"{node.pool.memory}Gi",
        "pods": "110",
    }
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "lastTransitionTime": since,
    }
    return {
        "capacity": room,
        "allocatable": room,
        "conditions": [ready],
        "addresses": [
            {"type": "InternalIP", "address": node.address},
            {"type": "Hostname", "address": node.name},
        ],
        "nodeInfo": {"kubeletVersion": _VERSION, "operatingSystem": "linux"},
    }


def pod_object(pod: Pod, *, version: int) -> Json:
    """A v1 Pod, without apiVersion and kind, as in a list and for an extender."""
    metadata: Json = {
        "name": pod.name,
        "namespace": pod.namespace,
        "uid": pod.uid,
        "resourceVersion": str(version),
        "creationTimestamp": timestamp(pod.created_at),
        "labels": {"app": pod.app},
    }
    if pod.daemon:
        metadata["ownerReferences"] = [
            {
                "apiVersion": "apps/v1",
                "kind": "DaemonSet",
                "name": pod.app,
                "uid": f"daemonset-{pod.app}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    spec: Json = {
        "containers": [
            {
                "name": pod.app,
                "image": f"registry.example/{pod.app}:1",
                "resources": {
                    "requests": {
                        "cpu": f"{pod.millicores}m",
                        "memory": f"{pod.memory}Mi",
                    }
                },
            }
        ],
        "schedulerName": pod.scheduler_name,
        "priority": 0,
    }
    if pod.node:
        spec["nodeName"] = pod.node
    return {"metadata": metadata, "spec": spec, "status": _status(pod)}


def phase(pod: Pod) -> str:
    """Pending or Running; a pod that is done is gone."""
    return "Running" if pod.node else "Pending"


def timestamp(moment: float) -> str:
    """RFC 3339 in whole seconds, as metav1.Time."""
    return datetime.fromtimestamp(moment, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _status(pod: Pod) -> Json:
    if not pod.node:
        return {"phase": phase(pod)}
    since = timestamp(pod.bound_at)
    return {
        "phase": phase(pod),
        "startTime": since,
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": since}
        ],
    }


def _taint(key: str) -> Json:
    return {"key": key, "effect": "NoSchedule"}
