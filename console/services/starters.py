"""The configuration that a new cluster starts with."""

from __future__ import annotations

from console.models import SchedulerConfiguration
from console.services import configurations
from scoring.models import Cluster

FIRST_CONFIGURATION = "main"
BANDWIDTH_AWARE = """\
# Bandwidth-aware: kube-scheduler's own scoring, and NetworkTraffic beside it.
# Pods go where the network is least used; nothing is ever refused for its load.
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  # where kubeadm keeps it; with --config the flag --kubeconfig does not count
  kubeconfig: /etc/kubernetes/scheduler.conf
  # the defaults of 50 and 100 delay the binds of a burst of pods by seconds
  qps: 200
  burst: 400
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      # 5 of 20 points: the default plugins' weights add up to 15
      - name: NetworkTraffic
        weight: 5
  pluginConfig:
  - name: NetworkTraffic
    args:
      # differences under 2 % of the link speed are noise
      deadBandPercent: 2
"""


def ensure_first_configuration(cluster: Cluster) -> SchedulerConfiguration:
    """The cluster's oldest configuration; makes and publishes one if it has none."""
    existing = cluster.configurations.order_by("pk").first()
    if existing is not None and existing.head is not None:
        return existing
    configuration = existing or configurations.create_configuration(
        cluster=cluster, name=FIRST_CONFIGURATION
    )
    configurations.publish_revision(
        configuration=configuration,
        text=BANDWIDTH_AWARE,
        options=configurations.RevisionOptions(),
        base=None,
        publication=configurations.Publication(
            author="system",
            message="First configuration: bandwidth-aware",
            source="cli",
        ),
    )
    configuration.refresh_from_db()
    return configuration
