"""The words and scales of kube-scheduler's framework, as immutable values.

Two scales exist: a node score is an int in 0..100 (framework.MaxNodeScore), an
extender priority is an int in 0..10 (extender/v1 MaxExtenderPriority). The one
place that converts between them is `scoring.framework.runtime`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum

import numpy as np
import numpy.typing as npt

MIN_NODE_SCORE = 0
MAX_NODE_SCORE = 100
NEUTRAL_NODE_SCORE = 50
MAX_EXTENDER_PRIORITY = 10

DEFAULT_SCHEDULER_NAME = "default-scheduler"

Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Bytes8 = npt.NDArray[np.uint8]


class ExtensionPoint(StrEnum):
    """The extension points at which our plugins run."""

    FILTER = "filter"
    SCORE = "score"


class Age(StrEnum):
    """How old a node's datum is; only the first two may be scored."""

    FRESH = "fresh"
    AGEING = "ageing"
    EXPIRED = "expired"
    MISSING = "missing"


class Quality(IntEnum):
    """How far a node's datum can be trusted, best first."""

    MEASURED = 0
    PARTIAL = 1
    GUESSED = 2
    INVALID = 3


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a pod is expected to send and receive, in bytes per second."""

    receive: float = 0.0
    transmit: float = 0.0


NO_ESTIMATE = Estimate()


@dataclass(frozen=True, slots=True)
class PodInfo:
    """The part of a pod that filter and score may look at."""

    namespace: str = ""
    name: str = ""
    uid: str = ""
    scheduler_name: str = DEFAULT_SCHEDULER_NAME
    priority_class_name: str = ""
    nominated_node_name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    owner_kinds: tuple[str, ...] = ()
