"""Rows and settings -> the frozen values that the doors take; the environment wins."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from scoring.cluster import ClusterAccess
from scoring.models import Cluster, PrometheusSource
from scoring.prometheus import PrometheusAccess

# present in every pod that has a service account
_SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def prometheus_access(cluster: Cluster) -> PrometheusAccess:
    """How to reach the cluster's Prometheus; `url` is empty when none is set."""
    source = PrometheusSource.objects.filter(cluster=cluster).first()
    url, selector = (source.url, source.selector) if source else ("", "")
    if cluster.name == settings.CLUSTER:
        url = settings.PROMETHEUS_URL or url
        selector = settings.PROMETHEUS_SELECTOR or selector
    return PrometheusAccess(
        url=url,
        selector=selector,
        connect_timeout=2.0,
        read_timeout=_budget(cluster),
    )


def cluster_access(cluster: Cluster) -> ClusterAccess:
    """How to reach the cluster's API server: a kubeconfig, else the pod's own."""
    kubeconfig = settings.KUBECONFIG if cluster.name == settings.CLUSTER else ""
    if cluster.simulated and not kubeconfig:  # a command beside `up`
        kubeconfig = str(settings.DATA_DIR / "simulator" / "kubeconfig")
    return ClusterAccess(
        kubeconfig=kubeconfig,
        in_cluster=not kubeconfig and _SERVICE_ACCOUNT.exists(),
        connect_timeout=3.0,
        read_timeout=_budget(cluster),
    )


def _budget(cluster: Cluster) -> float:
    """Seconds that one answer may take: never more than its tick has."""
    return min(10.0, 0.8 * cluster.tick_seconds)


__all__ = ["ClusterAccess", "PrometheusAccess", "cluster_access", "prometheus_access"]
