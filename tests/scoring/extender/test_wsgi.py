from __future__ import annotations

import base64
import io
import json
import logging
from pathlib import Path
from typing import Any

import pytest

from scoring.extender import verbs, wsgi
from scoring.extender.types import Call
from scoring.extender.wsgi import known_key, parse_query
from tests.scoring.extender import material
from tests.scoring.extender.material import FILTER, PRIORITIZE
from tests.scoring.extender.wsgicall import Client

NAMES = list(material.USE)


def args(names: list[str] = NAMES, scheduler: str = "default-scheduler") -> bytes:
    pod = {"metadata": {"name": "web-0"}, "spec": {"schedulerName": scheduler}}
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}).encode()


@pytest.fixture
def client(tmp_path: Path) -> Client:
    return Client(tmp_path).load(material.facts(of=material.snapshot()))


def basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize("slash", ["", "/"])
def test_both_verbs_answer_with_and_without_a_slash(client: Client, slash: str) -> None:
    scored = client.post(PRIORITIZE + slash, args())
    assert scored.status == 200
    assert scored.headers["Content-Type"] == "application/json"
    assert json.loads(scored.body) == [
        {"Host": "node-a", "Score": 10},
        {"Host": "node-b", "Score": 5},
        {"Host": "node-c", "Score": 0},
    ]
    passed = client.post(FILTER + slash, args())
    assert passed.status == 200
    assert json.loads(passed.body)["NodeNames"] == NAMES


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        pytest.param(basic(f"bandmaster:{material.KEY}"), True, id="right"),
        pytest.param(basic(f"anyone:{material.KEY}"), True, id="any user"),
        pytest.param(basic(f":{material.KEY}"), True, id="no user"),
        pytest.param("basic " + basic(f"x:{material.KEY}")[6:], True, id="lower case"),
        pytest.param(basic("bandmaster:wrong"), False, id="wrong key"),
        pytest.param(basic("bandmaster:"), False, id="empty key"),
        pytest.param(basic(material.KEY), False, id="no colon"),
        pytest.param(basic(f"x:{material.DIGEST}"), False, id="the digest itself"),
        pytest.param("Basic !!!", False, id="not base64"),
        pytest.param("Basic", False, id="no credentials"),
        pytest.param(f"Bearer {material.KEY}", False, id="another scheme"),
        pytest.param("Basic \xff\xfe", False, id="not ASCII"),
        pytest.param(None, False, id="no header"),
    ],
)
def test_only_a_key_of_the_cluster_opens(
    client: Client, header: str | None, accepted: bool
) -> None:
    reply = client.post(PRIORITIZE, args(), authorization=header)
    assert reply.status == (200 if accepted else 401)
    if not accepted:
        assert reply.headers["WWW-Authenticate"].startswith("Basic ")
        assert material.KEY.encode() not in reply.body


def test_two_keys_are_valid_while_they_rotate() -> None:
    other = "1" * 64
    assert known_key(material.AUTHORIZATION, [other, material.DIGEST])
    assert not known_key(material.AUTHORIZATION, [other])
    assert not known_key(material.AUTHORIZATION, [])


@pytest.mark.parametrize(
    ("query", "call"),
    [
        pytest.param(
            "configuration=main&revision=3&weight=5", Call("main", 3, 5), id="all"
        ),
        pytest.param("", Call(), id="none"),
        pytest.param("configuration=", Call(), id="empty name"),
        pytest.param("revision=1", Call(None, 1, None), id="one"),
        pytest.param("other=1&weight=2", Call(None, None, 2), id="names not ours"),
        pytest.param("configuration=a%2Db", Call("a-b"), id="escaped"),
    ],
)
def test_the_query_says_which_document_the_scheduler_runs(
    query: str, call: Call
) -> None:
    assert parse_query(query) == call


@pytest.mark.parametrize("name", ["revision", "weight"])
@pytest.mark.parametrize("value", ["", "0", "-1", "1.5", "x", "²", "9" * 30, "1e3"])
def test_a_query_that_cannot_be_is_refused(
    client: Client, name: str, value: str
) -> None:
    reply = client.post(PRIORITIZE, args(), query=f"{name}={value}")
    assert reply.status == 400
    assert f"query's {name}".encode() in reply.body


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        pytest.param("GET", PRIORITIZE, "POST", id="a verb by GET"),
        pytest.param("PUT", FILTER + "/", "POST", id="a verb by PUT"),
        pytest.param("POST", "/livez", "GET, HEAD", id="health by POST"),
        pytest.param("DELETE", "/metrics", "GET, HEAD", id="metrics by DELETE"),
    ],
)
def test_other_methods_are_told_which_to_use(
    client: Client, method: str, path: str, allowed: str
) -> None:
    reply = client.request(method, path)
    assert reply.status == 405
    assert reply.headers["Allow"] == allowed


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "",
        "/extender/other/filter",
        "/extender/default",
        "/extender/default/filter//",
        "/extender/default/bind",
        "/extender/default/preempt",
        "/extender/default/prioritize/x",
        "/Extender/default/filter",
        "/admin/",
    ],
)
def test_every_other_path_is_not_found(client: Client, path: str) -> None:
    reply = client.post(path, args())
    assert reply.status == 404
    assert b"/extender/default/filter" in reply.body


@pytest.mark.parametrize("path", [PRIORITIZE, FILTER])
@pytest.mark.parametrize(
    "body",
    [b"", b"not json", b"[]", b'{"Pod":', b'"x"', b'{"NodeNames":5}', b"\xff\xfe"],
)
def test_a_body_that_is_not_extender_args_is_a_bad_request(
    client: Client, path: str, body: bytes
) -> None:
    reply = client.post(path, body)
    assert reply.status == 400
    assert reply.body.endswith(b".\n")


def test_a_body_announced_above_the_limit_is_not_even_read(client: Client) -> None:
    class Untouchable(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise AssertionError("read")

    announced = str(wsgi.LARGEST_BODY + 1)
    environ: dict[str, Any] = {"wsgi.input": Untouchable()}
    reply = client.post(FILTER, b"", CONTENT_LENGTH=announced, **environ)
    assert reply.status == 413
    assert b"nodeCacheCapable" in reply.body


def test_a_body_above_the_limit_is_refused_unannounced(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wsgi, "LARGEST_BODY", len(args()) - 1)
    assert client.post(FILTER, args(), CONTENT_LENGTH="").status == 413
    monkeypatch.setattr(wsgi, "LARGEST_BODY", len(args()))
    assert client.post(FILTER, args(), CONTENT_LENGTH="").status == 200


@pytest.mark.parametrize("authorization", [None, basic("x:y")])
def test_before_anything_is_loaded_every_answer_is_neutral(
    tmp_path: Path, authorization: str | None
) -> None:
    client = Client(tmp_path)
    scored = client.post(PRIORITIZE, args(), authorization=authorization)
    assert scored.status == 200
    answer = json.loads(scored.body)
    assert [host["Host"] for host in answer] == NAMES
    assert len({host["Score"] for host in answer}) == 1
    passed = client.post(FILTER, args(), authorization=authorization)
    assert json.loads(passed.body)["NodeNames"] == NAMES


def test_data_that_has_expired_is_answered_neutral(client: Client) -> None:
    client.now += 3600
    answer = json.loads(client.post(PRIORITIZE, args()).body)
    assert [host["Host"] for host in answer] == NAMES
    assert len({host["Score"] for host in answer}) == 1


def broken(*arguments: Any) -> Any:
    raise ZeroDivisionError(f"with a secret of the body: {arguments[0]!r}")


def test_a_fault_of_ours_is_answered_neutral_and_logged_once_without_the_body(
    client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client.state, "view_at", broken)
    with caplog.at_level(logging.DEBUG):
        replies = [client.post(PRIORITIZE, args()) for _ in range(3)]
        passed = client.post(FILTER, args())
    for reply in replies:
        answer = json.loads(reply.body)
        assert [host["Host"] for host in answer] == NAMES
        assert len({host["Score"] for host in answer}) == 1
    assert json.loads(passed.body)["NodeNames"] == NAMES
    assert len(caplog.records) == 1
    assert "ZeroDivisionError" in caplog.text
    assert "secret" not in caplog.text
    assert "web-0" not in caplog.text
    metrics = client.get("/metrics").body.decode()
    assert 'outcome="error",verb="prioritize"} 3.0' in metrics


def test_a_fault_that_cannot_be_answered_is_500_and_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verbs, "prioritize", broken)
    client = Client(tmp_path)
    reply = client.post(PRIORITIZE, args())
    assert reply.status == 500
    assert b"secret" not in reply.body
    assert b"Traceback" not in reply.body


def test_livez_is_ok_whatever_the_state(tmp_path: Path) -> None:
    reply = Client(tmp_path).get("/livez")
    assert (reply.status, reply.body) == (200, b"ok\n")


def test_readyz_is_ready_and_says_what_is_wrong(tmp_path: Path) -> None:
    client = Client(tmp_path)
    told = json.loads(client.get("/readyz").body)
    assert told["ready"] is True
    assert told["loaded"] is False
    assert "neutral" in told["detail"][0]
    client.load(material.facts(of=material.snapshot()))
    assert json.loads(client.get("/readyz").body)["detail"] == []


@pytest.mark.parametrize(
    ("facts", "later", "expected"),
    [
        pytest.param(
            material.facts(of=material.snapshot(), keys=()),
            0,
            "no extender key",
            id="no key",
        ),
        pytest.param(material.facts(), 0, "no snapshot yet", id="no snapshot"),
        pytest.param(
            material.facts(of=material.snapshot()), 400, "400 seconds old", id="stale"
        ),
        pytest.param(
            material.facts(of=material.snapshot()),
            400,
            "No node has usable",
            id="expired",
        ),
        pytest.param(
            material.facts(of=material.snapshot(), neutral="repair"),
            0,
            "kill switch is on (cluster): repair",
            id="kill switch",
        ),
        pytest.param(
            material.facts(b"{}", of=material.snapshot()), 0, "is damaged", id="policy"
        ),
        pytest.param(
            material.facts(b"{}", of=material.snapshot()),
            0,
            "no policy",
            id="no policy",
        ),
    ],
)
def test_readyz_tells_each_trouble_in_a_sentence(
    tmp_path: Path, facts: Any, later: float, expected: str
) -> None:
    client = Client(tmp_path).load(facts)
    client.now += later
    client.state.view_at(client.now)
    reply = client.get("/readyz")
    assert reply.status == 200
    assert any(expected in sentence for sentence in json.loads(reply.body)["detail"])


@pytest.mark.parametrize("sentence", [wsgi.WRONG_KEY, wsgi.FLOOR_USED])
def test_readyz_tells_for_a_while_what_happened_in_a_call(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, sentence: str
) -> None:
    full = material.snapshot({"node-a": 0.90, "node-b": 0.95, "node-c": 0.99})
    client = Client(tmp_path).load(
        material.facts(material.policy(material.LIMITED), of=full)
    )

    def told() -> bool:
        return sentence in json.loads(client.get("/readyz").body)["detail"]

    assert not told()
    key = None if sentence == wsgi.WRONG_KEY else material.AUTHORIZATION
    for _ in range(3):
        client.post(FILTER, args(), authorization=key)
    assert told()
    assert [r.getMessage() for r in caplog.records].count(sentence) == 1
    client.now += 601
    assert not told()


def test_readyz_tells_the_policies_and_what_the_scheduler_runs(client: Client) -> None:
    client.post(PRIORITIZE, args(), query="configuration=main&revision=9")
    told = json.loads(client.get("/readyz").body)
    assert told["live_revisions"] == {"main": 9}
    assert told["snapshot_age_seconds"] == 0
    assert told["nodes"] == 3
    assert told["policies"] == [
        {
            "configuration": "main",
            "compiled_revision": 1,
            "revision": 1,
            "scheduler_name": "default-scheduler",
            "answerable": True,
        }
    ]


def test_a_configuration_that_is_not_ours_makes_no_metric(client: Client) -> None:
    client.post(PRIORITIZE, args(), query="configuration=guess&revision=9")
    assert b"guess" not in client.get("/metrics").body


def test_every_call_is_counted(client: Client) -> None:
    client.post(PRIORITIZE, args())
    client.post(PRIORITIZE, args(), authorization=None)
    client.post(FILTER, b"")
    text = client.get("/metrics").body.decode()
    name = "bandmaster_extender_request_duration_seconds_count"
    for labels in (
        'outcome="scored",verb="prioritize"',
        'outcome="unauthorized",verb="prioritize"',
        'outcome="bad_request",verb="filter"',
    ):
        assert f"{name}{{{labels}}} 1.0" in text
