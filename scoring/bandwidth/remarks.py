"""What an operator is told of a tick's answers: one sentence for each oddity."""

from __future__ import annotations

from collections.abc import Mapping

from scoring.bandwidth.identity import (
    Identities,
    Key,
    Match,
    cluster_of,
    instance_of,
)
from scoring.framework.snapshot import NodeRow, Snapshot

ONE_DIRECTION = "only the receive rate is known: no transmit series names this node"
SOME_DEVICES = "some of its devices have samples that are not numbers from 0 up"
PARTLY = frozenset({ONE_DIRECTION, SOME_DEVICES})  # causes of a partial datum

_LOST_SHARE = 0.1  # of the nodes with data, from one tick to the next
_NAMED = 3  # examples that a warning names


def identity_warnings(
    identities: Identities, nodes: tuple[NodeRow, ...]
) -> tuple[str, ...]:
    """Series that belong to no node, to two, or to nodes of several clusters."""
    warnings: list[str] = []
    if identities.ambiguous:
        warnings.append(
            f"two nodes claim {_examples(identities.ambiguous)}: series under it are "
            "left out"
        )
    strangers = sorted({instance_of(key) for key in identities.unmatched})
    if strangers:
        warnings.append(
            f"{len(strangers)} exporters belong to no node of the cluster, such as "
            f"{_examples(strangers)}"
        )
    matched = {key: match for key, match in identities.matches.items() if match.rule}
    if twice := _with_two_exporters(matched, nodes):
        warnings.append(
            f"{len(twice)} nodes have more than one exporter, such as "
            f"{_examples(twice)}: of each device the higher value counts"
        )
    clusters = sorted({cluster_of(key) for key in matched})
    if len(clusters) > 1:
        warnings.append(
            f"series of several clusters match ({_examples(clusters)}): choose one "
            "with BANDMASTER_PROMETHEUS_SELECTOR"
        )
    return tuple(warnings)


def _with_two_exporters(
    matched: Mapping[Key, Match], nodes: tuple[NodeRow, ...]
) -> list[str]:
    if len({match.row for match in matched.values()}) == len(matched):
        return []
    first: dict[int, str] = {}
    twice: set[int] = set()
    for key, match in matched.items():
        instance = instance_of(key)
        if first.setdefault(match.row, instance) != instance:
            twice.add(match.row)
    return sorted(nodes[row].name for row in twice)


def _examples(names: tuple[str, ...] | list[str]) -> str:
    shown = ", ".join(name or "no cluster label" for name in names[:_NAMED])
    return shown if len(names) <= _NAMED else f"{shown} and others"


def partial_warning(names: list[str]) -> tuple[str, ...]:
    """Which nodes have a datum that is only a part of their traffic."""
    if not names:
        return ()
    return (
        f"{len(names)} nodes are known only in part, such as {_examples(names)}: what "
        "is not known is not taken for idle, so their traffic is not scored",
    )


def window_warning(window: float, interval: float) -> tuple[str, ...]:
    """Seconds; a rate needs samples, and an `interval` of 0 is not known."""
    if interval <= 0 or window >= 3 * interval:
        return ()
    return (
        f"the window of {window:g} s holds fewer than 3 scrapes of "
        f"{interval:.0f} s: set BANDMASTER_WINDOW_SECONDS to {4 * interval:.0f}",
    )


def lost_warning(
    with_data: int, nodes: tuple[NodeRow, ...], previous: Snapshot | None
) -> tuple[str, ...]:
    """Partial answers look like health: say when many nodes fall silent at once."""
    if previous is None:
        return ()
    names = {node.name for node in nodes}
    before = sum(
        row.name in names and (not row.cause or row.cause in PARTLY)
        for row in previous.table.rows
    )
    if with_data >= (1 - _LOST_SHARE) * before:
        return ()
    return (f"nodes with data fell from {before} to {with_data} since the last tick",)
