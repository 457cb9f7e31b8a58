from __future__ import annotations

import gzip
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scoring.simulation.objects import node_object, pod_object
from scoring.simulator.extender import Extender, ExtenderError
from scoring.simulator.stock import parse
from tests.scoring.simulation.worlds import START, pod, world
from tests.scoring.simulator.documents import KEY, QUERY, document, entry
from tests.scoring.simulator.scripted import Reply, Scripted, ok, scripted

NODES = [node_object(node, created=START) for node in world(4).nodes[1:]]
NAMES = [node["metadata"]["name"] for node in NODES]
POD = pod_object(pod(), version=7)
CAPTURED = Path(__file__).parents[2] / "contract" / "extender-json"


@pytest.fixture
def script() -> Iterator[Scripted]:
    with scripted() as running:
        yield running


def extender(script: Scripted, **changes: Any) -> Extender:
    text = document(entry(script.url, filterVerb=f"filter{QUERY}", **changes))
    made = Extender(parse(text).entries[0])
    script.at_end.append(made.close)
    return made


def test_a_call_looks_like_one_of_kube_scheduler(script: Scripted) -> None:
    script.score()
    extender(script).prioritize(POD, NODES)
    seen = script.seen[0]
    assert seen.path == f"/extender/default/prioritize{QUERY}"
    assert seen.headers["User-Agent"] == "Go-http-client/1.1"
    assert seen.headers["Content-Type"] == "application/json"
    assert seen.headers["Accept-Encoding"] == "gzip"
    assert seen.headers["Authorization"].startswith("Basic ")
    assert seen.body == {"Pod": POD, "Nodes": None, "NodeNames": NAMES}


def test_whole_nodes_go_to_an_extender_without_a_cache(script: Scripted) -> None:
    script.answer("filter", {"Nodes": {"metadata": {}, "items": NODES[:1]}})
    made = extender(script, nodeCacheCapable=False)
    assert made.filter(POD, NODES) == NAMES[:1]
    assert script.seen[0].body == {
        "Pod": POD,
        "Nodes": {"metadata": {}, "items": NODES},
        "NodeNames": None,
    }


def test_all_calls_use_one_connection(script: Scripted) -> None:
    script.score()
    script.answer("filter", {"NodeNames": NAMES})
    made = extender(script)
    for _ in range(3):
        made.filter(POD, NODES)
        made.prioritize(POD, NODES)
    assert len({seen.client for seen in script.seen}) == 1


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        pytest.param({"NodeNames": NAMES[:2]}, NAMES[:2], id="names"),
        pytest.param({"nodenames": NAMES[:1]}, NAMES[:1], id="any case"),
        pytest.param({"Nodes": {"items": NODES[:1]}}, NAMES[:1], id="nodes instead"),
        pytest.param({}, [], id="nothing rejects all"),
        pytest.param(None, [], id="null rejects all"),
    ],
)
def test_filter_answers(script: Scripted, answer: object, passed: list[str]) -> None:
    script.answer("filter", answer)
    assert extender(script).filter(POD, NODES) == passed


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        pytest.param([{"Host": "a", "Score": 7}], [("a", 7)], id="plain"),
        pytest.param([{"host": "a", "score": 107}], [("a", 107)], id="no clamp"),
        pytest.param([{"Host": "a", "Score": None}], [("a", 0)], id="null score"),
        pytest.param([], [], id="empty"),
        pytest.param(None, [], id="null"),
    ],
)
def test_prioritize_answers(
    script: Scripted, answer: object, scores: list[tuple[str, int]]
) -> None:
    script.answer("prioritize", answer)
    assert extender(script).prioritize(POD, NODES) == scores


@pytest.mark.parametrize(
    ("verb", "answer", "status", "sentence"),
    [
        ("filter", {"Error": "no"}, 200, "refused to filter"),
        ("filter", {"NodeNames": ["ghost"]}, 200, "was not asked about"),
        ("filter", {}, 500, "answered 500"),
        ("filter", {}, 202, "answered 202"),
        ("prioritize", {}, 200, "no list"),
        ("prioritize", [{"Host": "a", "Score": 5.0}], 200, "no whole number"),
        ("prioritize", [{"Host": "a", "Score": "7"}], 200, "no whole number"),
        ("prioritize", [7], 200, "no whole number"),
        ("prioritize", [], 401, "answered 401"),
    ],
)
def test_bad_answers_are_named_without_the_key(
    script: Scripted, verb: str, answer: object, status: int, sentence: str
) -> None:
    script.answer(verb, answer, status)
    made = extender(script)
    ask = made.filter if verb == "filter" else made.prioritize
    with pytest.raises(ExtenderError, match=sentence) as caught:
        ask(POD, NODES)
    assert KEY not in str(caught.value)
    assert script.url in str(caught.value)


def test_what_is_no_json_is_refused(script: Scripted) -> None:
    script.replies["prioritize"] = lambda body: (200, b"<html>")
    with pytest.raises(ExtenderError, match="no JSON"):
        extender(script).prioritize(POD, NODES)


def test_a_hung_extender_costs_no_more_than_the_timeout(script: Scripted) -> None:
    def hang(body: object) -> Reply:
        time.sleep(3)
        return ok([])

    script.replies["prioritize"] = hang
    started = time.monotonic()
    with pytest.raises(ExtenderError, match="no answer in time"):
        extender(script, httpTimeout="50ms").prioritize(POD, NODES)
    assert time.monotonic() - started < 2


def test_a_dead_extender_is_asked_again_later() -> None:
    with scripted() as script:
        script.score()
        made = extender(script)
        made.prioritize(POD, NODES)
    with pytest.raises(ExtenderError, match="does not answer"):
        made.prioritize(POD, NODES)
    with scripted() as script:
        script.score()
        made.entry = replace(made.entry, port=script.port)
        script.at_end.append(made.close)
        assert len(made.prioritize(POD, NODES)) == len(NODES)


def test_compressed_answers_are_read(script: Scripted) -> None:
    content = gzip.compress(b'[{"Host":"a","Score":3}]')
    script.replies["prioritize"] = lambda body: (200, content)
    assert extender(script).prioritize(POD, NODES) == [("a", 3)]


@pytest.mark.parametrize(
    ("managed", "concerned"),
    [([], True), ([{"name": "cpu"}], True), ([{"name": "nvidia.com/gpu"}], False)],
)
def test_managed_resources_choose_the_pods(
    script: Scripted, managed: list[dict[str, str]], *, concerned: bool
) -> None:
    assert extender(script, managedResources=managed).concerns(POD) is concerned


def test_the_body_has_the_shape_of_a_captured_one(script: Scripted) -> None:
    path = CAPTURED / "03-captured-136-prioritize-args-nodecachecapable.json"
    captured = json.loads(path.read_bytes())
    script.score()
    extender(script).prioritize(POD, NODES)
    body = script.seen[0].body
    assert list(body) == list(captured)
    assert captured["Pod"].keys() <= body["Pod"].keys()
    assert captured["Pod"]["spec"].keys() <= body["Pod"]["spec"].keys()
    assert captured["Pod"]["metadata"].keys() <= body["Pod"]["metadata"].keys()
