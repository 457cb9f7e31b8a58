from __future__ import annotations

import pytest

from scoring.bandwidth import queries
from scoring.simulation.promql import (
    LONGEST,
    Aggregate,
    Binary,
    Call,
    Matcher,
    Number,
    PromqlError,
    Selector,
    duration,
    parse,
)

UP = Selector("up", ())


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        pytest.param("1", Number(1.0), id="number"),
        pytest.param(" 1e6 ", Number(1e6), id="exponent"),
        pytest.param("up", UP, id="metric"),
        pytest.param(
            'up{a="x", b!~"y\\\\.z",}',
            Selector("up", (Matcher("a", "=", "x"), Matcher("b", "!~", r"y\.z"))),
            id="matchers",
        ),
        pytest.param(
            "rate(up[1m30s])", Call("rate", (Selector("up", (), 90.0),)), id="range"
        ),
        pytest.param("time()", Call("time", ()), id="no arguments"),
        pytest.param(
            "max by (a, b) (up)", Aggregate("max", ("a", "b"), False, UP), id="by"
        ),
        pytest.param(
            "sum(up) without(a)", Aggregate("sum", ("a",), True, UP), id="without after"
        ),
        pytest.param("avg(up)", Aggregate("avg", (), False, UP), id="no grouping"),
        pytest.param(
            "1 - up * 2 > 3",
            Binary(
                ">",
                Binary("-", Number(1.0), Binary("*", UP, Number(2.0))),
                Number(3.0),
            ),
            id="precedence",
        ),
        pytest.param(
            "1 - 2 - 3",
            Binary("-", Binary("-", Number(1.0), Number(2.0)), Number(3.0)),
            id="from the left",
        ),
        pytest.param("-up", Binary("-", Number(0.0), UP), id="sign"),
    ],
)
def test_what_is_understood(text: str, tree: object) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        pytest.param("", "expects a name", id="empty"),
        pytest.param("up{", "expects a name", id="open brace"),
        pytest.param("up{a=1}", "expects a string", id="number for a label"),
        pytest.param("up{a>'1'}", "does not compare a label", id="operator"),
        pytest.param("up{a=~'('}", "no regular expression", id="pattern"),
        pytest.param("up up", "expects the end", id="two"),
        pytest.param(
            "(up", r"expects '\)' where the query has its end", id="parenthesis"
        ),
        pytest.param("up[5]", "expects a duration", id="range without unit"),
        pytest.param("quantile(0.9, up)", "does not know the function", id="function"),
        pytest.param("up offset 5m", "expects the end", id="offset"),
        pytest.param("up @ 5", "at character 3", id="at"),
        pytest.param("(" * 40 + "1" + ")" * 40, "nested too deeply", id="nesting"),
        pytest.param("1" + "+1" * 500, "does not understand", id="many parts"),
        pytest.param("1" * (LONGEST + 1), "longer than", id="long"),
    ],
)
def test_what_is_not(text: str, sentence: str) -> None:
    with pytest.raises(PromqlError, match=sentence):
        parse(text)


@pytest.mark.parametrize(
    "query",
    [
        *queries.tick_queries('job="node-exporter"', 60).values(),
        queries.speed_query(""),
        queries.interval_query(""),
        queries.uname_query('a=~"b|c"'),
    ],
)
def test_all_that_the_collector_asks_is_understood(query: str) -> None:
    parse(query)


@pytest.mark.parametrize(
    ("text", "seconds"), [("250ms", 0.25), ("15s", 15), ("1h2m3s", 3723), ("1d", 86400)]
)
def test_durations(text: str, seconds: float) -> None:
    assert duration(text) == seconds


@pytest.mark.parametrize(
    ("operator", "value", "holds"),
    [
        ("=", "eth0", True),
        ("!=", "eth0", False),
        ("=~", "eth.", True),
        ("=~", "th", False),
        ("!~", "lo|veth.*", True),
        ("!~", "eth0|lo", False),
    ],
)
def test_matchers_are_anchored(operator: str, value: str, *, holds: bool) -> None:
    assert Matcher("device", operator, value).holds({"device": "eth0"}) is holds
    assert Matcher("absent", operator, "").holds({}) is (operator in {"=", "=~"})
