"""Compares a tree with the schema: unknown fields and wrong types, all at once."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from dataclasses import dataclass

from console.kubescheduler.problems import Path, did_you_mean
from console.kubescheduler.scalars import parse_duration
from console.kubescheduler.schema import Leaf, ListOf, Struct, Type
from console.kubescheduler.tree import Mapping, Node, Scalar, Sequence, Span

_INT_BITS = {Leaf.INT32: 31, Leaf.INT64: 63}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """`fatal`: the value cannot be used; else it is only one that nobody reads."""

    path: Path
    span: Span
    message: str
    hint: str = ""
    fatal: bool = True


def compare(node: Node, expected: Type, path: Path = ()) -> Iterator[Mismatch]:
    """Every difference between the tree and the type; null fits everywhere."""
    if isinstance(node, Scalar) and node.value is None:
        return
    if isinstance(expected, Struct):
        yield from _compare_struct(node, expected, path)
    elif isinstance(expected, ListOf):
        yield from _compare_list(node, expected, path)
    else:
        yield from _compare_leaf(node, expected, path)


def _compare_struct(node: Node, expected: Struct, path: Path) -> Iterator[Mismatch]:
    if not isinstance(node, Mapping):
        yield _wrong(node, "a mapping of fields", path)
        return
    for entry in (*node.entries, *node.merged):
        at = (*path, entry.key)
        if entry.key not in expected.fields:
            known = ", ".join(expected.fields)
            yield Mismatch(
                at,
                entry.span,
                f"unknown field {entry.key[:80]!r}",
                did_you_mean(entry.key, expected.fields) or f"Known here: {known}.",
                fatal=False,
            )
        else:
            yield from compare(entry.value, expected.fields[entry.key], at)


def _compare_list(node: Node, expected: ListOf, path: Path) -> Iterator[Mismatch]:
    if not isinstance(node, Sequence):
        yield _wrong(node, "a list", path)
        return
    for i, item in enumerate(node.items):
        yield from compare(item, expected.item, (*path, i))


def _compare_leaf(node: Node, expected: Leaf, path: Path) -> Iterator[Mismatch]:
    if expected is Leaf.ANY:
        return
    if not isinstance(node, Scalar) or not _fits(node.value, expected):
        hint = ""
        if isinstance(node, Scalar) and node.value is not None:
            hint = _leaf_hint(node.value, expected)
        yield _wrong(node, expected.value, path, hint)


def _fits(value: object, expected: Leaf) -> bool:
    if expected is Leaf.BOOL or isinstance(value, bool):
        return expected is Leaf.BOOL and isinstance(value, bool)
    if expected is Leaf.FLOAT:
        return isinstance(value, int | float)
    if expected in _INT_BITS:
        return _fits_int(value, _INT_BITS[expected])
    if not isinstance(value, str):
        return False
    if expected is Leaf.DURATION:
        return parse_duration(value) is not None
    return expected is Leaf.STRING or _is_base64(value)


def _fits_int(value: object, bits: int) -> bool:
    # YAML's 1e1 reaches kube-scheduler as the JSON number 10
    if isinstance(value, float) and not value.is_integer():
        return False
    return isinstance(value, int | float) and -(2**bits) <= value < 2**bits


def _is_base64(value: str) -> bool:
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _leaf_hint(value: object, expected: Leaf) -> str:
    if expected is Leaf.STRING:
        return "Put it in quotes."
    if expected is Leaf.DURATION and not isinstance(value, bool):
        return f'Add a unit, for example "{str(value)[:20]}s".'
    if isinstance(value, str) and expected in (Leaf.BOOL, Leaf.FLOAT, *_INT_BITS):
        return "Write it without quotes."
    return ""


def _wrong(node: Node, wanted: str, path: Path, hint: str = "") -> Mismatch:
    if isinstance(node, Scalar):
        found = repr(node.value)
        found = found if len(found) <= 60 else found[:57] + "..."
    else:
        found = "a mapping" if isinstance(node, Mapping) else "a list"
    return Mismatch(path, node.span, f"must be {wanted}, not {found}", hint)
