"""The gates after decoding, for an operator's document: our own plugins are known.

Second gate: ValidateKubeSchedulerConfiguration. Third gate: startup. Own rules: COMPILE
section 1. All problems at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from console.kubescheduler import extenders, ownrules, startup
from console.kubescheduler.document import Document
from console.kubescheduler.effective import listed, plugin_set
from console.kubescheduler.problems import Path, Problem
from console.kubescheduler.registry import LEGACY_PLUGINS
from console.kubescheduler.scalars import parse_duration
from console.kubescheduler.schema import CLASSIC_POINTS

_LEADER_DURATIONS = {
    "leaseDuration": "15s",
    "renewDeadline": "10s",
    "retryPeriod": "2s",
}
_LEADER_TEXTS = {
    "resourceLock": "leases",
    "resourceName": "kube-scheduler",
    "resourceNamespace": "kube-system",
}


def validate(document: Document) -> tuple[Problem, ...]:
    """Everything that the later gates and our own rules find, in document order."""
    problems = [
        *_numbers(document),
        *_client_connection(document),
        *_leader_election(document),
        *_profiles(document),
        *extenders.check(document),
        *ownrules.check(document),
        *startup.check(document),
    ]
    problems.sort(key=lambda problem: (problem.line, problem.column))
    return tuple(problems)


def _refuse(document: Document, path: Path, message: str, hint: str = "") -> Problem:
    return document.problem(path, message, gate="validate", hint=hint)


def _numbers(document: Document) -> Iterator[Problem]:
    data = document.data
    if _value(data, "parallelism", 16) <= 0:
        yield _refuse(document, ("parallelism",), "parallelism must be 1 or more")
    if not 0 <= _value(data, "percentageOfNodesToScore", 0) <= 100:
        yield _percentage(document, ("percentageOfNodesToScore",))
    initial = _value(data, "podInitialBackoffSeconds", 1)
    longest = _value(data, "podMaxBackoffSeconds", 10)
    if initial <= 0:
        yield _refuse(
            document,
            ("podInitialBackoffSeconds",),
            "podInitialBackoffSeconds must be 1 or more",
        )
    if longest < initial:
        yield _refuse(
            document,
            ("podMaxBackoffSeconds",),
            f"podMaxBackoffSeconds ({longest}) must not be less than "
            f"podInitialBackoffSeconds ({initial})",
            "Without a value podMaxBackoffSeconds is 10: write both.",
        )


def _percentage(document: Document, path: Path) -> Problem:
    return _refuse(
        document,
        path,
        "percentageOfNodesToScore must be from 0 to 100",
        "0 lets kube-scheduler choose.",
    )


def _client_connection(document: Document) -> Iterator[Problem]:
    connection = document.data.get("clientConnection") or {}
    if _value(connection, "burst", 100) < 0:
        path = ("clientConnection", "burst")
        yield _refuse(document, path, "burst must be 0 or more")


def _leader_election(document: Document) -> Iterator[Problem]:
    election = document.data.get("leaderElection") or {}
    if election.get("leaderElect") is False:
        return
    durations = {
        # 0 is taken as not written
        key: parse_duration(str(election.get(key) or default))
        or parse_duration(default)
        or 0
        for key, default in _LEADER_DURATIONS.items()
    }
    for key, duration in durations.items():
        if duration <= 0:
            yield _refuse(
                document, ("leaderElection", key), f"{key} must be more than 0"
            )
    if durations["leaseDuration"] <= durations["renewDeadline"]:
        yield _refuse(
            document,
            ("leaderElection", "leaseDuration"),
            "leaseDuration must be longer than renewDeadline",
            "The defaults are 15s and 10s: write both.",
        )
    lock = election.get("resourceLock") or _LEADER_TEXTS["resourceLock"]
    if lock != "leases":
        yield _refuse(
            document,
            ("leaderElection", "resourceLock"),
            f'resourceLock must be "leases", not {lock[:60]!r}',
        )


def _profiles(document: Document) -> Iterator[Problem]:
    seen: dict[str, int] = {}
    for i in range(len(document.profiles)):
        path: Path = ("profiles", i)
        name = document.scheduler_name(i)
        if not name:
            hint = "Only a single profile may go without: it is default-scheduler."
            yield _refuse(
                document, (*path, "schedulerName"), "schedulerName is missing", hint
            )
        elif name in seen:
            yield _refuse(
                document,
                (*path, "schedulerName"),
                f"schedulerName {name[:80]!r} is also that of profiles[{seen[name]}]",
                "Each profile needs a name of its own.",
            )
        seen.setdefault(name, i)
        yield from _profile(document, i)
    yield from _queue_sort(document)


def _profile(document: Document, index: int) -> Iterator[Problem]:
    profile = document.profiles[index]
    path: Path = ("profiles", index)
    if not 0 <= _value(profile, "percentageOfNodesToScore", 0) <= 100:
        yield _percentage(document, (*path, "percentageOfNodesToScore"))
    for point in CLASSIC_POINTS:
        for i, name, _ in listed(profile, point, "enabled"):
            if name in LEGACY_PLUGINS:
                at = (*path, "plugins", point, "enabled", i, "name")
                yield _legacy(document, at, name)
    yield from _plugin_configs(document, index)


def _legacy(document: Document, path: Path, name: str) -> Problem:
    message = f"the plugin {name} does not exist in v1"
    return _refuse(document, path, message, "Use NodeVolumeLimits.")


def _plugin_configs(document: Document, index: int) -> Iterator[Problem]:
    seen: set[str] = set()
    configs = document.profiles[index].get("pluginConfig") or ()
    for i, config in enumerate(configs):
        name = str((config or {}).get("name") or "")
        path = ("profiles", index, "pluginConfig", i)
        if name in seen:
            yield _refuse(
                document,
                path,
                f"pluginConfig names {name[:80]!r} twice",
                "Put all its arguments into one entry.",
            )
        seen.add(name)
        if name in LEGACY_PLUGINS:
            yield _legacy(document, (*path, "name"), name)


def _queue_sort(document: Document) -> Iterator[Problem]:
    profiles = document.profiles
    first = _plain_set(plugin_set(profiles[0], "queueSort"))
    for i, profile in enumerate(profiles[1:], start=1):
        if _plain_set(plugin_set(profile, "queueSort")) != first:
            yield _refuse(
                document,
                ("profiles", i, "plugins", "queueSort"),
                "queueSort must be the same in all profiles",
                "All profiles share one queue.",
            )
    if len(first[0]) > 1:
        path = ("profiles", 0, "plugins", "queueSort", "enabled")
        yield _refuse(document, path, "only one queueSort plugin can be enabled")


def _plain_set(found: Any) -> tuple[list[Any], list[Any]]:
    return list(found.get("enabled") or ()), list(found.get("disabled") or ())


def _value(data: Any, key: str, default: int) -> int:
    value = data.get(key)
    return default if value is None else int(value)
