"""Answers queries as Prometheus 3 does, over the samples of the simulated scrapes.

Ranges are open on the left; an instant selector looks back five minutes.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from scoring.simulation.promql import (
    Aggregate,
    Binary,
    Call,
    Node,
    Number,
    PromqlError,
    Selector,
    parse,
)
from scoring.simulation.scrapes import Recorded, Sample, ScrapeLog

LOOK_BACK = 300.0  # seconds
_EXTRAPOLATION = 1.1  # of the mean spacing: a gap beyond it is not bridged
Labels = dict[str, str]


@dataclass(frozen=True, slots=True)
class Element:
    """One element of an instant vector."""

    labels: Labels
    value: float


Vector = list[Element]
Value = float | Vector


def evaluate(query: str, log: ScrapeLog, *, at: float) -> Value:
    """The value of `query` at Unix second `at`. Raises PromqlError."""
    return _Evaluation(log, at).of(parse(query))


class _Evaluation:
    """One query at one moment."""

    def __init__(self, log: ScrapeLog, at: float) -> None:
        self._log = log
        self._at = at

    def of(self, node: Node) -> Value:
        match node:
            case Number():
                return node.value
            case Selector():
                return [
                    Element(one.labels, one.samples[-1][1])
                    for one in self._instant(node)
                ]
            case Call():
                return self._call(node)
            case Aggregate():
                return _aggregate(node, self._vector(node.operand))
            case Binary():
                return _binary(node.operator, self.of(node.left), self.of(node.right))

    def _vector(self, node: Node) -> Vector:
        value = self.of(node)
        if isinstance(value, float):
            raise PromqlError("a vector is needed where the query has a number")
        return value

    def _instant(self, selector: Selector) -> list[Recorded]:
        if selector.seconds is not None:
            raise PromqlError("a range needs a function such as rate around it")
        return self._select(selector, LOOK_BACK)

    def _select(self, selector: Selector, seconds: float) -> list[Recorded]:
        if not selector.metric:
            raise PromqlError("the simulated Prometheus needs the name of a metric")
        found = self._log.select(selector.metric, self._at - seconds, self._at)
        return [
            one
            for one in found
            if all(matcher.holds(one.labels) for matcher in selector.matchers)
        ]

    def _call(self, call: Call) -> Value:
        if call.function == "time":
            return self._at
        if len(call.arguments) != 1 or not isinstance(call.arguments[0], Selector):
            raise PromqlError(f"{call.function} takes one metric")
        selector = call.arguments[0]
        if call.function == "timestamp":
            return [
                Element(_nameless(one.labels), one.samples[-1][0])
                for one in self._instant(selector)
            ]
        if selector.seconds is None:
            raise PromqlError(f"{call.function} needs a range such as [1m]")
        return self._over_time(call.function, selector, selector.seconds)

    def _over_time(self, name: str, selector: Selector, seconds: float) -> Vector:
        result: Vector = []
        for one in self._select(selector, seconds):
            if name == "rate":
                value = rate(one.samples, at=self._at, seconds=seconds)
            else:
                value = _REDUCERS[name]([sample[1] for sample in one.samples])
            if value is not None:
                result.append(Element(_nameless(one.labels), value))
        return result


def rate(samples: Sequence[Sample], *, at: float, seconds: float) -> float | None:
    """Growth per second, extrapolated to the ends of the range as Prometheus does.

    None with fewer than two samples. Formula: extrapolatedRate in promql/functions.go.
    """
    if len(samples) < 2:
        return None
    grown = 0.0
    for (_, before), (_, after) in pairwise(samples):
        grown += after - before if after >= before else after
    covered = samples[-1][0] - samples[0][0]
    spacing = covered / (len(samples) - 1)
    to_start = samples[0][0] - (at - seconds)
    to_end = at - samples[-1][0]
    if grown > 0:  # a counter cannot have been below zero
        to_start = min(to_start, covered * samples[0][1] / grown)
    bridged = covered
    for gap in (to_start, to_end):
        bridged += gap if gap < spacing * _EXTRAPOLATION else spacing / 2
    return grown * bridged / covered / seconds


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _count(values: Sequence[float]) -> float:
    return float(len(values))


_REDUCERS: dict[str, Callable[[Sequence[float]], float]] = {
    "max_over_time": max,
    "min_over_time": min,
    "count_over_time": _count,
    "max": max,
    "min": min,
    "sum": math.fsum,
    "avg": _mean,
    "count": _count,
}


def _aggregate(node: Aggregate, vector: Vector) -> Vector:
    groups: dict[tuple[tuple[str, str], ...], list[float]] = defaultdict(list)
    for element in vector:
        if node.without:
            dropped = {*node.labels, "__name__"}
            kept = {k: v for k, v in element.labels.items() if k not in dropped}
        else:
            kept = {k: v for k, v in element.labels.items() if k in node.labels}
        groups[_key(kept)].append(element.value)
    reduce = _REDUCERS[node.operator]
    return [Element(dict(key), reduce(values)) for key, values in groups.items()]


def _binary(operator: str, left: Value, right: Value) -> Value:
    if isinstance(left, float) and isinstance(right, float):
        if operator in _COMPARISONS:
            raise PromqlError("two numbers are not compared here")
        return _ARITHMETIC[operator](left, right)
    pairs = _pairs(left, right)
    if operator in _COMPARISONS:
        holds = _COMPARISONS[operator]
        return [
            Element(labels, a if isinstance(left, list) else b)
            for labels, a, b in pairs
            if holds(a, b)
        ]
    compute = _ARITHMETIC[operator]
    return [Element(_nameless(labels), compute(a, b)) for labels, a, b in pairs]


def _pairs(left: Value, right: Value) -> Iterable[tuple[Labels, float, float]]:
    """What stands against what; two vectors are matched by all their labels."""
    if isinstance(left, list) and isinstance(right, list):
        other = {_key(_nameless(e.labels)): e.value for e in right}
        for element in left:
            key = _key(_nameless(element.labels))
            if key in other:
                yield element.labels, element.value, other[key]
    elif isinstance(left, list):
        yield from ((e.labels, e.value, _number(right)) for e in left)
    else:
        yield from ((e.labels, left, e.value) for e in _elements(right))


def _number(value: Value) -> float:
    return value if isinstance(value, float) else math.nan


def _elements(value: Value) -> Vector:
    return value if isinstance(value, list) else []


def _divided(a: float, b: float) -> float:
    if b:
        return a / b
    return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a)


_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divided,
}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
}


def _nameless(labels: Labels) -> Labels:
    return {k: v for k, v in labels.items() if k != "__name__"}


def _key(labels: Labels) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))
