from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.extender.rawnames import LONGEST_NAME, MOST_LEVEL, RawNames

NAMES = [f"node-{i}.zone-{i % 3}.internal" for i in range(300)]


def build(names: list[str] = NAMES) -> RawNames:
    raw = RawNames.build(names)
    assert raw is not None
    return raw


def listed(names: list[str]) -> bytes:
    return json.dumps(names, separators=(",", ":"), ensure_ascii=False).encode()


@given(st.lists(st.integers(0, len(NAMES) - 1), min_size=1, max_size=400))
def test_every_known_name_is_found_at_its_place(rows: list[int]) -> None:
    found = build().match(listed([NAMES[i] for i in rows]))
    assert found is not None
    assert found.tolist() == rows


@pytest.mark.parametrize("count", [1, 2, 5000, 20_000])
@pytest.mark.parametrize(
    "spell",
    [
        pytest.param("n{}".format, id="short"),
        pytest.param("node-{:06}".format, id="alike"),
        pytest.param("{:05}-é-x".format, id="not ASCII"),
        pytest.param(lambda i: f"{i}".rjust(LONGEST_NAME, "x"), id="long"),
    ],
)
def test_fleets(count: int, spell) -> None:  # type: ignore[no-untyped-def]
    names = [spell(i) for i in range(count)]
    found = build(names).match(
        json.dumps(names, separators=(",", ":"), ensure_ascii=False).encode()
    )
    assert found is not None
    assert found.tolist() == list(range(count))


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"[]", id="empty"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"null", id="null"),
        pytest.param(b'["ghost"]', id="unknown"),
        pytest.param(listed([*NAMES, "ghost"]), id="one unknown at the end"),
        pytest.param(listed(["ghost", *NAMES]), id="one unknown at the start"),
        pytest.param(json.dumps(NAMES).encode(), id="white space"),
        pytest.param(listed(NAMES).replace(b"node-1.", b"node\\u002d1."), id="escape"),
        pytest.param(listed(NAMES)[:-1] + b",]", id="comma at the end"),
        pytest.param(listed(NAMES).replace(b'","', b'",,"', 1), id="two commas"),
        pytest.param(listed(NAMES).replace(b'"', b"", 1), id="no quote"),
        pytest.param(listed(NAMES)[1:], id="no bracket"),
        pytest.param(listed(["x" * 500, NAMES[0]]), id="longer than any"),
        pytest.param(listed([NAMES[0][1:]]), id="the end of a known name"),
        pytest.param(listed([NAMES[0] + "x"]), id="more than a known name"),
        pytest.param(listed([f"a,{NAMES[0]}"]), id="a comma inside"),
        pytest.param(b'["' + NAMES[0].encode() + b'"\0]', id="a zero byte"),
    ],
)
def test_anything_unexpected_is_not_matched(raw: bytes) -> None:
    assert build().match(raw) is None


@given(st.integers(0, len(listed(NAMES[:40])) - 1), st.integers(1, 255))
def test_one_changed_byte_is_never_taken_for_another_node(at: int, by: int) -> None:
    raw = bytearray(listed(NAMES[:40]))
    raw[at] ^= by
    found = build().match(bytes(raw))
    if found is not None:  # then it is another list of known names
        assert json.loads(raw) == [NAMES[i] for i in found]


@pytest.mark.parametrize(
    "names",
    [
        pytest.param([], id="no nodes"),
        pytest.param(["ok", "x" * (LONGEST_NAME + 1)], id="a name that is too long"),
    ],
)
def test_tables_that_are_read_the_ordinary_way(names: list[str]) -> None:
    assert RawNames.build(names) is None


@given(
    st.lists(
        st.tuples(st.integers(0, len(NAMES) - 1), st.integers(0, MOST_LEVEL)),
        min_size=1,
        max_size=300,
    )
)
def test_answers_are_the_json_of_names_and_levels(
    chosen: list[tuple[int, int]],
) -> None:
    rows = np.array([row for row, _ in chosen])
    levels = np.array([level for _, level in chosen])
    raw = build()
    assert json.loads(raw.encode(rows, levels)) == [
        {"Host": NAMES[row], "Score": level} for row, level in chosen
    ]
    assert json.loads(raw.encode_names(rows)) == [NAMES[row] for row in rows]


def test_an_empty_answer_is_an_empty_list() -> None:
    assert json.loads(build().encode_names(np.zeros(0, np.intp))) == []
