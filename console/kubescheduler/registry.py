"""The plugins of the stock kube-scheduler 1.36 and 1.37: points and default weights.

Source: `multiPoint` of the default configuration and the plugins' interfaces. Tables
per minor and other catalogues (scheduler-plugins, a list of the operator's) join here.
"""

from __future__ import annotations

from collections.abc import Mapping

DEFAULT_SCORE_WEIGHTS: Mapping[str, int] = {
    "TaintToleration": 3,
    "NodeAffinity": 2,
    "NodeResourcesFit": 1,
    "VolumeBinding": 1,
    "PodTopologySpread": 2,
    "InterPodAffinity": 2,
    "DynamicResources": 2,
    "NodeResourcesBalancedAllocation": 1,
    "ImageLocality": 1,
}

_POINTS_BY_PLUGIN: Mapping[str, str] = {
    "SchedulingGates": "preEnqueue",
    "PrioritySort": "queueSort",
    "NodeName": "preFilter filter",
    "NodeUnschedulable": "preFilter filter",
    "TaintToleration": "preFilter filter preScore score",
    "NodeAffinity": "preFilter filter preScore score",
    "NodePorts": "preFilter filter",
    "NodeResourcesFit": "preFilter filter preScore score placementScore",
    "VolumeRestrictions": "preFilter filter",
    "NodeVolumeLimits": "preFilter filter",
    "VolumeBinding": "preFilter filter preScore score reserve preBind",
    "VolumeZone": "preFilter filter",
    "PodTopologySpread": "preFilter filter preScore score",
    "InterPodAffinity": "preFilter filter preScore score",
    "DynamicResources": (
        "preEnqueue preFilter filter postFilter score reserve preBind "
        "podGroupPostFilter"
    ),
    "DefaultPreemption": "preEnqueue postFilter podGroupPostFilter",
    "NodeResourcesBalancedAllocation": "preScore score",
    "ImageLocality": "score",
    "DefaultBinder": "bind",
    "NodeDeclaredFeatures": "preFilter filter",
}
STOCK_PLUGINS: Mapping[str, frozenset[str]] = {
    name: frozenset(points.split()) for name, points in _POINTS_BY_PLUGIN.items()
}
# every stock plugin is enabled by default, at all its points, by multiPoint

LEGACY_PLUGINS = frozenset(
    ["EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits"]
)
"""v1 validation refuses these in `enabled` and in pluginConfig."""
