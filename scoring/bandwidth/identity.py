"""Which node a series belongs to, and by which rule that is known.

Exact comparison only, in a fixed order, in lower case. A name or address that two
nodes claim identifies neither: both would be scored by the other's traffic.
"""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from scoring.bandwidth.queries import IDENTITY_LABELS
from scoring.framework.snapshot import NodeRow

Key = tuple[str | None, ...]  # the values of IDENTITY_LABELS in that order
UNMATCHED = -1

BY_LABEL = "node label"
BY_INSTANCE = "instance"
BY_HOST_NAME = "instance without port"
BY_ADDRESS = "node address"
BY_UNAME = "host name of the exporter"
BY_SHORT_NAME = "short name"  # a guess: the only inexact rule

_INSTANCE = IDENTITY_LABELS.index("instance")
_CLUSTER = IDENTITY_LABELS.index("cluster")
_NODE_LABELS = tuple(
    i for i, name in enumerate(IDENTITY_LABELS) if i not in {_INSTANCE, _CLUSTER}
)


@dataclass(frozen=True, slots=True)
class Match:
    """The row of a node, or UNMATCHED, and the rule that found it."""

    row: int
    rule: str


_NO_MATCH = Match(UNMATCHED, "")


@dataclass(frozen=True, slots=True)
class Identities:
    """All label sets of a tick, resolved; what could not be, is listed."""

    matches: Mapping[Key, Match]
    ambiguous: tuple[str, ...] = ()  # names and addresses that two nodes claim
    unmatched: tuple[Key, ...] = ()


@dataclass(slots=True)
class _Claims:
    """Keys -> rows; a key that two rows claim is gone for good."""

    rows: dict[str, int] = field(default_factory=dict)
    twice: set[str] = field(default_factory=set)

    def add(self, key: str, row: int) -> None:
        if key and self.rows.setdefault(key, row) != row:
            self.twice.add(key)

    def settle(self) -> dict[str, int]:
        return {key: row for key, row in self.rows.items() if key not in self.twice}


def key_of(labels: Mapping[str, str]) -> Key:
    """What identifies a series' origin; the same for all series of one exporter."""
    return tuple(map(labels.get, IDENTITY_LABELS))


def instance_of(key: Key) -> str:
    """How to name an exporter to an operator."""
    return next((str(part) for part in (key[_INSTANCE], *key) if part), "no labels")


def cluster_of(key: Key) -> str:
    """The `cluster` label; empty without one."""
    return key[_CLUSTER] or ""


@lru_cache(maxsize=65536)
def host_of(instance: str) -> str:
    """`instance` without its port, lower-cased; an IPv6 address in one spelling.

    Understands `[v6]:port`, `v4:port`, `name:port` and a bare IPv6 address.
    """
    text = instance.strip().lower()
    if text.startswith("["):
        return canonical_address(text[1:].partition("]")[0])
    if text.count(":") >= 2:
        return canonical_address(text)
    return text.partition(":")[0]


@lru_cache(maxsize=65536)
def canonical_address(text: str) -> str:
    """An IP address in its one normal spelling; anything else in lower case."""
    text = text.strip().lower()
    if ":" not in text and not text[:1].isdigit():
        return text
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return text


def identify(
    keys: Iterable[Key],
    rows: tuple[NodeRow, ...],
    unames: Mapping[tuple[str, str], str] | None = None,
) -> Identities:
    """Resolve every label set against the nodes.

    `unames` gives the host name that the exporter of a (cluster, instance) reports.
    """
    names, addresses = _claims(rows)
    known_names, known_addresses = names.settle(), addresses.settle()
    matches: dict[Key, Match] = {}
    left: list[Key] = []
    for key in set(keys):
        found = _exact(key, known_names, known_addresses) or _uname(
            key, known_names, known_addresses, unames or {}
        )
        if found is None:
            left.append(key)
        else:
            matches[key] = found
    matches |= _short_names(left, rows, {match.row for match in matches.values()})
    unmatched = tuple(sorted((k for k in left if k not in matches), key=instance_of))
    matches |= dict.fromkeys(unmatched, _NO_MATCH)
    return Identities(matches, tuple(sorted(names.twice | addresses.twice)), unmatched)


def _claims(rows: tuple[NodeRow, ...]) -> tuple[_Claims, _Claims]:
    names, addresses = _Claims(), _Claims()
    for i, row in enumerate(rows):
        names.add(row.name.lower(), i)
        for address in row.addresses:
            addresses.add(canonical_address(address), i)
    return names, addresses


def _exact(
    key: Key, names: Mapping[str, int], addresses: Mapping[str, int]
) -> Match | None:
    """Rules 2 to 4: a node label, the whole instance, the instance without port."""
    for label in _NODE_LABELS:
        value = key[label]
        if value and (row := names.get(value.lower())) is not None:
            return Match(row, BY_LABEL)
    instance = key[_INSTANCE]
    if not instance:
        return None
    if (row := names.get(instance.lower())) is not None:
        return Match(row, BY_INSTANCE)
    host = host_of(instance)
    if (row := names.get(host)) is not None:
        return Match(row, BY_HOST_NAME)
    if (row := addresses.get(canonical_address(host))) is not None:
        return Match(row, BY_ADDRESS)
    return None


def _uname(
    key: Key,
    names: Mapping[str, int],
    addresses: Mapping[str, int],
    unames: Mapping[tuple[str, str], str],
) -> Match | None:
    """Rule 5: the host name that the same exporter reports."""
    reported = unames.get((cluster_of(key), key[_INSTANCE] or ""), "").lower()
    row = names.get(reported, addresses.get(reported)) if reported else None
    return None if row is None else Match(row, BY_UNAME)


def _short_names(
    keys: list[Key], rows: tuple[NodeRow, ...], taken: set[int]
) -> dict[Key, Match]:
    """Rule 6: names before the first dot, where unique among nodes and series."""
    if not keys:
        return {}
    nodes = _Claims()
    for i, row in enumerate(rows):
        nodes.add(_short(row.name), i)
    known = nodes.settle()
    wanted: dict[int, set[Key]] = defaultdict(set)
    for key in keys:
        for text in (key[label] for label in (*_NODE_LABELS, _INSTANCE)):
            row_found = known.get(_short(host_of(text))) if text else None
            if row_found is not None and row_found not in taken:
                wanted[row_found].add(key)
                break
    return {
        key: Match(row, BY_SHORT_NAME)
        for row, claimed in wanted.items()
        if len({host_of(instance_of(key)) for key in claimed}) == 1
        for key in claimed
    }


def _short(name: str) -> str:
    """Empty for addresses: the first number of an IP address names nothing."""
    lowered = name.lower()
    head = lowered.partition(".")[0]
    return "" if head.isdigit() or ":" in lowered else head
