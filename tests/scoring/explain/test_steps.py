from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.explain.ranking import Ranking
from scoring.explain.steps import Explanation, explain
from scoring.extender.types import Call
from scoring.extender.verbs import filter_, prioritize
from scoring.framework.policy import PluginSpec
from scoring.framework.types import Age, Quality
from tests.scoring.extender.test_verbs import args, view
from tests.scoring.scene import NAN, NOW, Scene, cpu, policy, traffic

CLASSIC = PluginSpec("HelloWorldPlugin", score=True, weight=1)


def names(scene: Scene) -> list[str]:
    return [row.name for row in scene.snapshot().table.rows if row.eligible]


def explained(
    scene: Scene,
    *specs: PluginSpec,
    node: str,
    now: float = NOW,
    weight: int | None = None,
    neutral: bool = False,
    before: Scene | None = None,
) -> Explanation:
    """`before`: the scene of the tick before, for the hysteresis of filters."""
    previous = before.prepared(*specs) if before else None
    prepared, snapshot = scene.prepared(*specs, previous=previous), scene.snapshot()
    ranking = Ranking(policy(*specs), prepared, snapshot, now, neutral)
    return explain(ranking, snapshot.table.index[node], weight=weight)


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
    state, body = view(*specs, scene=scene), args(names(scene))
    call = Call("main", 1, weight)
    sent = json.loads(prioritize(body, call, state).body)
    refused = json.loads(filter_(body, call, state).body)["FailedNodes"]
    for host in sent:
        found = explained(scene, *specs, node=host["Host"], weight=weight)
        assert found.priority == host["Score"]
        assert found.added == host["Score"] * 10 * weight
        assert found.verdict.refused == refused.get(host["Host"], "")
        assert found.num == sum(part.points for part in found.parts)
        assert all(part.steps for part in found.parts)


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
    for host in sent:
        found = explained(scene, *specs, node=host["Host"], weight=5)
        assert found.priority == host["Score"]


def test_the_steps_of_one_node() -> None:
    scene = Scene(receive=[10, 30, 50], transmit=[0, 20, 5], age=[5, 80, 5])
    found = explained(scene, traffic(2), node="n1", now=NOW + 20)
    row = found.row
    assert (row.receive, row.transmit) == (30, 20)
    assert (row.receive_share, row.transmit_share) == pytest.approx((0.3, 0.2))
    assert (row.sample_age, row.age, row.quality) == (100, Age.AGEING, "measured")
    (part,) = found.parts
    assert (part.known, part.score, part.weight, part.points) == (True, 50, 2, 100)
    bounds = (part.load, part.least, part.ninth_tenth, part.most)
    assert bounds == pytest.approx((0.3, 0.1, 0.5, 0.5))
    assert (found.num, found.weight, found.priority, found.added) == (100, 2, 5, 100)
    assert found.candidates == 3


def test_a_node_without_data_counts_as_the_median() -> None:
    scene = Scene(receive=[10, 30, 50, NAN])
    found = explained(scene, traffic(), node="n3")
    (part,) = found.parts
    assert not part.known
    assert part.load == pytest.approx(0.3)
    assert "median of the candidates with data, 30.0 %" in part.steps[0]
    assert found.row.age == Age.MISSING


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(traffic(1, onMissing="worst"), id="network"),
        pytest.param(cpu(1, onMissing="worst"), id="cpu"),
        pytest.param(
            PluginSpec("HelloWorldPlugin", True, False, 1, {"onMissing": "worst"}),
            id="classic",
        ),
    ],
)
def test_missing_as_the_worst_says_so(spec: PluginSpec) -> None:
    scene = Scene(receive=[10, 10, NAN], cpu=[0.1, 0.1, NAN])
    (part,) = explained(scene, spec, node="n2").parts
    assert part.score == 0
    assert part.steps == ("No current data of its own: it counts as the worst, 0.",)


@pytest.mark.parametrize(
    "scene",
    [
        pytest.param(
            Scene(
                receive=[10, 1, 50, 30],
                transmit=[0, NAN, 0, 0],
                quality=[Quality(0), Quality.PARTIAL, Quality(0), Quality(0)],
            ),
            id="one direction",
        ),
        pytest.param(
            Scene(
                receive=[10, 1, 50, 30],
                quality=[Quality(0), Quality.PARTIAL, Quality(0), Quality(0)],
            ),
            id="some devices",
        ),
    ],
)
def test_a_part_of_the_traffic_is_no_datum_and_says_so(scene: Scene) -> None:
    found = explained(scene, traffic(), node="n1")
    (part,) = found.parts
    assert (part.known, part.score) == (False, 50)
    assert part.steps[0].startswith("Only a part of its traffic is known")
    assert math.isnan(found.row.use)


def test_a_cordoned_node_is_explained_as_one_more_candidate() -> None:
    scene = Scene(receive=[10, 30, 50], cordoned=frozenset({2}))
    assert explained(scene, traffic(), node="n0").candidates == 2
    assert explained(scene, traffic(), node="n2").candidates == 3


def test_a_policy_without_score_has_no_priority() -> None:
    scene = Scene(receive=[10, 95])
    found = explained(scene, traffic(0, limit=80), node="n1")
    assert found.priority is None
    assert found.verdict.refused == "Bandmaster: network use above limit"


def test_no_data_gives_the_neutral_integer() -> None:
    found = explained(Scene(receive=[NAN, NAN]), traffic(2), node="n0")
    assert not found.answerable
    assert found.priority == 5
    (part,) = found.parts
    bounds = (part.load, part.least, part.ninth_tenth, part.most)
    assert all(math.isnan(x) for x in bounds)
    assert part.steps == ("No candidate has current data.",)


def test_the_kill_switch_gives_the_neutral_integer_and_refuses_nobody() -> None:
    scene = Scene(receive=[10, 30, 95])
    found = explained(scene, traffic(2, limit=80), node="n2", neutral=True)
    assert (found.num, found.priority) == (0, 5)
    assert (found.verdict.asked, found.verdict.refused) == (False, "")


NO_FLOOR = {"minPassedPercent": 0, "minPassedNodes": 0}


@pytest.mark.parametrize(
    ("load", "before", "args", "refused", "told"),
    [
        pytest.param(30, 30, {}, False, "30.0 % is under the limit of 80.0 %", id="in"),
        pytest.param(85, 30, {}, True, "85.0 % is above the limit of 80.0 %", id="out"),
        pytest.param(
            *(77, 85, {}, True),
            "77.0 % is not above the limit of 80.0 %, but it was before: it comes back "
            "below 75.0 %",
            id="hysteresis",
        ),
        pytest.param(
            *(77, 30, {}, False, "had it been, it would come back below 75.0 %"),
            id="inside the hysteresis, not refused before",
        ),
        pytest.param(
            *(85, 30, {"minPassedNodes": 3}, False, "too few candidates would be left"),
            id="floor",
        ),
        pytest.param(
            *(NAN, 30, {}, False, "no current data; that is no reason to refuse"),
            id="missing",
        ),
        pytest.param(
            *(NAN, 30, {"onMissing": "reject"}, True, "no current data, which is"),
            id="missing, rejected",
        ),
    ],
)
def test_what_the_filter_says(
    load: float, before: float, args: dict[str, object], refused: bool, told: str
) -> None:
    spec = traffic(1, limit=80, **(NO_FLOOR | args))
    earlier = Scene(receive=[10, 20, before])
    found = explained(Scene(receive=[10, 20, load]), spec, node="n2", before=earlier)
    assert bool(found.verdict.refused) is refused
    (step,) = found.verdict.steps
    assert step.startswith("NetworkTraffic: ")
    assert told in step
