"""The third gate, scheduler.New, for a stock binary with default feature gates.

Our own plugins count as known here: the compiler takes them out of what the binary
reads. Files that the document names are taken to be there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from console.kubescheduler.document import Document
from console.kubescheduler.effective import EVERY_PLUGIN, is_own, listed, names
from console.kubescheduler.problems import Problem, did_you_mean
from console.kubescheduler.registry import LEGACY_PLUGINS, STOCK_PLUGINS
from console.kubescheduler.schema import MULTI_POINT, POINTS
from scoring.plugins.registry import PLUGINS


def check(document: Document) -> Iterator[Problem]:
    for i, profile in enumerate(document.profiles):
        for point in POINTS:
            yield from _point(document, i, point)
        yield from _needed(document, i, profile)


def _point(document: Document, index: int, point: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, name, weight in listed(document.profiles[index], point, "enabled"):
        if is_own(name) or name in LEGACY_PLUGINS:
            continue
        path = ("profiles", index, "plugins", point, "enabled", i, "name")
        if name in seen:
            message = f"{name} is enabled twice at {point}"
            yield document.problem(path, message, gate="start", hint="Keep one.")
        seen.add(name)
        wrong = _wrong_plugin(name, point, weight)
        if wrong is not None:
            yield document.problem(path, wrong[0], gate="start", hint=wrong[1])


def _wrong_plugin(name: str, point: str, weight: int) -> tuple[str, str] | None:
    """What the binary would say of this entry, and what to do."""
    points = STOCK_PLUGINS.get(name)
    if points is None:
        hint = did_you_mean(name, [*STOCK_PLUGINS, *PLUGINS])
        hint = hint or "Remove it, or use a kube-scheduler that was built with it."
        return f"a stock kube-scheduler has no plugin {name[:80]!r}", hint
    if point != MULTI_POINT and point not in points:
        return f"{name} has nothing to do at {point}", (
            f"It runs at {', '.join(sorted(points))}."
        )
    if weight < 0 and point == "score":  # at multiPoint nobody looks
        return f"the weight of {name} must not be negative", "Use 1 or more."
    return None


def _needed(
    document: Document, index: int, profile: Mapping[str, Any]
) -> Iterator[Problem]:
    for point, default in (("queueSort", "PrioritySort"), ("bind", "DefaultBinder")):
        if not _runs_something(profile, point, default):
            yield document.problem(
                ("profiles", index, "plugins", point),
                f"no plugin is left at {point}: kube-scheduler needs one",
                gate="start",
                hint=f"Enable {default} there.",
            )


def _runs_something(profile: Mapping[str, Any], point: str, default: str) -> bool:
    if names(profile, point, "enabled"):
        return True
    disabled = names(profile, point, "disabled")
    if EVERY_PLUGIN in disabled or default in disabled:
        return False
    if default in names(profile, MULTI_POINT, "enabled"):
        return True
    removed = names(profile, MULTI_POINT, "disabled")
    return EVERY_PLUGIN not in removed and default not in removed
