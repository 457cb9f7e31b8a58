"""KubeSchedulerConfigurations as an operator writes them."""

from __future__ import annotations

from pathlib import Path

HEAD = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
percentageOfNodesToScore: 100
profiles:
"""

SPREAD = """\
# all default plugins stay on, NetworkTraffic is beside them
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - {name: NetworkTraffic, weight: 5}
  pluginConfig:
  - name: NetworkTraffic
    args: {maxSampleAge: 20s}
"""

FILTERS = """\
- schedulerName: default-scheduler
  plugins:
    filter:
      enabled:
      - name: NetworkTraffic
      - name: CPUUsage
  pluginConfig:
  - name: NetworkTraffic
    args: {maxUtilizationPercent: 50, minPassedNodes: 0, minPassedPercent: 0}
  - name: CPUUsage
    args: {thresholdPercent: 80, minPassedNodes: 0, minPassedPercent: 0}
"""

# NodeAffinity has weight 10 and is the only other score: a preference of a pod is
# then worth an exact number of points, against which ours are weighed
_WEIGHED = """\
- schedulerName: {name}
  plugins:
    score:
      disabled: [{{name: "*"}}]
      enabled:
      - {{name: NodeAffinity, weight: 10}}
"""
_OURS = "      - {{name: NetworkTraffic, weight: {weight}}}\n"
WEIGHTS = {"four": 4, "two": 2, "one": 1, "without": 0}


def weighed() -> str:
    """A profile for each weight, and one without our plugins."""
    return "".join(
        _WEIGHED.format(name=name) + (_OURS.format(weight=weight) if weight else "")
        for name, weight in WEIGHTS.items()
    )


def document(profiles: str, kubeconfig: Path) -> str:
    return HEAD.format(kubeconfig=kubeconfig) + profiles
