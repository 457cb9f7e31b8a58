"""A small part of PromQL as syntax: what the product asks, and its near relations."""

from __future__ import annotations

import re
from dataclasses import dataclass

LONGEST = 10_000  # characters
_MOST_TOKENS = 600
_DEEPEST = 30  # levels of nesting
AGGREGATIONS = frozenset({"max", "min", "avg", "sum", "count"})
FUNCTIONS = frozenset(
    {
        *("time", "timestamp", "rate"),
        *("max_over_time", "min_over_time", "count_over_time"),
    }
)
_LEVELS = (frozenset({">", "<"}), frozenset({"+", "-"}), frozenset({"*", "/"}))
_TOKEN = re.compile(
    r"\s*(?:(?P<duration>(?:\d+(?:ms|[smhd]))+)"
    r"|(?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[a-zA-Z_:][a-zA-Z0-9_:]*)"
    r"|(?P<string>\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*')"
    r"|(?P<sign>=~|!~|!=|[-+*/<>=(){}\[\],]))"
)
_DURATION = re.compile(r"(\d+)(ms|[smhd])")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class PromqlError(Exception):
    """The query cannot be answered; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Number:
    value: float


@dataclass(frozen=True, slots=True)
class Matcher:
    """A condition on a label; `operator` is one of = != =~ !~."""

    label: str
    operator: str
    value: str

    def holds(self, labels: dict[str, str]) -> bool:
        """Whether the labels satisfy it; a missing label is an empty one."""
        found = labels.get(self.label, "")
        if self.operator in {"=", "!="}:
            return (found == self.value) is (self.operator == "=")
        matched = re.fullmatch(self.value, found) is not None
        return matched is (self.operator == "=~")


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric with conditions; `seconds` is the length of a range, if it is one."""

    metric: str
    matchers: tuple[Matcher, ...]
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`without` tells whether `labels` are those that go, not those that stay."""

    operator: str
    labels: tuple[str, ...]
    without: bool
    operand: Node


@dataclass(frozen=True, slots=True)
class Binary:
    operator: str
    left: Node
    right: Node


Node = Number | Selector | Call | Aggregate | Binary
Token = tuple[str, str]  # kind, text
_END: Token = ("end", "")
_A = {
    "end": "the end",
    "name": "a name",
    "sign": "a sign",
    "string": "a string",
    "duration": "a duration",
}


def parse(text: str) -> Node:
    """The tree of a query. Raises PromqlError."""
    if len(text) > LONGEST:
        raise PromqlError(f"the query is longer than {LONGEST} characters")
    parser = _Parser(_tokens(text))
    node = parser.binary(0)
    parser.expect("end", "")
    return node


def _tokens(text: str) -> list[Token]:
    tokens: list[Token] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        found = _TOKEN.match(text, position)
        if found is None or len(tokens) > _MOST_TOKENS:
            raise PromqlError(
                f"the simulated Prometheus does not understand the query at character "
                f"{position + 1}"
            )
        kind = found.lastgroup or ""
        tokens.append((kind, found[kind]))
        position = found.end()
    return [*tokens, _END]


class _Parser:
    """Recursive descent over the tokens."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0

    @property
    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take(self) -> Token:
        token = self._next
        self._at = min(self._at + 1, len(self._tokens) - 1)
        return token

    def _accept(self, sign: str) -> bool:
        if self._next != ("sign", sign):
            return False
        self._take()
        return True

    def expect(self, kind: str, text: str = "") -> str:
        """The next token's text, when it is of that kind (and that text)."""
        got = self._take()
        if got[0] != kind or (text and got[1] != text):
            found = repr(got[1]) if got[1] else "its end"
            raise PromqlError(
                f"the simulated Prometheus expects {repr(text) if text else _A[kind]} "
                f"where the query has {found}"
            )
        return got[1]

    def binary(self, level: int) -> Node:
        if level == len(_LEVELS):
            return self._primary()
        node = self.binary(level + 1)
        while self._next[0] == "sign" and self._next[1] in _LEVELS[level]:
            operator = self._take()[1]
            node = Binary(operator, node, self.binary(level + 1))
        return node

    def _primary(self) -> Node:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise PromqlError("the query is nested too deeply")
        try:
            return self._one()
        finally:
            self._depth -= 1

    def _one(self) -> Node:
        if self._accept("("):
            node = self.binary(0)
            self.expect("sign", ")")
            return node
        if self._accept("-"):
            return Binary("-", Number(0.0), self._primary())
        if self._next[0] == "number":
            return Number(float(self._take()[1]))
        name = "" if self._next == ("sign", "{") else self.expect("name")
        if name in AGGREGATIONS:
            return self._aggregate(name)
        if self._next == ("sign", "("):
            return self._call(name)
        return self._selector(name)

    def _aggregate(self, operator: str) -> Node:
        grouping = self._grouping()
        self.expect("sign", "(")
        operand = self.binary(0)
        self.expect("sign", ")")
        without, labels = grouping or self._grouping() or (False, ())
        return Aggregate(operator, labels, without, operand)

    def _grouping(self) -> tuple[bool, tuple[str, ...]] | None:
        if self._next not in {("name", "by"), ("name", "without")}:
            return None
        without = self._take()[1] == "without"
        self.expect("sign", "(")
        labels: list[str] = []
        while not self._accept(")"):
            labels.append(self.expect("name"))
            self._separator(")")
        return without, tuple(labels)

    def _call(self, function: str) -> Node:
        if function not in FUNCTIONS:
            raise PromqlError(
                f"the simulated Prometheus does not know the function {function}: it "
                f"has {', '.join(sorted(FUNCTIONS | AGGREGATIONS))}"
            )
        self.expect("sign", "(")
        arguments: list[Node] = []
        while not self._accept(")"):
            arguments.append(self.binary(0))
            self._separator(")")
        return Call(function, tuple(arguments))

    def _selector(self, metric: str) -> Node:
        matchers: list[Matcher] = []
        if self._accept("{"):
            while not self._accept("}"):
                matchers.append(self._matcher())
                self._separator("}")
        seconds = None
        if self._accept("["):
            seconds = duration(self.expect("duration"))
            self.expect("sign", "]")
        return Selector(metric, tuple(matchers), seconds)

    def _matcher(self) -> Matcher:
        label = self.expect("name")
        operator = self.expect("sign")
        if operator not in {"=", "!=", "=~", "!~"}:
            raise PromqlError(f"{operator!r} does not compare a label")
        value = _unquoted(self.expect("string"))
        if operator.endswith("~"):
            try:
                re.compile(value)
            except re.error as exc:
                raise PromqlError(
                    f"the pattern for {label} is no regular expression: {exc}"
                ) from exc
        return Matcher(label, operator, value)

    def _separator(self, end: str) -> None:
        """A comma, unless the list ends."""
        if self._next != ("sign", end):
            self.expect("sign", ",")


def duration(text: str) -> float:
    """Seconds of a duration such as 90s or 1m30s."""
    return sum(int(n) * _SECONDS[unit] for n, unit in _DURATION.findall(text))


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1])
