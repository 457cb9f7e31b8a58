from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.explain import UnknownNode, explain_node
from scoring.extender.types import Call
from scoring.extender.verbs import filter_, prioritize
from scoring.framework.policy import PluginSpec
from scoring.framework.types import Age, Quality
from tests.scoring.extender.test_verbs import args, view
from tests.scoring.scene import NAN, NOW, Scene, cpu, traffic

CLASSIC = PluginSpec("HelloWorldPlugin", score=True, weight=1)


def names(scene: Scene) -> list[str]:
    return [row.name for row in scene.snapshot().table.rows if row.eligible]


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(
            Scene(receive=[10, 30, 55, 95], cpu=[0.3, 0.1, 0.9, 0.2]), id="all"
        ),
        pytest.param(
            Scene(receive=[10, NAN, 55, 95], cpu=[NAN] * 4), id="some missing"
        ),
        pytest.param(Scene(receive=[NAN] * 4, cpu=[NAN] * 4), id="nothing known"),
        pytest.param(Scene(receive=[0] * 4), id="all idle"),
        pytest.param(
            Scene(receive=[10, 30, 55, 95], cordoned=frozenset({0})), id="one cordoned"
        ),
        pytest.param(
            Scene(receive=[10, 30, 55, 95], age=[5, 500, 5, 5]), id="one expired"
        ),
    ],
)
@pytest.mark.parametrize(
    "specs",
    [
        pytest.param((traffic(1),), id="one plugin"),
        pytest.param((traffic(3, limit=80), cpu(1, limit=80)), id="two, with filters"),
        pytest.param((CLASSIC,), id="classic"),
    ],
)
@pytest.mark.parametrize("weight", [1, 4, 7])
def test_explains_what_the_verbs_send(
    scene: Scene, specs: tuple[PluginSpec, ...], weight: int
) -> None:
    prepared = scene.prepared(*specs)
    state, body = view(*specs, scene=scene), args(names(scene))
    call = Call("main", 1, weight)
    sent = json.loads(prioritize(body, call, state).body)
    refused = json.loads(filter_(body, call, state).body)["FailedNodes"]
    for host in sent:
        found = explain_node(
            prepared, scene.snapshot(), host["Host"], now=NOW, weight=weight
        )
        assert found.priority == host["Score"]
        assert found.added == host["Score"] * 10 * weight
        assert found.refused == refused.get(host["Host"], "")
        assert found.num == sum(steps.points for steps in found.plugins)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_explains_what_the_verbs_send_at_random(seed: int) -> None:
    source = np.random.default_rng(seed)
    scene = Scene(
        receive=np.where(source.random(30) < 0.2, NAN, source.random(30) * 90).tolist(),
        transmit=(source.random(30) * 90).tolist(),
        cpu=source.random(30).tolist(),
    )
    specs = (traffic(3), cpu(2))
    sent = json.loads(
        prioritize(
            args(names(scene)), Call("main", 1, 5), view(*specs, scene=scene)
        ).body
    )
    prepared, snapshot = scene.prepared(*specs), scene.snapshot()
    for host in sent:
        found = explain_node(prepared, snapshot, host["Host"], now=NOW, weight=5)
        assert found.priority == host["Score"]


def test_the_steps_of_one_node() -> None:
    scene = Scene(receive=[10, 30, 50], transmit=[0, 20, 5], age=[5, 80, 5])
    found = explain_node(
        scene.prepared(traffic(2)), scene.snapshot(), "n1", now=NOW + 20
    )
    sample = found.sample
    assert (sample.receive, sample.transmit) == (30, 20)
    assert (sample.receive_share, sample.transmit_share) == pytest.approx((0.3, 0.2))
    assert (sample.seconds, sample.age, sample.quality) == (
        100,
        Age.AGEING,
        Quality.MEASURED,
    )
    (steps,) = found.plugins
    assert (steps.known, steps.score, steps.weight, steps.points) == (True, 50, 2, 100)
    bounds = (steps.load, steps.least, steps.ninth_tenth, steps.most)
    assert bounds == pytest.approx((0.3, 0.1, 0.5, 0.5))
    assert (found.num, found.weight, found.priority, found.added) == (100, 2, 5, 100)
    assert found.candidates == 3


def test_a_node_without_data_counts_as_the_median() -> None:
    scene = Scene(receive=[10, 30, 50, NAN])
    found = explain_node(scene.prepared(traffic()), scene.snapshot(), "n3", now=NOW)
    (steps,) = found.plugins
    assert not steps.known
    assert steps.load == pytest.approx(0.3)
    assert found.sample.age is Age.MISSING


def test_a_cordoned_node_is_explained_as_one_more_candidate() -> None:
    scene = Scene(receive=[10, 30, 50], cordoned=frozenset({2}))
    prepared, snapshot = scene.prepared(traffic()), scene.snapshot()
    assert explain_node(prepared, snapshot, "n0", now=NOW).candidates == 2
    assert explain_node(prepared, snapshot, "n2", now=NOW).candidates == 3


def test_a_policy_without_score_has_no_priority() -> None:
    scene = Scene(receive=[10, 95])
    prepared = scene.prepared(traffic(0, limit=80))
    found = explain_node(prepared, scene.snapshot(), "n1", now=NOW)
    assert found.priority is None
    assert found.refused == "Bandmaster: network use above limit"


def test_no_data_gives_the_neutral_integer() -> None:
    scene = Scene(receive=[NAN, NAN])
    found = explain_node(scene.prepared(traffic(2)), scene.snapshot(), "n0", now=NOW)
    assert not found.answerable
    assert found.priority == 5
    assert all(math.isnan(x) for x in dataclasses.astuple(found.plugins[0])[2:6])


def test_an_unknown_node() -> None:
    scene = Scene(receive=[1])
    with pytest.raises(UnknownNode):
        explain_node(scene.prepared(traffic()), scene.snapshot(), "ghost", now=NOW)
