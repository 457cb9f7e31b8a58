from __future__ import annotations

from typing import Any

import pytest

from console.kubescheduler.effective import is_own, own_plugins, stock_score_weights

N = "NetworkTraffic"


def points(**sets: dict[str, Any]) -> dict[str, Any]:
    """`score={"on": {"A": 2}, "off": ["*"]}` as a profile."""
    return {
        "plugins": {
            point: {
                "enabled": [
                    {"name": n} if w is None else {"name": n, "weight": w}
                    for n, w in given.get("on", {}).items()
                ],
                "disabled": [{"name": name} for name in given.get("off", [])],
            }
            for point, given in sets.items()
        }
    }


@pytest.mark.parametrize(
    ("profile", "score", "filters"),
    [
        pytest.param(points(score={"on": {N: 3}}), 3, False, id="score"),
        pytest.param(points(score={"on": {N: None}}), 1, False, id="missing is 1"),
        pytest.param(points(score={"on": {N: 0}}), 1, False, id="0 is 1"),
        pytest.param(points(filter={"on": {N: 4}}), None, True, id="filter"),
        pytest.param(points(multiPoint={"on": {N: 2}}), 2, True, id="both points"),
        pytest.param(
            points(multiPoint={"on": {N: 2}}, score={"on": {N: 7}}),
            7,
            True,
            id="the point's weight beats multiPoint's",
        ),
        pytest.param(
            points(multiPoint={"on": {N: 2}}, score={"on": {N: None}}),
            1,
            True,
            id="missing at the point is 1, whatever multiPoint says",
        ),
        pytest.param(
            points(multiPoint={"on": {N: 2}}, score={"off": ["*"]}),
            None,
            True,
            id="star takes it off score",
        ),
        pytest.param(
            points(multiPoint={"on": {N: 2}}, filter={"off": [N]}),
            2,
            False,
            id="its name takes it off filter",
        ),
        pytest.param(
            points(multiPoint={"on": {N: 2}, "off": ["*", N]}),
            2,
            True,
            id="multiPoint.disabled removes defaults only",
        ),
        pytest.param(
            points(score={"on": {N: 5}, "off": ["*", N]}),
            5,
            False,
            id="enabled and disabled is enabled",
        ),
        pytest.param(
            points(multiPoint={"on": {"HelloWorldPlugin": 1}}, score={"off": [N]}),
            1,
            False,
            id="only the points it has",
        ),
    ],
)
def test_own_plugins(profile: dict[str, Any], score: int | None, filters: bool) -> None:
    (plugin,) = own_plugins(profile, is_own)
    assert (plugin.weight if plugin.score else None) == score
    assert plugin.filter is filters


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param({}, id="nothing"),
        pytest.param(points(score={"on": {"ImageLocality": 2}}), id="not ours"),
        pytest.param({"pluginConfig": [{"name": N}]}, id="only configured"),
        pytest.param(
            points(multiPoint={"on": {N: 1}}, score={"off": [N]}, filter={"off": [N]}),
            id="off at both",
        ),
    ],
)
def test_none_of_ours(profile: dict[str, Any]) -> None:
    assert own_plugins(profile, is_own) == ()


@pytest.mark.parametrize(
    ("profile", "total"),
    [
        pytest.param({}, 15, id="defaults"),
        pytest.param(points(score={"on": {N: 5}}), 15, id="ours does not count"),
        pytest.param(points(score={"off": ["*"]}), 0, id="star"),
        pytest.param(points(score={"off": ["TaintToleration"]}), 12, id="one off"),
        pytest.param(points(multiPoint={"off": ["NodeAffinity"]}), 13, id="everywhere"),
        pytest.param(
            points(score={"on": {"ImageLocality": 9}, "off": ["*"]}), 9, id="one on"
        ),
        pytest.param(
            points(multiPoint={"on": {"ImageLocality": 9}}), 23, id="another weight"
        ),
        pytest.param(
            points(multiPoint={"on": {"NodeName": 9}}), 15, id="does not score"
        ),
    ],
)
def test_stock_score_weights(profile: dict[str, Any], total: int) -> None:
    assert sum(stock_score_weights(profile, is_own).values()) == total
