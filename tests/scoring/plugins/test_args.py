from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from scoring.plugins.args import ArgProblem, ArgsError, Reader, parse_go_duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("300s", 300.0),
        ("5m", 300.0),
        ("1h2m3.5s", 3723.5),
        ("250ms", 0.25),
        (".5s", 0.5),
        ("1.s", 1.0),
        ("", None),
        ("300", None),
        ("5 m", None),
        ("-5m", None),
        ("5d", None),
        ("s", None),
    ],
)
def test_go_duration(text: str, seconds: float | None) -> None:
    assert parse_go_duration(text) == seconds


READS: dict[str, Callable[[Reader], Any]] = {
    "percent": lambda r: r.percent("a", 7.0),
    "duration": lambda r: r.duration("a", 7.0),
    "count": lambda r: r.count("a", 7),
    "choice": lambda r: r.choice("a", "one", ("one", "two")),
    "flag": lambda r: r.flag("a", default=True),
    "names": lambda r: r.names("a", ("x",)),
    "labels": lambda r: r.labels("a", {"k": "v"}),
}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("percent", 0, 0.0),
        ("percent", 0.65, 0.65),
        ("percent", 100, 100.0),
        ("percent", None, 7.0),
        ("duration", "5m", 300.0),
        ("duration", 90, 90.0),
        ("duration", None, 7.0),
        ("count", 0, 0),
        ("count", None, 7),
        ("choice", "two", "two"),
        ("choice", None, "one"),
        ("flag", False, False),
        ("flag", None, True),
        ("names", ["a", "b"], ("a", "b")),
        ("names", [], ()),
        ("names", None, ("x",)),
        ("labels", {"a": "b"}, {"a": "b"}),
        ("labels", None, {"k": "v"}),
    ],
)
def test_good_values(kind: str, value: object, expected: object) -> None:
    reader = Reader({"a": value})
    assert READS[kind](reader) == expected
    reader.reject_unknown()
    reader.finish()


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        ("percent", 101, "a"),
        ("percent", -0.1, "a"),
        ("percent", "50", "a"),
        ("percent", True, "a"),
        ("percent", float("nan"), "a"),
        ("percent", 10**400, "a"),
        ("duration", "5 minutes", "a"),
        ("duration", "0s", "a"),
        ("duration", "25h", "a"),
        ("duration", [], "a"),
        ("duration", False, "a"),
        ("count", -1, "a"),
        ("count", 1.5, "a"),
        ("count", True, "a"),
        ("choice", "three", "a"),
        ("choice", ["one"], "a"),
        ("flag", "true", "a"),
        ("names", "a", "a"),
        ("names", ["ok", 3], "a[1]"),
        ("names", [""], "a[0]"),
        ("labels", ["a"], "a"),
        ("labels", {"k": 1}, "a.k"),
    ],
)
def test_bad_values(kind: str, value: object, path: str) -> None:
    reader = Reader({"a": value})
    READS[kind](reader)
    with pytest.raises(ArgsError) as caught:
        reader.finish()
    assert [p.path for p in caught.value.problems] == [path]
    assert path in str(caught.value)


def test_sections_share_the_problems_and_prefix_the_path() -> None:
    reader = Reader({"outer": {"inner": {"a": -1}}, "b": -1})
    reader.section("outer").section("inner").count("a", 0)
    reader.count("b", 0)
    assert [p.path for p in reader.problems] == ["outer.inner.a", "b"]


@pytest.mark.parametrize("raw", ["text", 3, ["a"], True])
def test_something_else_than_a_mapping(raw: object) -> None:
    reader = Reader({"s": raw})
    reader.section("s")
    (problem,) = reader.problems
    assert problem.path == "s"
    assert "must be a mapping, not" in problem.message


def test_an_unknown_key_gets_a_suggestion_or_the_known_ones() -> None:
    reader = Reader({"maxsampleage": 1, "colour": 2})
    reader.duration("maxSampleAge", 1.0)
    reader.reject_unknown()
    known = "Known here: maxSampleAge."
    assert reader.problems == [
        ArgProblem(
            "maxsampleage",
            "there is no argument 'maxsampleage'",
            "Did you mean maxSampleAge?",
        ),
        ArgProblem("colour", "there is no argument 'colour'", known),
    ]
