from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from scoring.extender.names import NodeIndex
from scoring.extender.types import Answer, BadRequest, Call, View
from scoring.extender.verbs import OUTCOMES, filter_, prioritize
from scoring.framework.policy import PluginSpec
from scoring.framework.runtime import PreparedPolicy
from tests.scoring.scene import NAN, NOW, Scene, cpu, traffic

NAMES = ["a", "b", "c"]
SCENE = Scene(receive=[10, 30, 95], names=NAMES)
CALL = Call("main", 1, 1)
REASON = "Bandmaster: network use above limit"
ALL_KEPT: dict[str, Any] = {
    "Nodes": None,
    "NodeNames": NAMES,
    "FailedNodes": {},
    "FailedAndUnresolvableNodes": {},
    "Error": "",
}


def view(*specs: PluginSpec, scene: Scene = SCENE, **changes: Any) -> View:
    return view_of({("main", 1): scene.prepared(*specs)}, scene, **changes)


def view_of(
    policies: dict[tuple[str, int], PreparedPolicy],
    scene: Scene = SCENE,
    **changes: Any,
) -> View:
    snapshot = scene.snapshot()
    newest = {name: max(r for n, r in policies if n == name) for name, _ in policies}
    parts: dict[str, Any] = {
        "snapshot": snapshot,
        "policies": MappingProxyType(
            {key: {"default-scheduler": policy} for key, policy in policies.items()}
        ),
        "newest": newest,
        "index": NodeIndex.build(snapshot.table),
        "loaded": True,
    }
    return View(**(parts | changes))


def pod(**changes: Any) -> dict[str, Any]:
    metadata = {"name": "web-0", "namespace": "default", "uid": "u-1"}
    metadata |= changes.pop("metadata", {})
    return {"metadata": metadata, "spec": {"containers": None}, "status": {}} | changes


def args(names: list[str] | None = None, **changes: Any) -> bytes:
    body: dict[str, Any] = {
        "Pod": pod(),
        "Nodes": None,
        "NodeNames": NAMES if names is None else names,
    }
    return json.dumps(body | changes).encode()


def full(names: list[str] = NAMES) -> bytes:
    items = [
        {"metadata": {"name": n, "labels": {"x": n}}, "spec": {"odd": "é\\u0041"}}
        for n in names
    ]
    return args(Nodes={"metadata": {}, "items": items}, NodeNames=None)


def scores(answer: Answer) -> dict[str, int]:
    found = {host["Host"]: host["Score"] for host in json.loads(answer.body)}
    assert all(type(score) is int for score in found.values())
    return found


class TestPrioritize:
    def test_scores_every_candidate(self) -> None:
        answer = prioritize(args(), CALL, view(traffic()))
        assert answer.body == (
            b'[{"Host":"a","Score":10},{"Host":"b","Score":8},{"Host":"c","Score":0}]'
        )
        assert (answer.outcome, answer.candidates) == ("scored", 3)

    def test_full_nodes(self) -> None:
        answer = prioritize(full(), CALL, view(traffic()))
        assert scores(answer) == {"a": 10, "b": 8, "c": 0}

    def test_an_unknown_name_gets_the_median(self) -> None:
        answer = prioritize(args([*NAMES, 'gh"ost\\é']), CALL, view(traffic()))
        assert scores(answer) == {"a": 10, "b": 8, "c": 0, 'gh"ost\\é': 8}

    def test_a_name_that_comes_twice_is_scored_once(self) -> None:
        body = args(["a", "c", "a", "ghost", "ghost"])
        answer = prioritize(body, CALL, view(traffic()))
        assert len(json.loads(answer.body)) == 3
        assert scores(answer) == {"a": 10, "c": 0, "ghost": 10}

    def test_one_candidate(self) -> None:
        assert scores(prioritize(args(["c"]), CALL, view(traffic()))) == {"c": 10}

    @pytest.mark.parametrize("names", [[], None])
    def test_no_candidate(self, names: list[str] | None) -> None:
        body = args(NodeNames=names)
        for state in (view(traffic()), View(), view(traffic(), neutral=True)):
            assert prioritize(body, CALL, state).body == b"[]"

    def test_the_weight_of_the_call_counts(self) -> None:
        state = view(traffic(3), cpu(1))
        assert scores(prioritize(args(), Call("main", 1, 4), state))["c"] == 3
        assert scores(prioritize(args(), Call("main", 1, 1), state))["c"] == 10
        assert scores(prioritize(args(), Call("main", 1, None), state))["c"] == 3

    def test_the_extended_range_goes_over_ten(self) -> None:
        answer = prioritize(args(), Call("main", 1, 1), view(traffic(50)))
        assert scores(answer) == {"a": 500, "b": 380, "c": 0}


class TestFilter:
    def test_refused_nodes_stand_in_both_maps(self) -> None:
        answer = filter_(args(), CALL, view(traffic(0, limit=80)))
        assert json.loads(answer.body) == {
            "Nodes": None,
            "NodeNames": ["a", "b"],
            "FailedNodes": {"c": REASON},
            "FailedAndUnresolvableNodes": {"c": REASON},
            "Error": "",
        }
        assert (answer.outcome, answer.candidates) == ("filtered", 3)

    def test_nodes_are_answered_with_the_received_nodes(self) -> None:
        body = full()
        answer = filter_(body, CALL, view(traffic(0, limit=80)))
        found = json.loads(answer.body)
        sent = json.loads(body)
        assert found["Nodes"]["items"] == sent["Nodes"]["items"][:2]
        assert found["NodeNames"] is None
        assert found["FailedNodes"] == {"c": REASON}

    def test_names_win_where_both_are_sent(self) -> None:
        nodes = json.loads(full())["Nodes"]
        answer = filter_(args(["a"], Nodes=nodes), CALL, view(traffic(0, limit=80)))
        assert json.loads(answer.body) == ALL_KEPT | {"NodeNames": ["a"]}

    def test_unknown_and_odd_names_pass_as_they_came(self) -> None:
        names = ["c", 'gh"ost\\é', "a", "a"]
        answer = filter_(args(names), CALL, view(traffic(0, limit=80)))
        assert json.loads(answer.body)["NodeNames"] == names[1:]

    @pytest.mark.parametrize("nominated", ["c", "a"])
    def test_only_the_nominated_node_alone_passes(self, nominated: str) -> None:
        off = {"minPassedNodes": 0, "minPassedPercent": 0}
        state = view(traffic(0, limit=80, **off))
        chosen = pod(status={"nominatedNodeName": nominated})
        answer = filter_(args(["c"], Pod=chosen), CALL, state)
        kept = ["c"] if nominated == "c" else []
        assert json.loads(answer.body)["NodeNames"] == kept
        answer = filter_(args(["c", "a"], Pod=chosen), CALL, state)
        assert json.loads(answer.body)["NodeNames"] == ["a"]

    def test_the_floor_is_told(self) -> None:
        state = view(traffic(0, limit=5))
        answer = filter_(args(), CALL, state)
        assert answer.floor_used
        assert json.loads(answer.body)["NodeNames"] == ["a"]

    @pytest.mark.parametrize("body", [args([]), args(NodeNames=None)])
    def test_no_candidate(self, body: bytes) -> None:
        for state in (view(traffic(0, limit=80)), View()):
            found = json.loads(filter_(body, CALL, state).body)
            assert found == ALL_KEPT | {"NodeNames": []}


NOT_OURS = pod(spec={"schedulerName": "other"})
SYSTEM = pod(metadata={"namespace": "kube-system"})
BOTH = traffic(2, limit=80)


@pytest.mark.parametrize(
    ("state", "sent", "outcome", "priorities"),
    [
        pytest.param(view(BOTH), NOT_OURS, "not_concerned", [], id="other scheduler"),
        pytest.param(view(), pod(), "not_concerned", [], id="no plugins"),
        pytest.param(view(BOTH), SYSTEM, "exempt", [], id="exempt"),
        pytest.param(
            view(BOTH, neutral=True), pod(), "neutral", [10] * 3, id="kill switch"
        ),
        pytest.param(
            view(BOTH, neutral=True), NOT_OURS, "not_concerned", [], id="both"
        ),
        pytest.param(
            view(BOTH, scene=Scene(receive=[NAN] * 3, names=NAMES)),
            pod(),
            "no_data",
            [10] * 3,
            id="no data",
        ),
        pytest.param(
            view(BOTH, index=None, snapshot=None),
            pod(),
            "no_data",
            [10] * 3,
            id="no index",
        ),
        pytest.param(
            view(BOTH, index=NodeIndex.build(Scene([1], digest="z").snapshot().table)),
            pod(),
            "no_data",
            [10] * 3,
            id="rows of another table",
        ),
        pytest.param(View(), pod(), "not_loaded", [5] * 3, id="not loaded"),
        pytest.param(View(), SYSTEM, "not_loaded", [5] * 3, id="not loaded, exempt"),
    ],
)
def test_who_is_not_scored(
    state: View, sent: dict[str, Any], outcome: str, priorities: list[int]
) -> None:
    """As if we were not there, or the same integer for every host."""
    assert outcome in OUTCOMES
    for body in (args(Pod=sent), full().replace(_encoded(pod()), _encoded(sent))):
        answer = prioritize(body, CALL, state)
        assert answer.outcome == outcome
        assert answer.candidates == 3
        assert list(scores(answer).values()) == priorities
        kept = filter_(body, CALL, state)
        assert kept.outcome == outcome
        found = json.loads(kept.body)
        if found["NodeNames"] is None:
            assert found["Nodes"]["items"] == json.loads(body)["Nodes"]["items"]
        else:
            assert found == ALL_KEPT


def _encoded(value: object) -> bytes:
    return json.dumps(value).encode()


def test_own_filter_without_own_score() -> None:
    answer = prioritize(args(), CALL, view(traffic(0, limit=80)))
    assert (answer.body, answer.outcome) == (b"[]", "not_concerned")


def test_own_score_without_own_filter() -> None:
    answer = filter_(args(), CALL, view(traffic(1)))
    assert json.loads(answer.body) == ALL_KEPT
    assert answer.outcome == "not_concerned"


def test_expired_data_are_neutral() -> None:
    prepared = SCENE.prepared(traffic(), now=NOW + 1000)
    answer = prioritize(args(), CALL, view_of({("main", 1): prepared}))
    assert (answer.outcome, set(scores(answer).values())) == ("no_data", {5})


@pytest.mark.parametrize(
    ("call", "weight_seen"),
    [
        pytest.param(Call("main", 1, 4), 1, id="its own revision"),
        pytest.param(Call("main", 2, 4), 2, id="another revision"),
        pytest.param(Call("main", 9, 4), 2, id="unknown revision: the newest"),
        pytest.param(Call("main", None, 4), 2, id="no revision: the newest"),
        pytest.param(Call(None, None, 4), 2, id="only one configuration"),
        pytest.param(Call("nobody", 1, 4), 0, id="unknown configuration"),
    ],
)
def test_which_policy_answers(call: Call, weight_seen: int) -> None:
    state = view_of(
        {
            ("main", 1): SCENE.prepared(traffic(1)),
            ("main", 2): SCENE.prepared(traffic(2)),
        }
    )
    found = scores(prioritize(args(), call, state))
    assert found.get("a", 0) == {0: 0, 1: 3, 2: 5}[weight_seen]


def test_no_configuration_where_there_are_two() -> None:
    prepared = SCENE.prepared(traffic(1))
    state = view_of({("main", 1): prepared, ("other", 1): prepared})
    assert prioritize(args(), Call(), state).outcome == "not_concerned"


@pytest.mark.parametrize(
    "spell", [str.lower, str.upper, lambda key: key[0].lower() + key[1:]]
)
@pytest.mark.parametrize("sent", [args(), full()])
def test_keys_match_in_any_case(spell: Any, sent: bytes) -> None:
    body = json.dumps({spell(k): v for k, v in json.loads(sent).items()}).encode()
    assert scores(prioritize(body, CALL, view(traffic())))["a"] == 10


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"NodeNames": NAMES}, id="only names"),
        pytest.param({"NodeNames": NAMES, "Pod": None}, id="no pod"),
        pytest.param({"NodeNames": NAMES, "Pod": {}}, id="empty pod"),
        pytest.param(
            {"NodeNames": NAMES, "Pod": {"metadata": None, "spec": None}}, id="nulls"
        ),
        pytest.param(
            {
                "NodeNames": NAMES,
                "Pod": pod(
                    metadata={
                        "labels": None,
                        "annotations": None,
                        "ownerReferences": None,
                    },
                    spec={"schedulerName": ""},
                    status=None,
                ),
                "More": 1,
            },
            id="nulls inside and more keys",
        ),
        pytest.param(
            {"Nodes": {"items": [{"metadata": {"name": n}} for n in NAMES]}},
            id="only nodes",
        ),
    ],
)
def test_missing_keys_and_nulls(body: dict[str, Any]) -> None:
    answer = prioritize(json.dumps(body).encode(), CALL, view(traffic()))
    assert scores(answer) == {"a": 10, "b": 8, "c": 0}


@pytest.mark.parametrize("indent", [None, 2])
def test_white_space(indent: int | None) -> None:
    body = json.dumps(json.loads(args()), indent=indent, separators=(" ,", " : "))
    assert scores(prioritize(body.encode(), CALL, view(traffic())))["a"] == 10


def test_nodes_whose_name_is_not_written_first() -> None:
    items = [{"spec": {}, "metadata": {"labels": {}, "name": n}} for n in NAMES]
    items.append({"metadata": {"name": 'é"'}})
    items.append({"spec": {}})
    body = args(Nodes={"items": items}, NodeNames=None)
    found = scores(prioritize(body, CALL, view(traffic())))
    assert found == {"a": 10, "b": 8, "c": 0, 'é"': 8, "": 8}


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"secret-token", id="not JSON"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b'"secret-token"', id="a text"),
        pytest.param(args(NodeNames="secret-token"), id="names are a text"),
        pytest.param(args(NodeNames=["a", 3]), id="a name is a number"),
        pytest.param(args(NodeNames=[None]), id="a name is null"),
        pytest.param(args(Pod=["secret-token"]), id="pod is a list"),
        pytest.param(args(Nodes=[1], NodeNames=None), id="nodes is a list"),
        pytest.param(args() + b"x", id="trailing garbage"),
        pytest.param(args()[:-5], id="cut short"),
        pytest.param(b'{"NodeNames":["\xff"]}', id="not UTF-8"),
        pytest.param(b"[" * 100_000, id="very deep"),
        pytest.param(b'{"nodenames":' + b"[" * 100_000, id="very deep, odd case"),
    ],
)
@pytest.mark.parametrize("verb", [prioritize, filter_])
def test_other_bodies_are_refused_without_quoting_them(verb: Any, body: bytes) -> None:
    for state in (view(traffic(limit=80)), view(), View()):
        with pytest.raises(BadRequest, match="not ExtenderArgs") as caught:
            verb(body, CALL, state)
        assert "secret" not in str(caught.value)
