from __future__ import annotations

from typing import Any

import pytest

from console.kubescheduler.arguments import ArgumentsError, read_arguments

BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", {}, id="empty"),
        pytest.param("null", {}, id="null"),
        pytest.param("{}", {}, id="no arguments"),
        pytest.param("deadBandPercent: 2", {"deadBandPercent": 2}, id="YAML"),
        pytest.param('{"a": [1, null]}', {"a": [1, None]}, id="JSON"),
        pytest.param("day: 2020-01-01", {"day": "2020-01-01"}, id="no dates"),
        pytest.param("at: 1:30", {"at": "1:30"}, id="no base sixty"),
    ],
)
def test_values(text: str, expected: dict[str, Any]) -> None:
    assert read_arguments(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("- 1", "Write a mapping", id="a list"),
        pytest.param("word", "Write a mapping", id="a word"),
        pytest.param("a: 1\na: 2", "stands twice, first in line 1", id="twice"),
        pytest.param("a: 1\n---\nb: 2", "one document", id="two documents"),
        pytest.param("a: [", "not YAML", id="not YAML"),
        pytest.param("[" * 3000, "Line 1", id="deep"),
        pytest.param("a: !!python/object/apply:os.system [id]", "Line 1", id="code"),
        pytest.param("a: &a [*a]", "Line 1", id="holds itself"),
        pytest.param(BOMB, "Line", id="aliases that grow"),
        pytest.param("a: " + "y" * 300_000, "larger", id="huge"),
    ],
)
def test_refusals(text: str, words: str) -> None:
    with pytest.raises(ArgumentsError, match=words):
        read_arguments(text)
