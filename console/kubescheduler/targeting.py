"""Rewrites that make a document fit for a scheduler beside the cluster's own."""

from __future__ import annotations

from typing import Any

DEFAULT_LEASE = "kube-scheduler"
WANTED_QPS = 200
WANTED_BURST = 400
# fail-over within 7 s and a roll-out gap under 1 s; kube-scheduler's 15/10/2 take 18 s
LEASE_TIMES = {
    "leaseDuration": "5s",
    "renewDeadline": "3s",
    "retryPeriod": "500ms",
}


def for_second_scheduler(
    data: dict[str, Any], configuration: str
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The document for a Deployment, and a sentence for each thing that was changed."""
    rewrites: list[str] = []
    connection = dict(data.get("clientConnection") or {})
    if connection.pop("kubeconfig", None):
        rewrites.append(
            "clientConnection.kubeconfig is removed: in the cluster the scheduler uses "
            "its service account"
        )
    for key, wanted in (("qps", WANTED_QPS), ("burst", WANTED_BURST)):
        if not connection.get(key):
            connection[key] = wanted
            rewrites.append(f"clientConnection.{key} is set to {wanted}")
    election = _own_lease(data, configuration, rewrites)
    changed = {"clientConnection": connection, "leaderElection": election}
    return data | changed, tuple(rewrites)


def _own_lease(
    data: dict[str, Any], configuration: str, rewrites: list[str]
) -> dict[str, Any]:
    election = dict(data.get("leaderElection") or {})
    wanted: dict[str, Any] = dict(LEASE_TIMES)
    if (election.get("resourceName") or DEFAULT_LEASE) == DEFAULT_LEASE:
        wanted["resourceName"] = f"bandmaster-{configuration}"
    wanted["resourceNamespace"] = election.get("resourceNamespace") or "kube-system"
    for key, value in wanted.items():
        if election.get(key) != value:
            election[key] = value
            rewrites.append(f"leaderElection.{key} is set to {value}")
    return election
