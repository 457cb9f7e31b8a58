"""Documents that tests of the console publish."""

from __future__ import annotations

DOCUMENT = """\
# the cluster's only scheduler
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - name: NetworkTraffic  # ours
        weight: 5
  pluginConfig:
  - name: NetworkTraffic
    args:
      deadBandPercent: 2  # noise
- schedulerName: plain
"""
