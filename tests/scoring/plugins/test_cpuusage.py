from __future__ import annotations

from typing import Any

import pytest

from scoring.framework.types import NO_ESTIMATE
from scoring.plugins.args import ArgsError
from scoring.plugins.cpuusage import CPUUsage
from tests.scoring.scene import NAN, Scene


def plugin(**args: Any) -> CPUUsage:
    return CPUUsage(CPUUsage.parse_args(args))


@pytest.mark.parametrize(
    ("busy", "age", "args", "expected"),
    [
        pytest.param([0.0, 0.25, 1.0], None, {}, [100, 75, 0], id="least used best"),
        pytest.param([0.2, NAN, 0.6], None, {}, [80, 80, 40], id="missing: the median"),
        pytest.param(
            [0.2, NAN, 0.6], None, {"onMissing": "worst"}, [80, 0, 40], id="worst"
        ),
        pytest.param([0.2, 0.0, 0.6], [5, 999, 5], {}, [80, 80, 40], id="expired"),
        pytest.param([NAN, NAN, NAN], None, {}, [50, 50, 50], id="no data at all"),
    ],
)
def test_scores(
    busy: list[float],
    age: list[float] | None,
    args: dict[str, Any],
    expected: list[int],
) -> None:
    scene = Scene(receive=[NAN] * len(busy), cpu=busy, age=age)
    found = plugin(**args)
    loads = found.load_table(scene.facts()).loads.at(scene.rows, NO_ESTIMATE)
    assert found.normalize_score(loads).tolist() == expected


def test_threshold() -> None:
    rule = plugin(thresholdPercent=90).filter_rule()
    assert rule is not None
    assert (rule.limit, rule.readmit) == (0.9, 0.85)
    assert plugin().filter_rule() is None


@pytest.mark.parametrize(
    ("args", "hint"),
    [
        pytest.param({"thresholdPercent": -1}, "", id="out of range"),
        pytest.param({"threshold": 90}, "Did you mean thresholdPercent?", id="unknown"),
    ],
)
def test_bad_arguments(args: dict[str, Any], hint: str) -> None:
    with pytest.raises(ArgsError) as caught:
        CPUUsage.parse_args(args)
    (problem,) = caught.value.problems
    assert hint in problem.hint
