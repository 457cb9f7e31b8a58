"""The fields of kubescheduler.config.k8s.io/v1 and their types, by hand from its API.

Field names and types: k8s.io/kube-scheduler/config/v1 at 1.37. Newer and older minors
differ by single fields, which the table will carry when more than v1 is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

API_GROUP = "kubescheduler.config.k8s.io"
API_VERSION = f"{API_GROUP}/v1"
KIND = "KubeSchedulerConfiguration"

CLASSIC_POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
MULTI_POINT = "multiPoint"
POINTS = (
    *CLASSIC_POINTS,
    MULTI_POINT,
    "placementGenerate",
    "placementScore",
    "podGroupPostFilter",
)


class Leaf(Enum):
    """Types of single values; the value is how a message names it."""

    STRING = "a text"
    BOOL = "true or false"
    INT32 = "a whole number (int32)"
    INT64 = "a whole number (int64)"
    FLOAT = "a number"
    DURATION = 'a duration such as "200ms" or "5s"'
    BYTES = "base64 text"
    ANY = "any value"


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Type


@dataclass(frozen=True, slots=True)
class Struct:
    fields: Mapping[str, Type]


Type = Leaf | ListOf | Struct

PLUGIN = Struct({"name": Leaf.STRING, "weight": Leaf.INT32})
PLUGIN_SET = Struct({"enabled": ListOf(PLUGIN), "disabled": ListOf(PLUGIN)})
PROFILE = Struct(
    {
        "schedulerName": Leaf.STRING,
        "percentageOfNodesToScore": Leaf.INT32,
        "plugins": Struct(dict.fromkeys(POINTS, PLUGIN_SET)),
        "pluginConfig": ListOf(Struct({"name": Leaf.STRING, "args": Leaf.ANY})),
    }
)
EXTENDER = Struct(
    {
        "urlPrefix": Leaf.STRING,
        "filterVerb": Leaf.STRING,
        "preemptVerb": Leaf.STRING,
        "prioritizeVerb": Leaf.STRING,
        "weight": Leaf.INT64,
        "bindVerb": Leaf.STRING,
        "enableHTTPS": Leaf.BOOL,
        "tlsConfig": Struct(
            {
                "insecure": Leaf.BOOL,
                "serverName": Leaf.STRING,
                "certFile": Leaf.STRING,
                "keyFile": Leaf.STRING,
                "caFile": Leaf.STRING,
                "certData": Leaf.BYTES,
                "keyData": Leaf.BYTES,
                "caData": Leaf.BYTES,
            }
        ),
        "httpTimeout": Leaf.DURATION,
        "nodeCacheCapable": Leaf.BOOL,
        "managedResources": ListOf(
            Struct({"name": Leaf.STRING, "ignoredByScheduler": Leaf.BOOL})
        ),
        "ignorable": Leaf.BOOL,
    }
)
LEADER_ELECTION = Struct(
    {
        "leaderElect": Leaf.BOOL,
        "leaseDuration": Leaf.DURATION,
        "renewDeadline": Leaf.DURATION,
        "retryPeriod": Leaf.DURATION,
        "resourceLock": Leaf.STRING,
        "resourceName": Leaf.STRING,
        "resourceNamespace": Leaf.STRING,
    }
)
CLIENT_CONNECTION = Struct(
    {
        "kubeconfig": Leaf.STRING,
        "acceptContentTypes": Leaf.STRING,
        "contentType": Leaf.STRING,
        "qps": Leaf.FLOAT,
        "burst": Leaf.INT32,
    }
)
CONFIGURATION = Struct(
    {
        "apiVersion": Leaf.STRING,
        "kind": Leaf.STRING,
        "parallelism": Leaf.INT32,
        "leaderElection": LEADER_ELECTION,
        "clientConnection": CLIENT_CONNECTION,
        "enableProfiling": Leaf.BOOL,
        "enableContentionProfiling": Leaf.BOOL,
        "percentageOfNodesToScore": Leaf.INT32,
        "podInitialBackoffSeconds": Leaf.INT64,
        "podMaxBackoffSeconds": Leaf.INT64,
        "profiles": ListOf(PROFILE),
        "extenders": ListOf(EXTENDER),
        "delayCacheUntilActive": Leaf.BOOL,
    }
)
