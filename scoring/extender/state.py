"""What the extender has loaded, and the view of it that answers calls.

A `View` is immutable and replaced by one reference; a request takes the reference and
no lock, unless the moment has come when ageing data changes what the view says.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import msgspec

from scoring.extender.names import NodeIndex
from scoring.extender.types import Call, View
from scoring.framework.plugin import Plugin
from scoring.framework.policy import PluginSpec, Policy, decode_policy
from scoring.framework.runtime import PreparedPolicy, prepare
from scoring.framework.snapshot import Snapshot
from scoring.plugins.args import ArgsError
from scoring.plugins.registry import build

Group = tuple[str, int]  # configuration, R
_CALLED_GROUPS_KEPT = 4  # older stock documents that some scheduler still runs


@dataclass(frozen=True, slots=True)
class Rules:
    """A policy with its plugins, their arguments parsed."""

    policy: Policy
    plugins: tuple[tuple[PluginSpec, Plugin], ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """All that the rows of one cluster hold, at one value of its counter."""

    cluster: str
    counter: int
    keys: frozenset[str]  # sha256 of each valid extender key, hexadecimal
    neutral_reason: str | None
    documents: tuple[bytes, ...]  # policies, as they are stored
    snapshot: Snapshot | None


@dataclass(frozen=True, slots=True)
class Facts:
    """What is stored, and what its policies say."""

    stored: Stored
    groups: Mapping[Group, tuple[Rules, ...]]
    newest: Mapping[str, int]  # configuration -> R of its newest revision
    problems: tuple[str, ...] = ()  # sentences: what was skipped and why


def build_facts(stored: Stored, problems: Iterable[str] = ()) -> Facts:
    """Read the policies; one that cannot be read is skipped with a sentence.

    Where several revisions share a stock document, the newest that can be read as a
    whole counts.
    """
    found: list[str] = list(problems)
    groups, newest = _grouped(stored.documents, found)
    return Facts(
        stored=stored,
        groups=MappingProxyType(groups),
        newest=MappingProxyType(newest),
        problems=tuple(dict.fromkeys(found)),
    )


class _Header(msgspec.Struct):
    """The part of a stored policy that every release writes."""

    configuration: str
    compiled_revision: int
    revision: int
    scheduler_name: str


def _grouped(
    documents: tuple[bytes, ...], problems: list[str]
) -> tuple[dict[Group, tuple[Rules, ...]], dict[str, int]]:
    revisions: dict[Group, dict[int, list[Rules | None]]] = {}
    for document in documents:
        try:
            header = msgspec.json.decode(document, type=_Header)
        except msgspec.DecodeError:
            problems.append("A stored policy is damaged and is skipped: publish again.")
            continue
        group = (header.configuration, header.compiled_revision)
        same = revisions.setdefault(group, {})
        same.setdefault(header.revision, []).append(_rules(document, header, problems))
    groups: dict[Group, tuple[Rules, ...]] = {}
    newest: dict[str, tuple[int, int]] = {}
    for group, by_revision in revisions.items():
        number, rules = _newest_readable(by_revision)
        if rules:
            groups[group] = rules
            configuration, compiled = group
            best = newest.get(configuration, (-1, -1))
            newest[configuration] = max(best, (number, compiled))
    return groups, {name: compiled for name, (_, compiled) in newest.items()}


def _newest_readable(
    by_revision: Mapping[int, list[Rules | None]],
) -> tuple[int, tuple[Rules, ...]]:
    for number in sorted(by_revision, reverse=True):
        rules = by_revision[number]
        if all(rule is not None for rule in rules):
            return number, tuple(rule for rule in rules if rule is not None)
    number = max(by_revision)
    return number, tuple(rule for rule in by_revision[number] if rule is not None)


def _rules(document: bytes, header: _Header, problems: list[str]) -> Rules | None:
    where = (
        f"The policy of {header.configuration} r{header.revision} for "
        f"{header.scheduler_name}"
    )
    try:
        policy = decode_policy(document)
        if policy is None:
            problems.append(
                f"{where} was written by another release and is skipped: bring all "
                "processes to one release, or publish again."
            )
            return None
        plugins = tuple((spec, build(spec)) for spec in policy.plugins)
    except KeyError as exc:
        problems.append(
            f"{where} names the plugin {exc}, which this release does not run, and is "
            "skipped: publish the configuration again."
        )
    except (ArgsError, msgspec.DecodeError):
        problems.append(
            f"{where} cannot be understood and is skipped: publish the configuration "
            "again."
        )
    else:
        return Rules(policy, plugins)
    return None


@dataclass(frozen=True, slots=True)
class _Current:
    view: View
    valid_until: float  # Unix seconds; from then on the view says what is not so


_EMPTY = _Current(View(), math.inf)


class ExtenderState:
    """What is loaded. Writers take a lock; a request reads one reference."""

    def __init__(self, *, neutral_reason: str | None = None) -> None:
        """`neutral_reason`: the environment's; it turns the kill switch on for good."""
        self._environment_reason = neutral_reason
        self._file_reason: str | None = None
        self._facts: Facts | None = None
        self._current = self._with_switch(_EMPTY)
        self._called: dict[Group, None] = {}
        self._lock = threading.Lock()

    @property
    def facts(self) -> Facts | None:
        """The rows as last read; None before the first time."""
        return self._facts

    @property
    def view(self) -> View:
        """The view as it is, perhaps one that ageing has overtaken."""
        return self._current.view

    @property
    def neutral(self) -> tuple[str, str] | None:
        """Source and reason of the kill switch while it is on."""
        row = self._facts.stored.neutral_reason if self._facts else None
        sources = (
            ("environment", self._environment_reason),
            ("file", self._file_reason),
            ("cluster", row),
        )
        return next(((s, reason) for s, reason in sources if reason is not None), None)

    def after_fork(self) -> None:
        """A forked child may have inherited the lock held."""
        self._lock = threading.Lock()

    def load(self, facts: Facts, *, now: float) -> None:
        """Replace what is loaded."""
        with self._lock:
            self._facts = facts
            # the kill switch and the keys first: they hold even if preparing fails
            self._current = self._with_switch(self._current)
            self._prepare(now)

    def set_file_reason(self, reason: str | None) -> None:
        """The kill switch of the data directory: its reason, None when it is off."""
        if reason == self._file_reason:
            return
        with self._lock:
            self._file_reason = reason
            self._current = self._with_switch(self._current)

    def view_at(self, now: float, call: Call | None = None) -> View:
        """The view that is right at `now` and holds the policies that `call` names."""
        current = self._current
        if now < current.valid_until and not self._lacks(current.view, call):
            return current.view
        with self._lock:
            current = self._current
            lacking = self._lacks(current.view, call)
            if lacking is not None:
                self._called[lacking] = None
                while len(self._called) > _CALLED_GROUPS_KEPT:
                    del self._called[next(iter(self._called))]
            if lacking is not None or now >= current.valid_until:
                self._prepare(now)
            return self._current.view

    def _lacks(self, view: View, call: Call | None) -> Group | None:
        if call is None or call.configuration is None or call.revision is None:
            return None
        group = (call.configuration, call.revision)
        if group in view.policies or self._facts is None:
            return None
        return group if group in self._facts.groups else None

    def _prepare(self, now: float) -> None:
        """Call with the lock held."""
        facts = self._facts
        if facts is None:
            return
        before = self._current.view
        snapshot = facts.stored.snapshot
        wanted = dict.fromkeys([*facts.newest.items(), *self._called])
        policies = {
            group: MappingProxyType(
                _prepared(facts.groups[group], snapshot, before, now)
            )
            for group in wanted
            if group in facts.groups
        }
        index = None
        if snapshot is not None:
            index = NodeIndex.build(snapshot.table, before.index)
        view = View(
            snapshot=snapshot,
            policies=MappingProxyType(policies),
            newest=facts.newest,
            index=index,
            loaded=True,
        )
        valid_until = min(
            (p.valid_until for group in policies.values() for p in group.values()),
            default=math.inf,
        )
        self._current = self._with_switch(_Current(view, valid_until))

    def _with_switch(self, current: _Current) -> _Current:
        view = replace(current.view, neutral=self.neutral is not None)
        return _Current(view, current.valid_until)


def _prepared(
    rules: tuple[Rules, ...], snapshot: Snapshot | None, before: View, now: float
) -> dict[str, PreparedPolicy]:
    prepared = {}
    for rule in rules:
        policy = rule.policy
        group = (policy.configuration, policy.compiled_revision)
        prepared[policy.scheduler_name] = prepare(
            policy,
            rule.plugins,
            snapshot,
            None,
            now=now,
            # hysteresis: a node that was refused comes back only well below the limit
            previous=before.policies.get(group, {}).get(policy.scheduler_name),
        )
    return prepared
