from __future__ import annotations

import json
import logging
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scoring.simulation.pods import Pod
from scoring.simulator.cluster import SimulatedCluster
from scoring.simulator.scheduler import DocumentWatch, Scheduler
from tests.scoring.extender import material
from tests.scoring.extender.wsgicall import Client
from tests.scoring.simulation.worlds import START
from tests.scoring.simulator.documents import KEY, QUERY, document, entry
from tests.scoring.simulator.scripted import Reply, Scripted, ok, scripted


class Stage:
    """A cluster whose time the test moves, and its scheduler."""

    def __init__(self, directory: Path) -> None:
        self.now = START
        self.path = directory / "stock.yaml"
        self.cluster = SimulatedCluster(12, random.Random(1), clock=lambda: self.now)
        self.scheduler = Scheduler(
            self.cluster, DocumentWatch(self.path, ""), clock=lambda: self.now
        )
        names = [n["metadata"]["name"] for n in self.cluster.node_objects()]
        self.usable = [n for n in names if n != "control-plane-1"][:-1]

    def publish(self, *entries: dict[str, Any], **more: Any) -> None:
        """Replace the document, as a publish does."""
        part = self.path.with_suffix(".part")
        part.write_text(document(*entries, **more))
        part.replace(self.path)

    def live(self, seconds: float) -> list[Pod]:
        """Let time pass second by second; the pods that got a node meanwhile."""
        before = {one.pod.key for one in self.cluster.pods()[1] if one.pod.node}
        for _ in range(int(seconds)):
            self.now += 1
            self.cluster.advance()
            self.scheduler.turn()
        bound = [one.pod for one in self.cluster.pods()[1] if one.pod.node]
        return [pod for pod in bound if pod.key not in before]


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.scheduler.close()


@pytest.fixture
def script(stage: Stage) -> Iterator[Scripted]:
    with scripted() as running:
        running.at_end.append(stage.scheduler.close)
        yield running


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name.startswith("scoring.sim")]


@pytest.fixture(autouse=True)
def _info(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="scoring.simulator")


def test_without_a_document_pods_are_placed_all_the_same(
    stage: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    assert {pod.node for pod in stage.live(60)} <= set(stage.usable)
    assert not stage.cluster.waiting()
    told = ["scheduling without an extender for default-scheduler"]
    assert lines(caplog) == told


def test_pods_go_where_the_extender_sends_them(
    stage: Stage, script: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    best = "fast-01"  # has room for all
    script.score(**{best: 10})
    stage.publish(entry(script.url))
    placed = stage.live(60)
    assert len(placed) >= 8
    assert {pod.node for pod in placed} == {best}
    asked = script.seen[0].body["NodeNames"]
    assert asked == stage.usable
    assert lines(caplog) == [
        f"scheduling with {script.url}/extender/default for default-scheduler",
        f"scores come from {script.url}/extender/default",
    ]


def test_a_new_document_counts_at_once_and_a_gone_one_too(
    stage: Stage, script: Scripted
) -> None:
    script.score(**{stage.usable[0]: 10})
    stage.publish(entry(script.url))
    assert {pod.node for pod in stage.live(20)} == {stage.usable[0]}
    stage.publish(
        entry(script.url, weight=7, prioritizeVerb="prioritize?revision=4"),
        schedulers=("bulk",),
    )
    stage.live(20)
    assert "revision=4" in script.seen[-1].path
    stage.live(20)
    assert script.seen[-1].body["Pod"]["spec"]["schedulerName"] == "bulk"
    stage.path.unlink()
    asked = len(script.seen)
    assert len({pod.node for pod in stage.live(60)}) > 2
    assert len(script.seen) == asked


def test_a_broken_document_keeps_the_last_good_one(
    stage: Stage, script: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    script.score(**{stage.usable[0]: 10})
    stage.publish(entry(script.url))
    stage.live(10)
    stage.path.write_text("kind: [")
    assert {pod.node for pod in stage.live(20)} == {stage.usable[0]}
    told = [line for line in lines(caplog) if "is not YAML" in line]
    assert told == ["the stock document is not YAML; going on with what was before"]


def test_the_filter_keeps_pods_off(stage: Stage, script: Scripted) -> None:
    passed = stage.usable[2:4]
    script.answer("filter", {"NodeNames": passed, "FailedNodes": {}})
    script.score(**{stage.usable[0]: 10})
    stage.publish(entry(script.url, filterVerb=f"filter{QUERY}"))
    assert {pod.node for pod in stage.live(40)} <= set(passed)
    asked = [seen for seen in script.seen if "/prioritize" in seen.path]
    assert all(seen.body["NodeNames"] == passed for seen in asked)


def test_one_node_left_needs_no_scores(stage: Stage, script: Scripted) -> None:
    script.answer("filter", {"NodeNames": stage.usable[:1]})
    stage.publish(entry(script.url, filterVerb="filter"))
    assert {pod.node for pod in stage.live(20)} == {stage.usable[0]}
    assert {seen.path for seen in script.seen} == {"/extender/default/filter"}


def test_pods_refused_everywhere_wait_longer_and_longer(
    stage: Stage, script: Scripted
) -> None:
    script.answer("filter", {"NodeNames": []})
    stage.publish(entry(script.url, filterVerb="filter"))
    assert stage.live(60) == []
    first = script.seen[0].body["Pod"]["metadata"]["name"]
    tries = [s for s in script.seen if s.body["Pod"]["metadata"]["name"] == first]
    assert 7 <= len(tries) <= 11  # after 1, 2, 4, 8 seconds, then each 10
    script.replies["filter"] = lambda body: ok({"NodeNames": body["NodeNames"]})
    script.score()
    assert len(stage.live(11)) >= 10


def test_an_extender_that_fails_is_left_out_and_told_once(
    stage: Stage, script: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    script.answer("filter", {}, 500)
    script.answer("prioritize", {}, 500)
    stage.publish(entry(script.url, filterVerb="filter"))
    assert stage.live(9)
    assert len(lines(caplog)) == 1  # it may be starting
    assert len(stage.live(40)) >= 5
    at = f"the extender at {script.url}/extender/default answered 500"
    assert lines(caplog)[1:] == [
        f"{at}: going on without its filter",
        f"{at}: going on without its scores",
    ]
    script.score(**{stage.usable[0]: 10})
    script.replies["filter"] = lambda body: ok({"NodeNames": body["NodeNames"]})
    assert {pod.node for pod in stage.live(20)} == {stage.usable[0]}
    assert lines(caplog)[3:] == [f"scores come from {script.url}/extender/default"]
    assert not any(KEY in line for line in lines(caplog))


def test_pods_wait_for_an_extender_that_may_not_be_ignored(
    stage: Stage, script: Scripted, caplog: pytest.LogCaptureFixture
) -> None:
    script.answer("filter", {}, 500)
    stage.publish(entry(script.url, filterVerb="filter", ignorable=False))
    assert stage.live(20) == []
    assert lines(caplog)[-1].endswith("answered 500: pods wait for it")


def test_the_products_extender_keeps_pods_off_busy_nodes(
    stage: Stage, script: Scripted, tmp_path: Path
) -> None:
    quiet = "fast-01"
    use = {name: 0.05 if name == quiet else 0.9 for name in stage.usable}
    client = Client(tmp_path, now=START).load(
        material.facts(material.policy(material.LIMITED), of=material.snapshot(use))
    )

    def answer(body: dict[str, Any]) -> Reply:
        seen = script.seen[-1]
        path, _, query = seen.path.partition("?")
        reply = client.post(
            path,
            json.dumps(body).encode(),
            query,
            authorization=seen.headers["Authorization"],
        )
        return reply.status, reply.body

    script.replies.update(prioritize=answer, filter=answer)
    url = script.url.removeprefix("http://")
    ours = {
        "urlPrefix": f"http://bandmaster:{material.KEY}@{url}/extender/default",
        "prioritizeVerb": f"prioritize?{material.QUERY}",
    }
    stage.publish(entry(script.url, **ours))
    assert {pod.node for pod in stage.live(30)} == {quiet}
    stage.publish(entry(script.url, **ours, filterVerb=f"filter?{material.QUERY}"))
    assert {pod.node for pod in stage.live(30)} == {quiet}
    assert any("/filter" in seen.path for seen in script.seen)
    stage.publish(entry(script.url))  # a wrong key: neither scores nor a stop
    assert len({pod.node for pod in stage.live(60)}) > 2


def test_pods_of_other_schedulers_are_left_alone(stage: Stage) -> None:
    stage.publish(schedulers=("here",))
    stage.scheduler.turn()
    stage.cluster.use_scheduler_names(("elsewhere",))
    stage.live(30)
    waiting = {one.pod.scheduler_name for one in stage.cluster.waiting()}
    assert waiting == {"elsewhere"}
