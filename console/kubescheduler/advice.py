"""What an operator should know about a document that compiles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from console.kubescheduler.document import DEFAULT_SCHEDULER_NAME, Document
from console.kubescheduler.options import (
    SECOND_SCHEDULER,
    CompileOptions,
    ProfileReport,
)
from console.kubescheduler.problems import Path, Problem
from console.kubescheduler.targeting import WANTED_BURST, WANTED_QPS
from scoring.framework.policy import PluginSpec
from scoring.plugins.args import ArgsError
from scoring.plugins.registry import inert_filter

FEW_LEVELS = 6
_DEFAULT_CONNECTION = {"qps": 50, "burst": 100}


def _advise(document: Document, path: Path, message: str, hint: str = "") -> Problem:
    return document.problem(path, message, gate="advice", severity="warning", hint=hint)


def on_profile(
    document: Document, index: int, report: ProfileReport, total_weight: int
) -> Iterator[Problem]:
    """Coarse answers, and what neutral means where nobody else scores."""
    if not report.scores:
        return
    path = ("profiles", index)
    name = report.scheduler_name
    uneven = (10 * report.score_weight) % total_weight != 0
    if report.levels < FEW_LEVELS or uneven:
        yield _advise(
            document,
            path,
            f"profile {name} has {report.levels} levels of answers, up to "
            f"{report.error} points off: its Score weights add up to "
            f"{report.score_weight}, the largest sum is {total_weight}",
            "Give all profiles the same sum of Score weights, or use extendedRange.",
        )
    if report.share >= 100:
        yield _advise(
            document,
            path,
            f"nobody else scores in profile {name}: while there is no data and answers "
            "are neutral, its pods are placed arbitrarily",
            "Leave some of kube-scheduler's own Score plugins on.",
        )


def on_filters(
    document: Document, index: int, specs: Iterable[PluginSpec]
) -> Iterator[Problem]:
    for spec in specs:
        if _is_inert(spec):
            yield _advise(
                document,
                ("profiles", index, "plugins"),
                f"{spec.name} is on at filter but has no threshold: it refuses no node",
                "Set its threshold in pluginConfig, or disable it at filter.",
            )


def _is_inert(spec: PluginSpec) -> bool:
    try:
        return inert_filter(spec)
    except ArgsError:
        return False  # a problem of its own, told where the arguments are checked


def on_connection(document: Document, data: dict[str, Any]) -> Iterator[Problem]:
    """`data` is the stock document: a rewrite may have set both already."""
    connection = data.get("clientConnection") or {}
    for key, wanted in (("qps", WANTED_QPS), ("burst", WANTED_BURST)):
        value = connection.get(key) or _DEFAULT_CONNECTION[key]
        if 0 < value < wanted:
            yield _advise(
                document,
                ("clientConnection", key),
                f"clientConnection.{key} is {value}: in a burst of pods, binding waits "
                "for seconds",
                f"Set it to {wanted}.",
            )


def on_target(document: Document, options: CompileOptions) -> Iterator[Problem]:
    if options.target != SECOND_SCHEDULER:
        return
    for i in range(len(document.profiles)):
        if document.scheduler_name(i) == DEFAULT_SCHEDULER_NAME:
            yield _advise(
                document,
                ("profiles", i, "schedulerName"),
                "the cluster's own scheduler also serves default-scheduler: two "
                "schedulers would place the same pods",
                "Give this profile another schedulerName.",
            )
