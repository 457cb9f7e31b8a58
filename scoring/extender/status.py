"""The state in words, for /readyz. Holds no address, no key and no body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scoring.extender.state import ExtenderState, Facts
from scoring.framework.snapshot import Snapshot

_LATE_TICKS_SECONDS = 300.0  # after which expired data is the likely consequence


@dataclass(frozen=True, slots=True)
class PolicyStatus:
    """One policy in use, and whether it can tell nodes apart now."""

    configuration: str
    compiled_revision: int
    revision: int
    scheduler_name: str
    answerable: bool


@dataclass(frozen=True, slots=True)
class Status:
    """`detail` are sentences for the operator; empty = all is well."""

    ready: bool
    loaded: bool
    cluster: str
    detail: tuple[str, ...]
    neutral: str | None
    snapshot_version: int | None
    snapshot_age_seconds: float | None
    nodes: int
    policies: tuple[PolicyStatus, ...]
    live_revisions: Mapping[str, int]


def describe(
    state: ExtenderState,
    sources: Iterable[str],
    live_revisions: Mapping[str, int],
    *,
    now: float,
) -> Status:
    """`sources` are sentences on what the state is read from; `now` in Unix seconds."""
    facts = state.facts if state.view.loaded else None
    snapshot = facts.stored.snapshot if facts else None
    policies = _policies(state)
    age = max(0.0, now - snapshot.collected_at) if snapshot else None
    switch = state.neutral
    detail = [
        *_switch_sentences(switch),
        *_facts_sentences(facts),
        *_snapshot_sentences(snapshot, age),
        *_policy_sentences(facts, policies),
        *sources,
    ]
    return Status(
        ready=True,
        loaded=facts is not None,
        cluster=facts.stored.cluster if facts else "",
        detail=tuple(dict.fromkeys(detail)),
        neutral=switch[1] if switch else None,
        snapshot_version=snapshot.version if snapshot else None,
        snapshot_age_seconds=None if age is None else round(age, 1),
        nodes=len(snapshot.table) if snapshot else 0,
        policies=policies,
        live_revisions=live_revisions,
    )


def _policies(state: ExtenderState) -> tuple[PolicyStatus, ...]:
    return tuple(
        PolicyStatus(
            configuration=prepared.policy.configuration,
            compiled_revision=prepared.policy.compiled_revision,
            revision=prepared.policy.revision,
            scheduler_name=prepared.policy.scheduler_name,
            answerable=prepared.answerable,
        )
        for group in state.view.policies.values()
        for prepared in group.values()
    )


def _switch_sentences(switch: tuple[str, str] | None) -> list[str]:
    if switch is None:
        return []
    source, reason = switch
    return [f"The kill switch is on ({source}): {reason}. Every answer is neutral."]


def _facts_sentences(facts: Facts | None) -> list[str]:
    if facts is None:
        return ["Nothing is loaded yet: every answer is neutral and every node passes."]
    missing = []
    if not facts.stored.keys:
        missing.append(
            "The cluster has no extender key, so every call is refused: set "
            "BANDMASTER_EXTENDER_KEY and run `manage.py bootstrap`."
        )
    return [*missing, *facts.problems]


def _snapshot_sentences(snapshot: Snapshot | None, age: float | None) -> list[str]:
    if snapshot is None or age is None:
        return ["There is no snapshot yet: see whether the worker runs its ticks."]
    late = max(_LATE_TICKS_SECONDS, 2 * snapshot.window)
    if age > late:
        return [
            f"The newest snapshot is {age:.0f} seconds old: see whether the worker "
            "runs and reaches Prometheus."
        ]
    return []


def _policy_sentences(
    facts: Facts | None, policies: tuple[PolicyStatus, ...]
) -> list[str]:
    if facts is None:
        return []
    if not policies:
        return [
            "There is no policy: publish a configuration that uses a plugin of ours."
        ]
    return [
        f"No node has usable data for {p.configuration} r{p.revision}, "
        f"{p.scheduler_name}: its answers are neutral."
        for p in policies
        if not p.answerable
    ]
