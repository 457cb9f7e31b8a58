"""What a page says of a node is what kube-scheduler gets for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scoring import neutral as switch
from scoring import snapshot as snapshots
from scoring.explain import current
from scoring.explain.current import is_neutral, rank
from scoring.explain.ranking import Ranking
from scoring.explain.steps import explain
from scoring.extender import verbs
from scoring.extender.names import NodeIndex
from scoring.extender.types import Call, View
from scoring.framework.policy import PluginSpec
from scoring.framework.snapshot import RECEIVE, TRANSMIT
from scoring.models import Cluster
from tests import rows

TRAFFIC = PluginSpec("NetworkTraffic", score=True, weight=5)
HELLO = PluginSpec("HelloWorldPlugin", score=True, weight=2)
CPU = PluginSpec("CPUUsage", score=True, weight=1)


@pytest.fixture(autouse=True)
def own_state(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.DATA_DIR = tmp_path
    settings.NEUTRAL = ""
    monkeypatch.setattr(snapshots._cache, "newest", {})
    monkeypatch.setattr(current, "_previous", {})


@pytest.fixture
def cluster(db: None) -> Cluster:
    return rows.make_cluster(published=False)


def ranked(cluster: Cluster, *plugins: PluginSpec) -> Ranking:
    policy = rows.publish(cluster, *plugins)
    draft = rows.motley()
    rows.collected(cluster, draft)
    found = rank(cluster, policy, now=draft.collected_at + 1)
    assert found is not None
    return found


def sent(ranking: Ranking, *, neutral: bool = False) -> dict[str, int]:
    """The answer to a call with every eligible node."""
    policy = ranking.policy
    view = View(
        snapshot=ranking.snapshot,
        policies={(policy.configuration, 1): {policy.scheduler_name: ranking.prepared}},
        newest={policy.configuration: 1},
        neutral=neutral,
        index=NodeIndex.build(ranking.snapshot.table),
        loaded=True,
    )
    names = [ranking.snapshot.table.rows[i].name for i in ranking.eligible]
    body = json.dumps({"Pod": {"metadata": {"name": "p"}}, "NodeNames": names})
    call = Call(policy.configuration, 1, policy.total_weight)
    answer = verbs.prioritize(body.encode(), call, view)
    return {item["Host"]: item["Score"] for item in json.loads(answer.body)}


@pytest.mark.parametrize(
    "plugins",
    [
        pytest.param((TRAFFIC,), id="network"),
        pytest.param((HELLO,), id="classic"),
        pytest.param((CPU,), id="cpu"),
        pytest.param((TRAFFIC, HELLO, CPU), id="three weights"),
    ],
)
def test_the_explanation_ends_at_what_is_sent(
    cluster: Cluster, plugins: tuple[PluginSpec, ...]
) -> None:
    found = ranked(cluster, *plugins)
    answered = sent(found)
    assert len(answered) == found.eligible.size
    for row in found.rows(found.eligible):
        number = found.snapshot.table.index[row.node.name]
        reasons = explain(found, number)
        assert reasons.priority is not None
        assert reasons.priority == row.priority == answered[row.node.name]
        assert sum(part.points for part in reasons.parts) == reasons.num
        weight = reasons.weight
        assert (reasons.num + 5 * weight) // (10 * weight) == reasons.priority
        assert reasons.added == reasons.priority * 10 * weight
        assert [part.name for part in reasons.parts] == [p.name for p in plugins]
        assert all(part.steps for part in reasons.parts)


def test_kill_switch_sends_what_the_page_says(cluster: Cluster) -> None:
    found = ranked(cluster, TRAFFIC)
    quiet = Ranking(found.policy, found.prepared, found.snapshot, found.now, True)
    answered = set(sent(quiet, neutral=True).values())
    assert answered == set(quiet.sent[quiet.eligible].astype(int).tolist()) == {5}


def test_a_node_without_data_says_what_it_counts_as(cluster: Cluster) -> None:
    found = ranked(cluster, TRAFFIC)
    reasons = explain(found, found.snapshot.table.index["node-0005"])
    assert "median of the candidates" in reasons.parts[0].steps[0]


def test_an_idle_fleet_lies_in_the_dead_band(cluster: Cluster) -> None:
    policy = rows.publish(cluster, TRAFFIC)
    draft = rows.draft((rows.node(1), rows.node(2), rows.node(3)))
    for column in (RECEIVE, TRANSMIT):
        draft.columns[column][:] = np.float32(1e5)
    rows.collected(cluster, draft)
    found = rank(cluster, policy, now=draft.collected_at)
    assert found is not None
    reasons = explain(found, 0)
    assert reasons.parts[0].score == 100
    assert "so all get 100" in reasons.parts[0].steps[1]


def test_a_node_out_of_the_race_is_sent_nothing_of_the_ranking(
    cluster: Cluster,
) -> None:
    found = ranked(cluster, TRAFFIC)
    number = found.snapshot.table.index["node-0007"]
    reasons = explain(found, number)
    assert reasons.row.priority is None
    assert reasons.candidates == found.eligible.size + 1


@pytest.mark.parametrize("source", ["cluster", "environment", "file"])
def test_every_source_of_the_kill_switch_counts(
    cluster: Cluster, settings: Any, tmp_path: Path, source: str
) -> None:
    assert not is_neutral(cluster)
    if source == "cluster":
        cluster.neutral = True
    elif source == "environment":
        settings.NEUTRAL = "drill"
    else:
        switch.write_neutral_file(tmp_path, "drill")
    assert is_neutral(cluster)
