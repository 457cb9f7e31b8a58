from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scoring import snapshot as store
from scoring.explain import current
from scoring.framework.policy import PluginSpec
from scoring.models import Cluster
from tests import rows as made

pytestmark = pytest.mark.django_db
LIMITED = PluginSpec(
    "NetworkTraffic",
    score=True,
    filter=True,
    weight=4,
    args={"maxUtilizationPercent": 0.001, "minPassedPercent": 0},
)
CLASSIC = PluginSpec("HelloWorldPlugin", score=True, weight=1)


@pytest.fixture(autouse=True)
def no_snapshot_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rolled back rows give their keys to the next test; the cache goes by keys."""
    monkeypatch.setattr(store._cache, "newest", {})
    monkeypatch.setattr(current, "_previous", {})


@pytest.fixture
def cluster() -> Cluster:
    cluster = made.make_cluster(published=False)
    made.publish(cluster, LIMITED, CLASSIC)
    facts = made.draft(tuple(made.node(i) for i in range(5)))
    made.collected(cluster, made.without_data(facts, 4))
    return cluster


def explained(node: str, capsys: pytest.CaptureFixture[str], **options: Any) -> Any:
    call_command("explain_node", node, format="json", **options)
    return json.loads(capsys.readouterr().out)


def test_every_step_in_json(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained("node-0001", capsys)
    assert [p["name"] for p in found["plugins"]] == [
        "NetworkTraffic",
        "HelloWorldPlugin",
    ]
    num = sum(p["score"] * p["weight"] for p in found["plugins"])
    assert found["num"] == num
    assert found["weight"] == 5
    assert found["priority"] == (num + 25) // 50
    assert found["sample"]["age"] == "fresh"
    assert found["capacity_origin"] == "link speed"


def test_unknown_numbers_are_null(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    found = explained("node-0004", capsys)
    assert found["sample"]["receive"] is None
    assert found["sample"]["age"] == "missing"
    assert not found["plugins"][0]["known"]


def test_every_step_as_text(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    call_command("explain_node", "node-0001")
    text = capsys.readouterr().out
    number = explained("node-0001", capsys)
    for part in (
        "main r1 for default-scheduler",
        "(link speed)",
        "old, fresh, measured",
        "Candidates: 5 eligible nodes",
        f"score {number['plugins'][0]['score']} x weight 4",
        number["plugins"][0]["steps"][0],
        "Found by: node label",
        "Devices: eth0",
        number["filters"][0],
        f"({number['num']} + 5 x 5) // (10 x 5) = {number['priority']}",
    ):
        assert part in text


def test_the_kill_switch_is_told(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    Cluster.objects.update(neutral=True, neutral_reason="drill")
    call_command("explain_node", "node-0001")
    text = capsys.readouterr().out
    assert "to every node, because the kill switch is on" in text
    assert "Filter: passes" in text


@pytest.mark.parametrize(
    ("options", "code", "sentence"),
    [
        pytest.param({"node": "node-001"}, 1, "did you mean 'node-0001'", id="node"),
        pytest.param(
            {"node": "zzz"}, 1, "no node 'zzz': see the", id="nothing like it"
        ),
        pytest.param({"cluster": "moon"}, 2, "no cluster 'moon'", id="cluster"),
        pytest.param({"scheduler_name": "x"}, 1, "serves the scheduler 'x'", id="name"),
        pytest.param({"configuration": "x"}, 1, "no published policy", id="config"),
    ],
)
def test_wrong_names(
    cluster: Cluster, options: dict[str, str], code: int, sentence: str
) -> None:
    asked = {"node": "node-0001"} | options
    with pytest.raises(CommandError, match=sentence) as caught:
        call_command("explain_node", asked.pop("node"), **asked)
    assert caught.value.returncode == code


def test_several_configurations(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    made.publish(cluster, CLASSIC, name="other")
    with pytest.raises(CommandError, match=r"--configuration \(main, other\)"):
        call_command("explain_node", "node-0001")
    found = explained("node-0001", capsys, configuration="other")
    assert found["configuration"] == "other"


def test_nothing_collected_yet() -> None:
    made.make_cluster()
    with pytest.raises(CommandError, match="nothing has been collected yet"):
        call_command("explain_node", "node-0001")
