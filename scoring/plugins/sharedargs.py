"""Arguments that every plugin has: age, missing data, exempt pods, filter floor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from scoring.framework.plugin import FilterRule
from scoring.framework.snapshot import DEFAULT_MAX_SAMPLE_AGE
from scoring.framework.types import ExtensionPoint, PodInfo
from scoring.plugins.args import ArgField, Reader


class OnMissing(StrEnum):
    """What a node without a usable datum counts as."""

    NEUTRAL = "neutral"  # the lower median of the nodes with data; the filter passes
    WORST = "worst"  # node score 0; the filter passes
    LAST_KNOWN = "lastKnown"  # its last datum, however old; none at all: neutral
    REJECT = "reject"  # refused by the filter; the score is neutral


DEFAULT_NAMESPACES = ("kube-system",)
DEFAULT_PRIORITY_CLASSES = ("system-cluster-critical", "system-node-critical")
DEFAULT_LABELS: Mapping[str, str] = {"bandmaster.io/exempt": "true"}
OWN_LABEL = ("app.kubernetes.io/name", "bandmaster")
STATIC_POD_ANNOTATION = "kubernetes.io/config.source"
NODE_BOUND_OWNERS = frozenset({"DaemonSet", "Node"})


@dataclass(frozen=True, slots=True)
class PodMatch:
    """A pod matches when any of its sets does."""

    namespaces: frozenset[str] = frozenset()
    priority_classes: frozenset[str] = frozenset()
    labels: frozenset[tuple[str, str]] = frozenset()

    def matches(self, pod: PodInfo) -> bool:
        return (
            pod.namespace in self.namespaces
            or pod.priority_class_name in self.priority_classes
            or not self.labels.isdisjoint(pod.labels.items())
        )


@dataclass(frozen=True, slots=True)
class Exempt:
    """Which pods a plugin leaves alone: at both points, and at one of them."""

    both: PodMatch
    filter: PodMatch
    score: PodMatch
    built_in: bool = True

    def matches(self, pod: PodInfo, point: ExtensionPoint) -> bool:
        if self.both.matches(pod) or (self.built_in and _is_built_in(pod)):
            return True
        own = self.filter if point is ExtensionPoint.FILTER else self.score
        return own.matches(pod)


def _is_built_in(pod: PodInfo) -> bool:
    """DaemonSet and static pods have no choice of node; our own must never wait."""
    return (
        not NODE_BOUND_OWNERS.isdisjoint(pod.owner_kinds)
        or pod.annotations.get(STATIC_POD_ANNOTATION, "api") != "api"
        or pod.labels.get(OWN_LABEL[0]) == OWN_LABEL[1]
    )


@dataclass(frozen=True, slots=True)
class SharedArgs:
    """`max_sample_age` in seconds."""

    max_sample_age: float
    on_missing: OnMissing
    exempt: Exempt
    min_passed_nodes: int
    min_passed_percent: float

    @property
    def missing_is_worst(self) -> bool:
        return self.on_missing is OnMissing.WORST

    def filter_rule(
        self, *, limit: float, readmit: float, reasons: tuple[str, str]
    ) -> FilterRule:
        """The rule of a Filter with these percentages; `reasons`: over, and missing."""
        reason, missing_reason = reasons
        return FilterRule(
            limit=limit / 100,
            readmit=readmit / 100,
            reject_missing=self.on_missing is OnMissing.REJECT,
            min_nodes=self.min_passed_nodes,
            min_percent=self.min_passed_percent,
            reason=reason,
            missing_reason=missing_reason,
        )

    def tell_missing(self, counted: str) -> str:
        """What a node without a usable datum counts as; `counted` is the median."""
        if self.missing_is_worst:
            return "No current data of its own: it counts as the worst, 0."
        return (
            "No current data of its own: it counts as the median of the candidates "
            f"with data, {counted}."
        )


SCORE_FIELDS = (
    ArgField(
        "maxSampleAge",
        "duration",
        f"{DEFAULT_MAX_SAMPLE_AGE:.0f}s",
        "seconds",
        "A datum older than this is not used.",
    ),
    ArgField(
        "onMissing",
        "choice",
        OnMissing.NEUTRAL.value,
        "",
        "What a node without a usable datum counts as: neutral (the median of the "
        "nodes with data), worst (score 0), lastKnown (its last datum, however old) "
        "or reject (Filter only, while at least half of the candidates have data).",
        tuple(OnMissing),
    ),
    *(
        ArgField(f"exempt.{prefix}{name}", kind, default, "", text + where)
        for prefix, where, both in (
            ("", ", by Filter and Score.", True),
            ("filter.", ", by Filter alone.", False),
            ("score.", ", by Score alone.", False),
        )
        for name, kind, default, text in (
            (
                "namespaces",
                "names",
                DEFAULT_NAMESPACES if both else (),
                "Namespaces whose pods are left alone",
            ),
            (
                "priorityClasses",
                "names",
                DEFAULT_PRIORITY_CLASSES if both else (),
                "Priority classes whose pods are left alone",
            ),
            (
                "labels",
                "labels",
                DEFAULT_LABELS if both else {},
                "Pods that carry any of these labels are left alone",
            ),
        )
    ),
    ArgField(
        "exempt.builtIn",
        "flag",
        default=True,
        help="Leave DaemonSet pods, static pods and Bandmaster's own pods alone.",
    ),
)
FLOOR_FIELDS = (
    ArgField(
        "minPassedNodes",
        "count",
        1,
        "nodes",
        "The Filter leaves at least this many candidates, the least loaded ones.",
    ),
    ArgField(
        "minPassedPercent",
        "percent",
        20,
        "percent of the candidates",
        "The Filter leaves at least this share of the candidates. The larger of the "
        "two floors counts; 0 and 0 switch the floor off.",
    ),
)


def read_shared(reader: Reader) -> SharedArgs:
    """Takes the shared arguments out of `reader`."""
    return SharedArgs(
        max_sample_age=reader.duration("maxSampleAge", DEFAULT_MAX_SAMPLE_AGE),
        on_missing=OnMissing(reader.choice("onMissing", "neutral", tuple(OnMissing))),
        exempt=_read_exempt(reader.section("exempt")),
        min_passed_nodes=reader.count("minPassedNodes", 1),
        min_passed_percent=reader.percent("minPassedPercent", 20.0) or 0.0,
    )


def _read_exempt(reader: Reader) -> Exempt:
    exempt = Exempt(
        both=_read_match(reader, defaults=True),
        filter=_read_section(reader.section("filter")),
        score=_read_section(reader.section("score")),
        built_in=reader.flag("builtIn", default=True),
    )
    reader.reject_unknown()
    return exempt


def _read_section(reader: Reader) -> PodMatch:
    match = _read_match(reader, defaults=False)
    reader.reject_unknown()
    return match


def _read_match(reader: Reader, *, defaults: bool) -> PodMatch:
    return PodMatch(
        frozenset(reader.names("namespaces", DEFAULT_NAMESPACES if defaults else ())),
        frozenset(
            reader.names(
                "priorityClasses", DEFAULT_PRIORITY_CLASSES if defaults else ()
            )
        ),
        frozenset(reader.labels("labels", DEFAULT_LABELS if defaults else {}).items()),
    )
