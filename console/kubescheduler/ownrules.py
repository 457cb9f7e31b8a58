"""Rules for the plugins that Bandmaster runs: no stock binary checks those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from console.kubescheduler.document import Document
from console.kubescheduler.effective import is_own, listed
from console.kubescheduler.problems import Path, Problem
from console.kubescheduler.schema import MULTI_POINT, POINTS
from scoring.framework.types import ExtensionPoint
from scoring.plugins.args import ArgsError
from scoring.plugins.registry import PLUGINS


def check(document: Document) -> Iterator[Problem]:
    for i in range(len(document.profiles)):
        for point in POINTS:
            yield from _point(document, i, point)
        yield from _args(document, i)


def _refuse(document: Document, path: Path, message: str, hint: str = "") -> Problem:
    return document.problem(path, message, gate="validate", hint=hint)


def _point(document: Document, index: int, point: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for i, name, weight in listed(document.profiles[index], point, "enabled"):
        if not is_own(name):
            continue
        path = ("profiles", index, "plugins", point, "enabled", i)
        if name in seen:
            message = f"{name} is enabled twice at {point}"
            yield _refuse(document, path, message, "Keep one of the two.")
        seen.add(name)
        if not _extends(name, point):
            points = " and ".join(sorted(PLUGINS[name].points))
            yield _refuse(
                document,
                (*path, "name"),
                f"{name} has nothing to do at {point}",
                f"It runs at {points}.",
            )
        elif weight < 0:
            hint = "Use 1 or more, or leave it out (it is then 1)."
            message = f"the weight of {name} must not be negative"
            yield _refuse(document, (*path, "weight"), message, hint)
        elif weight and point == ExtensionPoint.FILTER:
            yield document.problem(
                (*path, "weight"),
                f"the weight of {name} has no meaning at filter and is ignored",
                gate="advice",
                severity="warning",
                hint="Weights count at score.",
            )


def _extends(name: str, point: str) -> bool:
    return point == MULTI_POINT or point in PLUGINS[name].points


def _args(document: Document, index: int) -> Iterator[Problem]:
    configs = document.profiles[index].get("pluginConfig") or ()
    for i, config in enumerate(configs):
        name = str((config or {}).get("name") or "")
        if is_own(name):
            path = ("profiles", index, "pluginConfig", i, "args")
            yield from check_args(document, path, name, config.get("args"))


def check_args(
    document: Document, path: Path, name: str, args: Any
) -> Iterator[Problem]:
    """What the plugin itself says about its arguments, at the lines they stand in."""
    if args is not None and not isinstance(args, Mapping):
        message = f"the arguments of {name} must be a mapping"
        yield _refuse(document, path, message)
        return
    try:
        PLUGINS[name].parse_args(args or {})
    except ArgsError as exc:
        for problem in exc.problems:
            at = (*path, *_steps(problem.path, args or {}))
            yield _refuse(document, at, f"{name}: {problem.message}", problem.hint)


def _steps(path: str, args: Mapping[str, Any]) -> Path:
    """The path of an argument, `exempt.namespaces[0]`, as steps."""
    if path in args:  # an unknown key may hold dots itself
        return (path,)
    spaced = path.replace("[", ".").replace("]", "")
    steps = [step for step in spaced.split(".") if step]
    return tuple(int(s) if s.isascii() and s.isdigit() else s for s in steps)
