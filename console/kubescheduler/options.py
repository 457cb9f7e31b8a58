"""What the compiler needs beside the text, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass

from console.kubescheduler.problems import Problem
from scoring.framework.policy import Policy

STATIC_POD = "static-pod"
SECOND_SCHEDULER = "second-scheduler"


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """`revision` becomes R unless the stock document equals that of the previous R.

    `extender_url` is scheme://host:port as the scheduler sees it. `ca_data` is base64.
    """

    configuration: str
    revision: int
    source_sha256: str
    extender_url: str
    cluster: str
    target: str = STATIC_POD
    extended_range: bool = False
    run_by_bandmaster: frozenset[tuple[str, str]] = frozenset()
    previous_revision: int | None = None
    previous_stock: str | None = None
    ca_data: str = ""


@dataclass(frozen=True, slots=True)
class ProfileReport:
    """What Bandmaster weighs in one profile.

    `score_weight` is S_p; `share` is percent of the sum of all Score weights; `levels`
    is how many different answers a node can get; `error` is the largest distance in
    points from what in-tree plugins would have added, 0 when nothing is scored.
    """

    scheduler_name: str
    score_weight: int
    share: float
    levels: int
    error: int
    scores: bool
    filters: bool


@dataclass(frozen=True, slots=True)
class Compiled:
    """A stock document with the key's placeholder, and the policies that go with it."""

    stock: str
    compiled_revision: int
    total_weight: int
    policies: tuple[Policy, ...]
    problems: tuple[Problem, ...]
    rewrites: tuple[str, ...]
    profiles: tuple[ProfileReport, ...]
