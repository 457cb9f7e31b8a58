from __future__ import annotations

from typing import Any

import pytest

from scoring.framework.types import NO_ESTIMATE, ExtensionPoint, Quality
from scoring.plugins.args import ArgsError
from scoring.plugins.helloworld import HelloWorldPlugin
from tests.scoring.scene import NAN, Scene

ARTICLE = {"xxx": "xxx", "yyy": "123", "zzz": 3}


def scores(scene: Scene, **args: Any) -> list[int]:
    plugin = HelloWorldPlugin(HelloWorldPlugin.parse_args(args))
    table = plugin.load_table(scene.facts())
    return list(plugin.normalize_score(table.loads.at(scene.rows, NO_ESTIMATE)))


@pytest.mark.parametrize(
    ("scene", "expected"),
    [
        pytest.param(Scene(receive=[0, 50, 200]), [100, 75, 0], id="the formula"),
        pytest.param(Scene(receive=[1, 3]), [67, 0], id="integers are cut"),
        pytest.param(Scene(receive=[0, 0]), [100, 100], id="highest 0: the maximum"),
        pytest.param(
            Scene(receive=[50, 200], capacity=[10, 1e6], transmit=[9e9, 0]),
            [75, 0],
            id="capacity and transmit do not count",
        ),
        pytest.param(
            Scene(receive=[0.1e6, 110e6]), [100, 0], id="rates, not lifetime counters"
        ),
        pytest.param(
            Scene(receive=[0, NAN, 50, 200]), [100, 75, 75, 0], id="missing: the median"
        ),
        pytest.param(
            Scene(receive=[0, 9, 50, 200], quality=[0, Quality.INVALID, 0, 0]),  # type: ignore[list-item]
            [100, 75, 75, 0],
            id="invalid is missing",
        ),
        pytest.param(Scene(receive=[3e38, 0]), [0, 100], id="no overflow"),
    ],
)
def test_scores(scene: Scene, expected: list[int]) -> None:
    assert scores(scene, **ARTICLE) == expected


def test_arbitrary_arguments_are_kept() -> None:
    assert HelloWorldPlugin.parse_args(ARTICLE).kept == ARTICLE


def test_shared_arguments_are_read_all_the_same() -> None:
    args = HelloWorldPlugin.parse_args({"maxSampleAge": "2m", "xxx": 1})
    assert args.shared.max_sample_age == 120
    with pytest.raises(ArgsError):
        HelloWorldPlugin.parse_args({"onMissing": "perhaps"})


def test_has_no_filter() -> None:
    plugin = HelloWorldPlugin(HelloWorldPlugin.parse_args({}))
    assert plugin.points == {ExtensionPoint.SCORE}
    assert plugin.filter_rule() is None
