from __future__ import annotations

import threading

import pytest

from scoring.extender import state as module
from scoring.extender.state import ExtenderState
from scoring.extender.types import Call
from tests.scoring.extender import material
from tests.scoring.extender.material import LIMITED, NOW, TRAFFIC


def loaded(*documents: bytes, now: float = NOW) -> ExtenderState:
    state = ExtenderState()
    state.load(material.facts(*documents, of=material.snapshot()), now=now)
    return state


def revision_for(state: ExtenderState, call: Call, scheduler: str) -> int | None:
    found = state.view_at(NOW, call).policy_for(call, scheduler)
    return found.policy.revision if found else None


def test_nothing_is_loaded_at_first() -> None:
    state = ExtenderState()
    assert not state.view.loaded
    assert state.view_at(NOW) is state.view
    assert state.facts is None


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(Call("main", 1), 2, id="its own R, the newest revision of it"),
        pytest.param(Call("main", 3), 3, id="the newest R"),
        pytest.param(Call("main", 77), 3, id="an unknown R gets the newest"),
        pytest.param(Call("main", None), 3, id="no R gets the newest"),
        pytest.param(Call(None, None), 3, id="the only configuration"),
        pytest.param(Call("other", 1), None, id="an unknown configuration"),
    ],
)
def test_a_call_gets_the_policies_of_its_stock_document(
    call: Call, expected: int | None
) -> None:
    state = loaded(
        material.policy(compiled=1, revision=1),
        material.policy(compiled=1, revision=2),
        material.policy(compiled=3, revision=3),
    )
    assert revision_for(state, call, "default-scheduler") == expected


def test_many_old_stock_documents_are_prepared_only_when_called() -> None:
    state = loaded(*(material.policy(compiled=n, revision=n) for n in range(1, 21)))
    assert set(state.view.policies) == {("main", 20)}
    for n in range(1, 11):
        assert revision_for(state, Call("main", n), "default-scheduler") == n
    assert len(state.view.policies) <= 5
    assert ("main", 20) in state.view.policies


def test_a_revision_of_another_release_leaves_the_one_before_it() -> None:
    unreadable = material.of_another_release(material.policy(compiled=1, revision=2))
    state = loaded(material.policy(compiled=1, revision=1), unreadable)
    assert revision_for(state, Call("main", 1), "default-scheduler") == 1
    facts = state.facts
    assert facts is not None
    assert len(facts.problems) == 1
    assert "main r2 for default-scheduler" in facts.problems[0]
    assert "another release" in facts.problems[0]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(b"{not json", id="not JSON"),
        pytest.param(b"{}", id="no policy"),
        pytest.param(
            material.policy(LIMITED).replace(b"NetworkTraffic", b"NoSuchPlugin"),
            id="a plugin we do not run",
        ),
        pytest.param(
            material.policy(LIMITED).replace(b":80", b':"eighty"'), id="bad arguments"
        ),
    ],
)
def test_a_bad_policy_is_skipped_with_a_sentence(document: bytes) -> None:
    good = material.policy(scheduler="other", compiled=9, revision=9)
    facts = material.facts(document, good, of=material.snapshot())
    assert set(facts.groups) == {("main", 9)}
    assert len(facts.problems) == 1
    assert facts.problems[0].endswith(".")


def test_data_that_ages_out_makes_a_new_view_at_that_moment() -> None:
    state = loaded()
    call = Call("main", 1)
    before = state.view_at(NOW + 290, call)
    prepared = before.policy_for(call, "default-scheduler")
    assert prepared is not None
    assert prepared.answerable
    after = state.view_at(NOW + 296, call)
    prepared = after.policy_for(call, "default-scheduler")
    assert prepared is not None
    assert not prepared.answerable


def test_the_view_is_the_same_object_until_something_changes() -> None:
    state = loaded()
    call = Call("main", 1)
    assert state.view_at(NOW + 1, call) is state.view_at(NOW + 2, call)


def test_a_refused_node_stays_refused_until_it_is_well_below_the_limit() -> None:
    state = ExtenderState()
    call = Call("main", 1)
    for version, (use, refused) in enumerate(
        [(0.79, False), (0.85, True), (0.78, True), (0.70, False)], start=1
    ):
        snapshot = material.snapshot(
            {"node-a": 0.1, "node-b": use, "node-c": 0.1}, version=version
        )
        state.load(
            material.facts(material.policy(LIMITED), of=snapshot, counter=version),
            now=NOW,
        )
        view = state.view_at(NOW, call)
        prepared = view.policy_for(call, "default-scheduler")
        assert prepared is not None
        assert view.index is not None
        gate = prepared.plugins[0].gate
        assert gate is not None
        row = view.index.find(["node-b"])
        assert bool(gate.refused.rows[row][0]) is refused, use


def test_the_index_is_built_again_only_for_another_node_table() -> None:
    state = loaded()
    first = state.view.index
    state.load(material.facts(of=material.snapshot(version=2)), now=NOW)
    assert state.view.index is first
    other = material.snapshot({"node-x": 0.1}, version=3)
    state.load(material.facts(of=other), now=NOW)
    assert state.view.index is not first


@pytest.mark.parametrize("source", ["environment", "file", "cluster"])
def test_any_source_turns_the_kill_switch_on(source: str) -> None:
    state = ExtenderState(neutral_reason="why" if source == "environment" else None)
    neutral = "why" if source == "cluster" else None
    state.load(material.facts(of=material.snapshot(), neutral=neutral), now=NOW)
    if source == "file":
        state.set_file_reason("why")
    assert state.view.neutral
    assert state.neutral == (source, "why")


def test_the_file_turns_the_kill_switch_on_with_nothing_loaded_and_off_again() -> None:
    state = ExtenderState()
    state.set_file_reason("maintenance")
    assert state.view.neutral
    state.load(material.facts(of=material.snapshot()), now=NOW)
    assert state.view.neutral
    state.set_file_reason(None)
    view = state.view
    assert view.loaded
    assert not view.neutral


def test_the_kill_switch_holds_even_when_preparing_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = loaded()
    monkeypatch.setattr(module, "prepare", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        state.load(material.facts(of=material.snapshot(), neutral="x"), now=NOW)
    assert state.view.neutral
    assert state.view.policies


def test_readers_always_see_one_whole_view() -> None:
    state = loaded()
    stop = threading.Event()
    torn: list[str] = []

    def read() -> None:
        call = Call("main", 1)
        while not stop.is_set():
            view = state.view_at(NOW, call)
            prepared = view.policy_for(call, "default-scheduler")
            if view.snapshot is None or view.index is None or prepared is None:
                torn.append("a part is missing")
            elif not (
                prepared.nodes is view.snapshot.table
                and view.index.table.digest == view.snapshot.table.digest
            ):
                torn.append("parts of two snapshots")

    reader = threading.Thread(target=read)
    reader.start()
    for version in range(2, 60):
        names = {f"n{i}": 0.1 for i in range(1 + version % 3)}
        facts = material.facts(
            material.policy(TRAFFIC), of=material.snapshot(names, version=version)
        )
        state.load(facts, now=NOW)
    stop.set()
    reader.join(10)
    assert torn == []
