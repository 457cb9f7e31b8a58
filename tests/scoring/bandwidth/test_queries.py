from __future__ import annotations

import pytest

from scoring.bandwidth import queries


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("", "", id="empty"),
        pytest.param(' cluster="prod" ', 'cluster="prod"', id="one"),
        pytest.param('a="1",b!="2"', 'a="1",b!="2"', id="two"),
        pytest.param('a=~"x|y", b!~"z.*",', 'a=~"x|y", b!~"z.*"', id="last comma"),
        pytest.param(r'a="quote \" } inside"', r'a="quote \" } inside"', id="escaped"),
        pytest.param("a='single'", "a='single'", id="single quotes"),
        pytest.param('a="},{"', 'a="},{"', id="braces inside the quotes"),
    ],
)
def test_a_list_of_matchers_is_accepted(text: str, expected: str) -> None:
    assert queries.check_selector(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        pytest.param('a="b"} or up{c="d"', id="ends the braces"),
        pytest.param('{a="b"}', id="with braces"),
        pytest.param("cluster=prod", id="no quotes"),
        pytest.param('a="b" b="c"', id="no comma"),
        pytest.param('a=="b"', id="odd operator"),
        pytest.param('__name__="up"', id="another metric"),
        pytest.param('a="b', id="open quote"),
        pytest.param('a="b\nc"', id="line break"),
        pytest.param(',a="b"', id="first comma"),
        pytest.param('a-b="c"', id="odd label"),
        pytest.param('a="b"#', id="comment"),
    ],
)
def test_anything_else_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(queries.SelectorError, match=r"^the selector \w+"):
        queries.check_selector(text)


def test_one_query_per_metric_for_the_whole_cluster() -> None:
    wanted = queries.tick_queries('cluster="prod"', 60)
    assert list(wanted) == ["receive", "transmit", "age", "cpu"]
    for promql in wanted.values():
        assert 'cluster="prod"' in promql
    assert "[60s]" in wanted["receive"]
    assert 'device!~"lo|veth.*|' in wanted["receive"]
    assert r".+\\.[0-9]+" in wanted["receive"], "a PromQL string doubles backslashes"
    assert "timestamp(" in wanted["age"]
    assert "rate(" not in wanted["age"]
