from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scoring.framework.plugin import Reservations
from scoring.framework.policy import PluginSpec
from scoring.framework.runtime import (
    PreparedPolicy,
    neutral_priority,
    prepare,
    priorities,
)
from scoring.framework.types import Estimate, ExtensionPoint, PodInfo
from scoring.plugins.registry import build
from tests.scoring.scene import NAN, NOW, Scene, cpu, policy, traffic

POD = PodInfo(namespace="default")
SYSTEM_POD = PodInfo(namespace="kube-system")


@pytest.mark.parametrize(
    ("num", "weight", "expected"),
    [
        pytest.param(332, 4, 8, id="weights 3 and 1, scores 94 and 50"),
        pytest.param(188, 4, 5, id="weight 2, score 94, under W 4"),
        pytest.param(100, 4, 3, id="S_p 1 under W 4: 120 points instead of 100"),
        pytest.param(332, 1, 33, id="extended range"),
        pytest.param(188, 1, 19, id="extended range rounds once"),
        pytest.param(0, 5, 0, id="nothing"),
        pytest.param(500, 5, 10, id="everything"),
        pytest.param(25, 5, 1, id="a half rounds up"),
        pytest.param(24, 5, 0, id="under a half rounds down"),
    ],
)
def test_priorities(num: int, weight: int, expected: int) -> None:
    assert priorities(np.array([num]), weight).tolist() == [expected]


@given(st.integers(1, 100), st.lists(st.integers(0, 100), min_size=1, max_size=5))
def test_the_error_is_at_most_5_w_points(weight: int, scores: list[int]) -> None:
    num = sum(scores)
    sent = int(priorities(np.array([num]), weight)[0])
    assert abs(sent * 10 * weight - num) <= 5 * weight


@pytest.mark.parametrize(("weight", "expected"), [(4, 5), (8, 3), (1, 20)])
def test_the_neutral_priority_is_50_from_each_plugin(
    weight: int, expected: int
) -> None:
    rules = policy(traffic(3), cpu(1))
    assert neutral_priority(rules, weight) == expected
    same = priorities(np.array([50 * 3 + 50 * 1]), weight)
    assert same.tolist() == [expected]


def test_points_are_the_weighted_sum_of_the_plugins() -> None:
    scene = Scene(receive=[10, 30, 50], cpu=[0.5, 0.0, 1.0])
    prepared = scene.prepared(traffic(3), cpu(2))
    points = prepared.score_points(scene.rows, POD)
    assert points.tolist() == [3 * 100 + 2 * 50, 3 * 50 + 2 * 100, 0]


def test_a_plugin_that_exempts_the_pod_counts_neutral_for_every_node() -> None:
    scene = Scene(receive=[10, 30, 50], cpu=[0.5, 0.0, 1.0])
    free = {"score": {"namespaces": ["batch"]}}
    prepared = scene.prepared(traffic(3, exempt=free), cpu(1))
    pod = PodInfo(namespace="batch")
    assert not prepared.exempts(pod, ExtensionPoint.SCORE)
    points = prepared.score_points(scene.rows, pod)
    assert points.tolist() == [150 + 50, 150 + 100, 150]


def test_a_plugin_without_data_counts_the_same_for_every_node() -> None:
    scene = Scene(receive=[10, 30], cpu=[NAN, NAN])
    prepared = scene.prepared(traffic(3), cpu(1))
    points = prepared.score_points(scene.rows, POD)
    assert points.tolist() == [350, 50]
    assert prepared.answerable


def test_no_datum_at_all_is_not_answerable() -> None:
    prepared = Scene(receive=[NAN, NAN], cpu=[NAN, NAN]).prepared(traffic(), cpu())
    assert not prepared.answerable
    assert prepared.valid_until == float("inf")


def test_no_snapshot_is_not_answerable() -> None:
    spec = traffic()
    prepared = prepare(policy(spec), ((spec, build(spec)),), None, None, now=NOW)
    assert not prepared.answerable
    assert prepared.scores


@pytest.mark.parametrize(
    ("specs", "scores", "filters"),
    [
        pytest.param([traffic(1)], True, False, id="score"),
        pytest.param([traffic(0, limit=80)], False, True, id="filter"),
        pytest.param(
            [PluginSpec("CPUUsage", filter=True)], False, False, id="inert filter"
        ),
        pytest.param([], False, False, id="none"),
    ],
)
def test_which_verbs_a_policy_answers(
    specs: list[PluginSpec], scores: bool, filters: bool
) -> None:
    prepared = Scene(receive=[1]).prepared(*specs)
    assert (prepared.scores, prepared.filters) == (scores, filters)


def test_valid_until_is_the_moment_the_first_datum_expires() -> None:
    scene = Scene(receive=[10, 20, 30], age=[5, 50, 400])
    prepared = scene.prepared(traffic())
    assert prepared.valid_until == NOW + 250
    before = scene.prepared(traffic(), now=NOW + 249.9)
    assert before.plugins[0].table.known.tolist() == [True, True, False, False]
    after = scene.prepared(traffic(), now=prepared.valid_until)
    assert after.plugins[0].table.known.tolist() == [True, False, False, False]
    assert after.valid_until == NOW + 295


def test_reservations_and_the_estimate_are_part_of_the_load() -> None:
    spec = traffic(limit=80)
    scene = Scene(receive=[10, 10], transmit=[20, 20])
    reserved = Reservations(np.array([0.0, 40.0]), np.zeros(2))
    prepared = prepare(
        policy(spec), ((spec, build(spec)),), scene.snapshot(), reserved, now=NOW
    )
    loads = prepared.plugins[0].table.loads
    rows = scene.rows
    assert loads.at(rows, Estimate()).tolist() == pytest.approx([0.2, 0.5])
    large = Estimate(receive=40, transmit=1)
    assert loads.at(rows, large).tolist() == pytest.approx([0.5, 0.9])
    outcome = prepared.filter(rows, POD, estimate=large)
    assert outcome.passed.tolist() == [True, False]


class TestFilter:
    def test_refuses_above_the_limit_and_says_why(self) -> None:
        scene = Scene(receive=[10, 81, 80], cpu=[0.95, 0.1, 0.1])
        prepared = scene.prepared(traffic(0, limit=80), cpu(0, limit=90))
        outcome = prepared.filter(scene.rows, POD)
        assert outcome.passed.tolist() == [False, False, True]
        assert [outcome.texts[i] for i in outcome.reasons] == [
            "Bandmaster: CPU use above limit",
            "Bandmaster: network use above limit",
            "",
        ]
        assert not outcome.floor_used

    @pytest.mark.parametrize(
        ("args", "passed", "floor_used"),
        [
            pytest.param({}, [0], True, id="by default the least loaded stays"),
            pytest.param({"minPassedNodes": 3}, [0, 2, 4], True, id="nodes"),
            pytest.param({"minPassedPercent": 40}, [0, 2], True, id="percent"),
            pytest.param(
                {"minPassedNodes": 2, "minPassedPercent": 60},
                [0, 2, 4],
                True,
                id="the larger wins",
            ),
            pytest.param(
                {"minPassedNodes": 0, "minPassedPercent": 0}, [], False, id="off"
            ),
            pytest.param({"minPassedNodes": 99}, [0, 1, 2, 3, 4], True, id="beyond"),
        ],
    )
    def test_floor(
        self, args: dict[str, int], passed: list[int], floor_used: bool
    ) -> None:
        scene = Scene(receive=[91, 99, 92, 98, 93])
        prepared = scene.prepared(traffic(0, limit=50, **args))
        outcome = prepared.filter(scene.rows, POD)
        assert np.flatnonzero(outcome.passed).tolist() == passed
        assert outcome.floor_used is floor_used

    def test_a_share_of_candidates_is_rounded_up(self) -> None:
        scene = Scene(receive=[90 + i / 2 for i in range(11)])
        prepared = scene.prepared(traffic(0, limit=50, minPassedPercent=20))
        assert prepared.filter(scene.rows, POD).passed.sum() == 3

    def test_the_floor_counts_the_candidates_of_the_call(self) -> None:
        """Two filters at 40 % of ten leave four, not 40 % of what the first left."""
        scene = Scene(receive=[90.0] * 10, cpu=[0.95] * 10)
        share = {"minPassedNodes": 0, "minPassedPercent": 40}
        prepared = scene.prepared(
            traffic(0, limit=80, **share), cpu(0, limit=90, **share)
        )
        assert prepared.filter(scene.rows, POD).passed.sum() == 4

    def test_two_filters_together_leave_somebody(self) -> None:
        scene = Scene(receive=[10, 90], cpu=[0.99, 0.1])
        prepared = scene.prepared(traffic(0, limit=80), cpu(0, limit=90))
        outcome = prepared.filter(scene.rows, POD)
        assert outcome.passed.tolist() == [True, False]
        assert outcome.floor_used

    def test_without_data_a_node_passes(self) -> None:
        scene = Scene(receive=[10, NAN])
        outcome = scene.prepared(traffic(0, limit=80)).filter(np.arange(3), POD)
        assert outcome.passed.tolist() == [True, True, True]

    @pytest.mark.parametrize(
        ("receive", "passed"),
        [
            pytest.param([10, 10, NAN], [True, True, False], id="most have data"),
            pytest.param([10, NAN], [True, False], id="half have data"),
            pytest.param([10, NAN, NAN], [True, True, True], id="most have none"),
        ],
    )
    def test_reject_missing_while_half_have_data(
        self, receive: list[float], passed: list[bool]
    ) -> None:
        scene = Scene(receive=receive)
        prepared = scene.prepared(traffic(0, limit=80, onMissing="reject"))
        outcome = prepared.filter(scene.rows, POD)
        assert outcome.passed.tolist() == passed
        texts = {outcome.texts[i] for i in outcome.reasons[~outcome.passed]}
        assert texts <= {"Bandmaster: no current network data"}

    def test_the_floor_takes_a_loaded_node_before_one_without_data(self) -> None:
        scene = Scene(receive=[NAN, 99, 98])
        prepared = scene.prepared(traffic(0, limit=80, onMissing="reject"))
        outcome = prepared.filter(scene.rows, POD)
        assert outcome.passed.tolist() == [False, False, True]

    def test_the_nominated_node_passes(self) -> None:
        scene = Scene(receive=[99])
        off = {"minPassedNodes": 0, "minPassedPercent": 0}
        prepared = scene.prepared(traffic(0, limit=80, **off))
        assert not prepared.filter(scene.rows, POD).passed.any()
        assert prepared.filter(scene.rows, POD, nominated=True).passed.all()

    def test_exempt_pods_pass(self) -> None:
        scene = Scene(receive=[99, 10])
        prepared = scene.prepared(traffic(0, limit=80))
        assert prepared.exempts(SYSTEM_POD, ExtensionPoint.FILTER)
        assert prepared.filter(scene.rows, SYSTEM_POD).passed.all()


class TestHysteresis:
    def after(self, *loads: float, **args: float) -> list[bool]:
        """Refused or not after each of these loads of one node, the other idle."""
        before: PreparedPolicy | None = None
        found = []
        for load in loads:
            scene = Scene(receive=[load, 0])
            before = scene.prepared(traffic(0, limit=80, **args), previous=before)
            found.append(not bool(before.filter(scene.rows, POD).passed[0]))
        return found

    @pytest.mark.parametrize(
        ("loads", "refused"),
        [
            pytest.param([79, 81, 79], [False, True, True], id="stays refused"),
            pytest.param([81, 74], [True, False], id="readmitted below"),
            pytest.param([81, 75], [True, True], id="not at 75"),
            pytest.param([81, 74, 79], [True, False, False], id="starts again"),
            pytest.param([81, NAN], [True, False], id="without data it passes"),
        ],
    )
    def test_a_refused_node_comes_back_well_below_the_limit(
        self, loads: list[float], refused: list[bool]
    ) -> None:
        assert self.after(*loads) == refused

    def test_readmit_percent(self) -> None:
        assert self.after(81, 70, readmitPercent=60) == [True, True]
        assert self.after(81, 59, readmitPercent=60) == [True, False]

    def test_goes_by_name_when_the_nodes_change(self) -> None:
        before = Scene(receive=[81, 0], names=["a", "b"]).prepared(traffic(0, limit=80))
        scene = Scene(receive=[0, 0, 78], names=["c", "b", "a"], digest="b")
        after = scene.prepared(traffic(0, limit=80), previous=before)
        passed = after.filter(scene.rows, POD).passed
        assert passed.tolist() == [True, True, False]

    def test_new_arguments_start_afresh(self) -> None:
        before = Scene(receive=[81, 0]).prepared(traffic(0, limit=80))
        scene = Scene(receive=[81, 0])
        after = scene.prepared(traffic(0, limit=85), previous=before)
        assert after.filter(scene.rows, POD).passed.all()


def test_a_prepared_policy_cannot_be_changed() -> None:
    prepared = Scene(receive=[1]).prepared(traffic())
    with pytest.raises(dataclasses.FrozenInstanceError):
        prepared.answerable = False  # type: ignore[misc]
