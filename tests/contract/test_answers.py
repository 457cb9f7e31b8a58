"""Our answers to kube-scheduler's own requests, read as kube-scheduler reads them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scoring.framework.policy import PluginSpec
from tests.contract import fake_scheduler
from tests.scoring.extender import material
from tests.scoring.extender.material import FILTER, LIMITED, PRIORITIZE, TRAFFIC
from tests.scoring.extender.wsgicall import Client, Reply

FOLDER = Path(__file__).parent / "extender-json"
NAMES = list(material.USE)
QUERY = "configuration=main&revision=1&weight={}"
REASON = "Bandmaster: network use above limit"


def captured(number: str) -> bytes:
    (path,) = FOLDER.glob(f"{number}-*.json")
    return path.read_bytes()


def with_pod(body: bytes, **changes: Any) -> bytes:
    """The same request for a pod with other top-level fields."""
    args = json.loads(body)
    for part, fields in changes.items():
        args["Pod"][part] = {**args["Pod"].get(part, {}), **fields}
    return json.dumps(args, separators=(",", ":")).encode()


MODES = [
    pytest.param("01", "03", True, id="names"),
    pytest.param("02", "04", False, id="whole nodes"),
]


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path)


def load(client: Client, *plugins: PluginSpec, **more: Any) -> Client:
    document = material.policy(*plugins)
    return client.load(
        material.facts(document, of=more.pop("of", material.snapshot()), **more)
    )


def points(reply: Reply, weight: int = 1) -> dict[str, int]:
    """What kube-scheduler adds; every host must be there, as an int, exactly once."""
    hosts = fake_scheduler.read_prioritize(reply.status, reply.body)
    assert [host for host, _ in hosts] == NAMES
    assert not re.search(rb"Score\":\s*[^0-9]", reply.body), "an int literal, no sign"
    return fake_scheduler.points(hosts, NAMES, weight=weight)


def passed(reply: Reply, *, capable: bool) -> fake_scheduler.Filtered:
    return fake_scheduler.read_filter(
        reply.status, reply.body, NAMES, cache_capable=capable
    )


@pytest.mark.parametrize(("_filter", "prioritize", "capable"), MODES)
def test_the_least_used_node_gets_all_the_points(
    client: Client, _filter: str, prioritize: str, capable: bool
) -> None:
    load(client, TRAFFIC)
    reply = client.post(PRIORITIZE, captured(prioritize), QUERY.format(1))
    assert points(reply) == {"node-a": 100, "node-b": 50, "node-c": 0}


@pytest.mark.parametrize(("filter_", "_prioritize", "capable"), MODES)
def test_a_busy_node_is_refused_with_a_constant_reason(
    client: Client, filter_: str, _prioritize: str, capable: bool
) -> None:
    load(client, LIMITED)
    reply = client.post(FILTER, captured(filter_), QUERY.format(1))
    read = passed(reply, capable=capable)
    assert read.nodes == ["node-a", "node-b"]
    assert read.status("node-c") == f"{fake_scheduler.UNRESOLVABLE}:{REASON}"
    assert read.failed == {"node-c": REASON}, "schedulers before 1.21 read only this"
    assert read.unresolvable == {"node-c": REASON}


def test_whole_nodes_come_back_byte_for_byte(client: Client) -> None:
    load(client, LIMITED)
    sent = captured("02")
    answer = json.loads(client.post(FILTER, sent, QUERY.format(1)).body)
    assert answer["NodeNames"] is None
    assert answer["Nodes"]["items"] == json.loads(sent)["Nodes"]["items"][:2]


@pytest.mark.parametrize(("filter_", "prioritize", "capable"), MODES)
@pytest.mark.parametrize(
    "scheduler", ["another-scheduler", "no-such-profile"], ids=["profile", "unknown"]
)
def test_a_pod_that_is_not_concerned_is_answered_as_if_we_were_not_there(
    client: Client, filter_: str, prioritize: str, capable: bool, scheduler: str
) -> None:
    load(client, LIMITED)
    spec = {"schedulerName": scheduler}
    body = with_pod(captured(prioritize), spec=spec)
    assert json.loads(client.post(PRIORITIZE, body).body) == []
    read = passed(
        client.post(FILTER, with_pod(captured(filter_), spec=spec)), capable=capable
    )
    assert read == fake_scheduler.Filtered(NAMES, {}, {})


def test_an_own_filter_without_a_score_leaves_the_points_alone(client: Client) -> None:
    only_filter = PluginSpec(
        "NetworkTraffic", filter=True, args={"maxUtilizationPercent": 80}
    )
    load(client, only_filter)
    assert json.loads(client.post(PRIORITIZE, captured("03")).body) == []
    assert passed(client.post(FILTER, captured("01")), capable=True).nodes == NAMES[:2]


@pytest.mark.parametrize(("filter_", "prioritize", "capable"), MODES)
@pytest.mark.parametrize("why", ["kill switch", "not loaded", "no data", "expired"])
def test_what_cannot_be_answered_is_the_same_for_every_host(
    client: Client, filter_: str, prioritize: str, capable: bool, why: str
) -> None:
    if why == "kill switch":
        load(client, LIMITED, neutral="repair")
    elif why == "no data":
        load(client, LIMITED, of=None)
    elif why == "expired":
        load(client, LIMITED)
        client.now += 3600
    given = points(client.post(PRIORITIZE, captured(prioritize), QUERY.format(1)))
    assert len(set(given.values())) == 1
    assert fake_scheduler.best(given) == set(NAMES), "no host loses the tie"
    read = passed(client.post(FILTER, captured(filter_)), capable=capable)
    assert read == fake_scheduler.Filtered(NAMES, {}, {})


def test_the_pod_of_one_profile_is_scored_on_the_scale_of_the_largest(
    client: Client,
) -> None:
    """Two profiles, S_p 4 and 1, one entry of weight 4: each gets its own points."""
    heavy = PluginSpec("NetworkTraffic", score=True, weight=4)
    client.load(
        material.facts(
            material.policy(heavy),
            material.policy(TRAFFIC, scheduler="light"),
            of=material.snapshot(),
        )
    )
    body, light = captured("03"), {"schedulerName": "light"}
    first = points(client.post(PRIORITIZE, body, QUERY.format(4)), 4)
    assert first == {"node-a": 400, "node-b": 200, "node-c": 0}
    second = points(
        client.post(PRIORITIZE, with_pod(body, spec=light), QUERY.format(4)), 4
    )
    assert second == {"node-a": 120, "node-b": 40, "node-c": 0}


def test_the_weight_of_the_call_is_what_is_divided_by(client: Client) -> None:
    load(client, PluginSpec("NetworkTraffic", score=True, weight=5))
    for weight in (1, 5, 10):
        reply = client.post(PRIORITIZE, captured("03"), QUERY.format(weight))
        assert points(reply, weight)["node-a"] == 500


@pytest.mark.parametrize("respell", [str.lower, str.upper, str.swapcase])
def test_keys_are_read_in_any_case(client: Client, respell: Any) -> None:
    load(client, LIMITED)
    sent = {respell(key): value for key, value in json.loads(captured("01")).items()}
    reply = client.post(FILTER, json.dumps(sent).encode())
    assert passed(reply, capable=True).nodes == ["node-a", "node-b"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"Pod":null,"Nodes":null,"NodeNames":["node-a"]}', id="no pod"),
        pytest.param(
            b'{"Pod":{"metadata":null,"spec":null,"status":null},"Nodes":null,'
            b'"NodeNames":["node-a"]}',
            id="null parts",
        ),
        pytest.param(
            b'{"Pod":{"metadata":{"labels":null,"annotations":null,'
            b'"ownerReferences":null},"spec":{"containers":null}},"Nodes":null,'
            b'"NodeNames":["node-a"]}',
            id="null maps and lists",
        ),
    ],
)
def test_nulls_are_read_as_go_writes_them(client: Client, body: bytes) -> None:
    load(client, LIMITED)
    assert passed(client.post(FILTER, body), capable=True).nodes == ["node-a"]


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"Pod":{},"Nodes":null,"NodeNames":[]}', id="names"),
        pytest.param(
            b'{"Pod":{},"Nodes":{"metadata":{},"items":[]},"NodeNames":null}',
            id="nodes",
        ),
        pytest.param(
            b'{"Pod":{},"Nodes":{"metadata":{},"items":null},"NodeNames":null}',
            id="null items",
        ),
    ],
)
def test_no_candidates_is_an_answer_without_nodes(client: Client, body: bytes) -> None:
    load(client, LIMITED)
    assert json.loads(client.post(PRIORITIZE, body).body) == []
    read = passed(client.post(FILTER, body), capable=b'"NodeNames":[]' in body)
    assert read == fake_scheduler.Filtered()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("ghost", id="a node that we do not know"),
        pytest.param("n" * 253, id="the longest name"),
        pytest.param('quo"te', id="a quote"),
        pytest.param("back\\slash", id="a backslash"),
        pytest.param("ünïcode", id="not ASCII"),
    ],
)
@pytest.mark.parametrize("others", [0, 600], ids=["few", "many"])
def test_an_odd_name_comes_back_as_it_came(
    client: Client, name: str, others: int
) -> None:
    load(client, LIMITED)
    names = [*NAMES, *(f"other-{i}" for i in range(others)), name]
    body = json.dumps({"Pod": {}, "Nodes": None, "NodeNames": names}).encode()
    hosts = fake_scheduler.read_prioritize(200, client.post(PRIORITIZE, body).body)
    assert [host for host, _ in hosts] == names
    read = fake_scheduler.read_filter(
        200, client.post(FILTER, body).body, names, cache_capable=True
    )
    assert name in read.nodes, "a node without data passes"


def test_a_name_that_comes_twice_does_not_count_twice(client: Client) -> None:
    """kube-scheduler sums the scores of a host that is answered twice."""
    load(client, TRAFFIC)
    body = material.extender_args(["node-a", "node-c", "node-a"])
    hosts = fake_scheduler.read_prioritize(200, client.post(PRIORITIZE, body).body)
    totals = fake_scheduler.points(hosts, NAMES, weight=1)
    assert totals == {"node-a": 100, "node-b": 0, "node-c": 0}
    read = passed(client.post(FILTER, body), capable=True)
    assert set(read.nodes) == {"node-a", "node-c"}


def test_the_nominated_node_alone_passes(client: Client) -> None:
    """Other pods may already have been evicted for it."""
    load(client, LIMITED)
    body = json.dumps(
        {
            "Pod": {"status": {"nominatedNodeName": "node-c"}},
            "Nodes": None,
            "NodeNames": ["node-c"],
        }
    ).encode()
    assert passed(client.post(FILTER, body), capable=True).nodes == ["node-c"]


@pytest.mark.parametrize("verb", ["bind", "preempt"])
@pytest.mark.parametrize("number", ["05", "06", "07"])
def test_verbs_that_we_do_not_serve_are_not_found(
    client: Client, verb: str, number: str
) -> None:
    load(client, LIMITED)
    assert client.post(f"/extender/default/{verb}", captured(number)).status == 404


def test_an_exempt_pod_is_answered_as_if_we_were_not_there(client: Client) -> None:
    exempt = PluginSpec(
        "NetworkTraffic",
        score=True,
        filter=True,
        weight=1,
        args={
            "maxUtilizationPercent": 80,
            "exempt": {"namespaces": ["kube-system"]},
        },
    )
    load(client, exempt)
    meta = {"namespace": "kube-system"}
    body = with_pod(captured("03"), metadata=meta)
    assert json.loads(client.post(PRIORITIZE, body).body) == []
    read = passed(
        client.post(FILTER, with_pod(captured("01"), metadata=meta)), capable=True
    )
    assert read == fake_scheduler.Filtered(NAMES, {}, {})


def test_five_thousand_names_are_answered_in_their_order(client: Client) -> None:
    use = {
        f"ip-10-0-{i // 250}-{i % 250}.internal": (i % 97) / 100 for i in range(5000)
    }
    load(client, LIMITED, of=material.snapshot(use))
    names = sorted(use, key=lambda name: name[::-1])
    body = json.dumps({"Pod": {}, "Nodes": None, "NodeNames": names}).encode()
    hosts = fake_scheduler.read_prioritize(200, client.post(PRIORITIZE, body).body)
    assert [host for host, _ in hosts] == names
    for name, score in hosts:
        assert 0 <= score <= 10
        if use[name] == 0:
            assert score == 10
    read = fake_scheduler.read_filter(
        200, client.post(FILTER, body).body, names, cache_capable=True
    )
    assert read.nodes == [name for name in names if use[name] <= 0.8]
    assert set(read.unresolvable.values()) == {REASON}
