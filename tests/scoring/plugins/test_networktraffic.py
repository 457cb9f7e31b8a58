from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scoring.framework.plugin import Reservations
from scoring.framework.types import NO_ESTIMATE, Estimate, ExtensionPoint, Quality
from scoring.plugins.args import ArgsError
from scoring.plugins.networktraffic import NetworkTraffic
from tests.scoring.scene import NAN, NOW, Scene


def plugin(**args: Any) -> NetworkTraffic:
    return NetworkTraffic(NetworkTraffic.parse_args(args))


def scores(scene: Scene, now: float = NOW, **args: Any) -> list[int]:
    found = plugin(**args)
    table = found.load_table(scene.facts(now=now))
    return list(found.normalize_score(table.loads.at(scene.rows, NO_ESTIMATE)))


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        pytest.param(
            Scene(receive=[10, 30, 50]), [100, 50, 0], id="the idler the better"
        ),
        pytest.param(
            Scene(receive=[10, 10, 50], transmit=[0, 30, 0]),
            [100, 50, 0],
            id="the busier direction counts",
        ),
        pytest.param(
            Scene(receive=[50, 50], capacity=[100, 1000]),
            [0, 100],
            id="share of capacity, not bytes",
        ),
        pytest.param(Scene(receive=[0, 0, 0]), [100] * 3, id="all idle"),
        pytest.param(
            Scene(receive=[1.0, 1.5, 2.5]), [100] * 3, id="noise under the dead band"
        ),
        pytest.param(
            Scene(receive=[10, NAN, 50, 30]), [100, 50, 0, 50], id="missing: the median"
        ),
        pytest.param(
            Scene(receive=[10, 20, 50, 30], quality=[0, Quality.INVALID, 0, 0]),  # type: ignore[list-item]
            [100, 50, 0, 50],
            id="invalid is missing",
        ),
        pytest.param(
            Scene(receive=[10, -1, 50, 30]), [100, 50, 0, 50], id="negative is missing"
        ),
        pytest.param(
            Scene(receive=[10, 0, 50, 30], age=[5, 301, 5, 5]),
            [100, 50, 0, 50],
            id="expired is missing, never idle",
        ),
        pytest.param(
            Scene(receive=[10, 30, 50], transmit=[NAN, NAN, NAN]),
            [50, 50, 50],
            id="receive alone speaks for nobody",
        ),
        pytest.param(
            Scene(receive=[10, 1, 50, 30], transmit=[0, NAN, 0, 0]),
            [100, 50, 0, 50],
            id="transmit missing is missing, never idle",
        ),
        pytest.param(
            Scene(receive=[10, NAN, 50, 30], transmit=[0, 1, 0, 0]),
            [100, 50, 0, 50],
            id="receive missing is missing, never idle",
        ),
        pytest.param(
            Scene(receive=[10, 1, 50, 30], quality=[0, Quality.PARTIAL, 0, 0]),  # type: ignore[list-item]
            [100, 50, 0, 50],
            id="some devices missing is missing",
        ),
        pytest.param(Scene(receive=[NAN, NAN]), [50, 50], id="no data at all"),
        pytest.param(
            Scene(receive=[500, 1000, 0], capacity=[1000, 1000, 0]),
            [50, 0, 100],
            id="unknown capacity: the fleet's median",
        ),
    ],
)
def test_scores(scene: Scene, expected: list[int]) -> None:
    assert scores(scene) == expected


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        pytest.param({"onMissing": "neutral"}, [100, 50, 0, 50], id="neutral"),
        pytest.param({"onMissing": "worst"}, [100, 0, 0, 50], id="worst"),
        pytest.param({"onMissing": "lastKnown"}, [100, 0, 50, 75], id="lastKnown"),
        pytest.param({"onMissing": "reject"}, [100, 50, 0, 50], id="reject"),
        pytest.param({"maxSampleAge": "10m"}, [100, 0, 50, 75], id="a longer age"),
        pytest.param({"maxSampleAge": 600}, [100, 0, 50, 75], id="age in seconds"),
    ],
)
def test_missing_data(args: dict[str, Any], expected: list[int]) -> None:
    scene = Scene(receive=[10, 90, 50, 30], age=[5, 400, 5, 5])
    assert scores(scene, **args) == expected


def test_last_known_without_any_datum_is_neutral() -> None:
    assert scores(Scene(receive=[10, NAN, 50]), onMissing="lastKnown") == [100, 100, 0]


def test_a_burst_moves_on_as_reservations_fill_the_best_node() -> None:
    """Pod after pod goes to the least loaded node, counting those not measured yet."""
    found = plugin()
    scene = Scene(receive=[5, 10, 20])
    rows, pod = scene.rows, Estimate(receive=10, transmit=1)
    reserved = np.zeros(3)
    chosen = []
    for _ in range(6):
        facts = scene.facts(Reservations(reserved, np.zeros(3)))
        loads = found.load_table(facts).loads.at(rows, pod)
        best = int(np.argmax(found.normalize_score(loads)))
        chosen.append(best)
        reserved = reserved.copy()
        reserved[best] += pod.receive
    assert chosen == [0, 1, 0, 1, 2, 0]


@pytest.mark.parametrize(("receive", "transmit"), [(30.0, 5.0), (0.0, 30.0)])
def test_a_node_without_data_counts_its_reservations_on_top_of_the_median(
    receive: float, transmit: float
) -> None:
    found = plugin()
    scene = Scene(receive=[10, 20, 50, NAN])
    reserved = Reservations(np.array([0, 0, 0, receive]), np.array([0, 0, 0, transmit]))
    table = found.load_table(scene.facts(reserved))
    loads = table.loads.at(scene.rows, NO_ESTIMATE)
    assert found.normalize_score(loads).tolist() == [100, 75, 0, 0]
    assert table.known.tolist() == [True, True, True, False, False]


def test_the_estimate_weighs_by_capacity() -> None:
    found = plugin()
    scene = Scene(receive=[10, 100], capacity=[100, 1000])
    loads = found.load_table(scene.facts()).loads
    assert loads.at(scene.rows, Estimate(10, 0)).tolist() == pytest.approx([0.2, 0.11])


def test_capacity_is_10_gbit_when_no_node_tells_its_own() -> None:
    scene = Scene(receive=[1.25e9, 0], capacity=[0, 0])
    loads = plugin().load_table(scene.facts()).loads
    assert loads.at(scene.rows, NO_ESTIMATE).tolist() == [1.0, 0.0]


def test_the_fleet_median_leaves_cordoned_nodes_out() -> None:
    scene = Scene(
        receive=[50, 50, 50], capacity=[100, 0, 9000], cordoned=frozenset({2})
    )
    loads = plugin().load_table(scene.facts()).loads
    assert loads.at(scene.rows, NO_ESTIMATE)[1] == 0.5


@pytest.mark.parametrize(
    ("args", "problems"),
    [
        pytest.param(
            {"maxUtilizationPercent": 120, "deadBandPercent": "2"},
            ["maxUtilizationPercent", "deadBandPercent"],
            id="all problems at once",
        ),
        pytest.param(
            {"readmitPercent": 70}, ["readmitPercent"], id="readmit without a limit"
        ),
        pytest.param(
            {"maxUtilizationPercent": 70, "readmitPercent": 80},
            ["readmitPercent"],
            id="readmit above the limit",
        ),
        pytest.param({"maxUtilisation": 1}, ["maxUtilisation"], id="unknown"),
    ],
)
def test_bad_arguments(args: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(ArgsError) as caught:
        NetworkTraffic.parse_args(args)
    assert [p.path for p in caught.value.problems] == problems


@pytest.mark.parametrize(
    ("args", "limit", "readmit"),
    [
        pytest.param({"maxUtilizationPercent": 80}, 0.8, 0.75, id="5 under"),
        pytest.param({"maxUtilizationPercent": 3}, 0.03, 0.0, id="not below 0"),
        pytest.param({"maxUtilizationPercent": 0.65}, 0.0065, 0.0, id="fraction"),
    ],
)
def test_filter_rule(args: dict[str, Any], limit: float, readmit: float) -> None:
    rule = plugin(**args).filter_rule()
    assert rule is not None
    assert (rule.limit, rule.readmit) == pytest.approx((limit, readmit))


def test_reasons_hold_nothing_that_changes() -> None:
    rule = plugin(maxUtilizationPercent=80).filter_rule()
    assert rule is not None
    for text in (rule.reason, rule.missing_reason):
        assert text.startswith("Bandmaster: ")
        assert "%" not in text
        assert not any(character.isdigit() for character in text)


def test_no_threshold_no_rule() -> None:
    assert plugin().filter_rule() is None
    assert plugin().points == {ExtensionPoint.FILTER, ExtensionPoint.SCORE}
