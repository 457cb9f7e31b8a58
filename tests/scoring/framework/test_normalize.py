from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from scoring.framework.normalize import (
    classic,
    fill_unknown,
    least_used,
    percentile_rank,
    stretch,
)

GONE = -1.0  # no datum


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        pytest.param([0.1, 0.3, 0.5], [100, 50, 0], id="least load best, p90 worst"),
        pytest.param([0.5, 0.5, 0.5], [100, 100, 100], id="all equal: all the maximum"),
        pytest.param([0.0, 0.0], [100, 100], id="all idle"),
        pytest.param([0.4], [100], id="one candidate"),
        pytest.param([], [], id="no candidate"),
        pytest.param(
            [0.1] * 5 + [0.2] * 4 + [9.0],
            [100] * 5 + [0] * 4 + [0],
            id="one elephant does not squeeze the others",
        ),
        pytest.param([0.5, 0.5 + 5e-10], [100, 100], id="rounding drift is no spread"),
        pytest.param([0.0, 0.008, 1.6], [100, 100, 0], id="a half rounds up: 99.5"),
        pytest.param(
            [0.1, 0.3, 0.5, GONE],
            [100, 50, 0, 50],
            id="no data: the median of the rest",
        ),
        pytest.param(
            [0.1, 0.3, GONE], [100, 0, 100], id="an even number: the lower median"
        ),
        pytest.param([GONE, GONE], [50, 50], id="nobody has data: all neutral"),
        pytest.param(
            [0.1, 0.3, 0.5, -1.1],
            [100, 50, 0, 25],
            id="no data: the median plus what is reserved there",
        ),
    ],
)
def test_stretch(loads: Sequence[float], expected: list[int]) -> None:
    found = stretch(np.array(loads, np.float64), 0.0, missing_is_worst=False)
    assert found.tolist() == expected
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        pytest.param([0.010, 0.029], [100, 100], id="under the band"),
        pytest.param([0.010, 0.031], [100, 0], id="over the band"),
        pytest.param([0.0, 0.02], [100, 0], id="exactly the band"),
        pytest.param([0.01, 0.02, GONE], [100, 100, 100], id="without data too"),
    ],
)
def test_a_spread_under_the_dead_band_is_noise(
    loads: list[float], expected: list[int]
) -> None:
    found = stretch(np.array(loads), 0.02, missing_is_worst=False)
    assert found.tolist() == expected


def test_nodes_without_data_do_not_change_the_others() -> None:
    loads = np.array([0.1, 0.2, 0.5, 0.7])
    alone = stretch(loads, 0.0, missing_is_worst=False)
    mixed = stretch(np.append(loads, [GONE] * 20), 0.0, missing_is_worst=False)
    assert mixed[:4].tolist() == alone.tolist()


@pytest.mark.parametrize("normalize", [classic, least_used])
def test_worst_gives_zero_to_nodes_without_data(normalize) -> None:  # type: ignore[no-untyped-def]
    loads = np.array([0.2, GONE, 0.4])
    assert normalize(loads, missing_is_worst=True)[1] == 0
    assert stretch(loads, 0.0, missing_is_worst=True).tolist() == [100, 0, 0]


@pytest.mark.parametrize("normalize", [classic, least_used])
def test_worst_means_nothing_when_nobody_has_data(normalize) -> None:  # type: ignore[no-untyped-def]
    loads = np.array([GONE, GONE])
    assert normalize(loads, missing_is_worst=True).tolist() == [50, 50]
    assert stretch(loads, 0.0, missing_is_worst=True).tolist() == [50, 50]


@pytest.mark.parametrize(
    ("count", "rank"),
    [(1, 0), (2, 1), (9, 8), (10, 8), (11, 9), (100, 89), (101, 90)],
)
def test_the_90th_percentile_is_the_nearest_rank(count: int, rank: int) -> None:
    assert percentile_rank(count) == rank


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        pytest.param([0.0, 0.5, 1.0], [100, 50, 0], id="idle, half, full"),
        pytest.param([0.995, 0.994], [1, 1], id="a half rounds up"),
        pytest.param([1.7], [0], id="over full is still 0"),
        pytest.param([0.2, 0.6, GONE], [80, 40, 80], id="no data: the lower median"),
        pytest.param([], [], id="no candidate"),
    ],
)
def test_least_used(loads: list[float], expected: list[int]) -> None:
    found = least_used(np.array(loads, np.float64), missing_is_worst=False)
    assert found.tolist() == expected


@pytest.mark.parametrize(
    ("loads", "expected"),
    [
        pytest.param([0.0, 50.0, 200.0], [100, 75, 0], id="the article's example"),
        pytest.param([0.0, 0.0], [100, 100], id="nobody has traffic: no division by 0"),
        pytest.param([0.9, 0.2], [100, 100], id="under one byte is zero bytes"),
        pytest.param([1.0, 3.0], [67, 0], id="cut after the division, as Go does"),
        pytest.param([2.0, 3.0], [34, 0], id="100 - 66, not 33.3"),
        pytest.param([10.0, 100.0, GONE], [90, 0, 90], id="no data: the lower median"),
        pytest.param([1.0, 1e30], [100, 0], id="far beyond an int64"),
        pytest.param([3e38, 3e38], [0, 0], id="beyond what is exact"),
        pytest.param([], [], id="no candidate"),
    ],
)
def test_classic(loads: list[float], expected: list[int]) -> None:
    found = classic(np.array(loads, np.float64), missing_is_worst=False)
    assert found.tolist() == expected


def test_fill_unknown_shows_what_a_node_counts_as() -> None:
    assert fill_unknown(np.array([0.1, 0.3, GONE])).tolist() == [0.1, 0.3, 0.1]
    assert np.isnan(fill_unknown(np.array([GONE]))).all()
