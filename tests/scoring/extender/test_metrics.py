from __future__ import annotations

import numpy as np
import pytest

from scoring.extender.metrics import Metrics, count_nodes
from scoring.extender.state import ExtenderState
from scoring.framework.snapshot import RECEIVE
from scoring.framework.types import Quality
from tests.scoring.extender import material
from tests.scoring.extender.material import NOW


def scraped(state: ExtenderState, now: float = NOW) -> Metrics:
    return Metrics(state, cluster="default", clock=lambda: now)


def test_the_state_is_told_at_the_moment_of_the_scrape() -> None:
    state = ExtenderState()
    state.load(material.facts(of=material.snapshot()), now=NOW)
    text = scraped(state, NOW + 30).text().decode()
    assert 'bandmaster_snapshot_age_seconds{cluster="default"} 30.0' in text
    assert 'bandmaster_neutral{cluster="default"} 0.0' in text
    nodes = 'bandmaster_nodes{age="fresh",cluster="default",quality="measured"} 3.0'
    assert nodes in text


def test_the_kill_switch_is_told_with_nothing_loaded() -> None:
    text = scraped(ExtenderState(neutral_reason="x")).text().decode()
    assert 'bandmaster_neutral{cluster="default"} 1.0' in text
    assert "bandmaster_snapshot_age_seconds{" not in text


def test_calls_are_counted_by_verb_and_outcome() -> None:
    metrics = scraped(ExtenderState())
    metrics.observe("prioritize", "scored", 0.0003)
    metrics.observe("prioritize", "scored", 0.0003)
    metrics.candidates("filter", 500)
    metrics.seen("main", 3)
    metrics.seen("main", 4)
    text = metrics.text().decode()
    name = "bandmaster_extender_request_duration_seconds"
    assert f'{name}_count{{outcome="scored",verb="prioritize"}} 2.0' in text
    assert 'bandmaster_extender_candidates_sum{verb="filter"} 500.0' in text
    assert 'bandmaster_extender_live_revision{configuration="main"} 4.0' in text
    assert metrics.live_revisions() == {"main": 4}


@pytest.mark.parametrize(
    ("passed", "age"),
    [
        pytest.param(0, "fresh", id="new"),
        pytest.param(85, "fresh", id="within the window and two scrapes"),
        pytest.param(86, "ageing", id="older"),
        pytest.param(295, "ageing", id="still usable"),
        pytest.param(296, "expired", id="too old"),
    ],
)
def test_nodes_are_counted_by_age(passed: float, age: str) -> None:
    snapshot = material.snapshot()
    assert count_nodes(snapshot, NOW + passed) == {(age, "measured"): 3}
    assert snapshot.age(0, NOW + passed).value == age


def test_nodes_without_a_sample_are_missing_whatever_their_quality() -> None:
    snapshot = material.snapshot()
    snapshot.columns[RECEIVE][1] = np.nan
    snapshot.quality[1] = Quality.INVALID
    snapshot.quality[2] = Quality.GUESSED
    assert count_nodes(snapshot, NOW) == {
        ("fresh", "measured"): 1,
        ("missing", "invalid"): 1,
        ("fresh", "guessed"): 1,
    }
