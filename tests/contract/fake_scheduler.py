"""Reads an extender's answers as kube-scheduler 1.36 does, and picks a node.

The rules were checked against kube-scheduler's own code, case by case: see
`extender-json/RESPONSE-BEHAVIOUR.tsv`, which `test_fake_scheduler.py` replays.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

SCALE = 10  # MaxNodeScore 100 / MaxExtenderPriority 10
_LARGEST, _SMALLEST = 2**63 - 1, -(2**63)
UNRESOLVABLE = "UnschedulableAndUnresolvable"
UNSCHEDULABLE = "Unschedulable"


class AnswerError(Exception):
    """kube-scheduler would report this instead of using the answer."""


class _Float:
    """A JSON number that is no integer literal, which an int64 field refuses."""

    def __init__(self, _text: str) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Filtered:
    """Nodes that pass, and per node why it does not."""

    nodes: list[str] = field(default_factory=list)
    failed: Mapping[str, str] = field(default_factory=dict)
    unresolvable: Mapping[str, str] = field(default_factory=dict)

    def status(self, node: str) -> str:
        """As it is looked up: a node in no map has the default, without a reason."""
        if node in self.unresolvable:
            return f"{UNRESOLVABLE}:{self.unresolvable[node]}"
        if node in self.failed:
            return f"{UNSCHEDULABLE}:{self.failed[node]}"
        return f"{UNRESOLVABLE}:"


def read_filter(
    status: int, body: bytes, names: Iterable[str], *, cache_capable: bool
) -> Filtered:
    """Raises AnswerError."""
    answer = _object(_read(status, body))
    if error := _text(answer.get("Error")):
        raise AnswerError(error)
    listed = answer.get("NodeNames")
    nodes = _node_names(answer.get("Nodes"))
    passed = nodes or []
    if cache_capable and listed is not None:
        passed = [_text(name) for name in _list(listed)]
        known = set(names)
        for name in passed:
            if name not in known:
                raise AnswerError(f"claims a filtered node {name!r}")
    return Filtered(
        passed,
        _texts(answer.get("FailedNodes")),
        _texts(answer.get("FailedAndUnresolvableNodes")),
    )


def read_prioritize(status: int, body: bytes) -> list[tuple[str, int]]:
    """Raises AnswerError: the whole list is then discarded."""
    hosts = [_object(host) for host in _list(_read(status, body))]
    return [(_text(host.get("Host")), _int64(host.get("Score"))) for host in hosts]


def points(
    answer: Iterable[tuple[str, int]], names: Iterable[str], *, weight: int
) -> dict[str, int]:
    """What an extender of this weight adds to each node's score."""
    totals = dict.fromkeys(names, 0)
    for host, score in answer:
        if host in totals:
            totals[host] = _wrapped(totals[host] + _wrapped(score * weight * SCALE))
    return totals


def best(totals: Mapping[str, int]) -> set[str]:
    """The nodes among which kube-scheduler chooses at random."""
    highest = max(totals.values())
    return {name for name, total in totals.items() if total == highest}


def _read(status: int, body: bytes) -> Any:
    if status != 200:
        raise AnswerError(f"code {status}")
    decoder = json.JSONDecoder(parse_float=_Float, parse_constant=_refuse)
    text = body.decode("utf-8").lstrip(" \t\r\n")
    try:
        value, _ = decoder.raw_decode(text)  # what follows the first value is not read
    except ValueError as exc:
        raise AnswerError("EOF" if not text else str(exc)) from exc
    return value


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"invalid character {constant[0]!r}")


def _object(value: Any) -> dict[str, Any]:
    """Keys in the spelling of the fields, whatever their case; null is empty."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AnswerError("cannot unmarshal into an object")
    return {_FIELDS.get(str(k).lower(), str(k)): item for k, item in value.items()}


_FIELDS: dict[str, str] = {
    name.lower(): name
    for name in (
        *("Host", "Score", "Nodes", "NodeNames", "FailedNodes"),
        *("FailedAndUnresolvableNodes", "Error", "metadata", "items", "name"),
    )
}


def _list(value: Any) -> list[Any]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise AnswerError("cannot unmarshal into a list")
    return value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise AnswerError("cannot unmarshal into a string")
    return value


def _texts(value: Any) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise AnswerError("cannot unmarshal into a map")
    return {key: _text(item) for key, item in value.items()}


def _int64(value: Any) -> int:
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int):
        raise AnswerError("cannot unmarshal into an int64")
    if not _SMALLEST <= value <= _LARGEST:
        raise AnswerError("out of the range of int64")
    return value


def _wrapped(value: int) -> int:
    """Go's int64 arithmetic overflows without a word."""
    return (value - _SMALLEST) % 2**64 + _SMALLEST


def _node_names(value: Any) -> list[str] | None:
    if value is None:
        return None
    items = _list(_object(value).get("items"))
    return [_text(_object(_object(i).get("metadata")).get("name")) for i in items]
