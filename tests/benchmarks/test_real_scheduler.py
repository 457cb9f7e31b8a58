"""How the figures of alternating rounds become a ratio."""

from __future__ import annotations

import pytest

from benchmarks import real_scheduler
from benchmarks.real_scheduler import OurExtender, Round
from tools.lab.processes import LabError


def test_overhead_is_taken_within_a_round() -> None:
    # the machine slows down threefold in the second half; the ratio does not move
    slow = [1.0, 1.0, 3.0]
    rounds = [
        Round(arm, (100.0 + extra) * factor, 10.0)
        for factor in slow
        for arm, extra in (("none", 0.0), ("go", 50.0), ("ours", 75.0))
    ]
    rows = real_scheduler._rows(100, "all", rounds)
    assert [row.overhead for row in rows] == [0.0, 50.0, 75.0]
    assert real_scheduler.ratio(rows) == pytest.approx(1.5)
    assert "   1.50   1.8" in real_scheduler.report([rows])
    assert real_scheduler.verdict(rows) == ""


@pytest.mark.parametrize(
    ("go", "ours", "words"),
    [
        pytest.param(50.0, 95.0, "1.90 is over 1.8", id="over the bar"),
        pytest.param(-3.0, 40.0, "drowns in noise", id="no overhead to compare with"),
        pytest.param(2.0, 1.0, "drowns in noise", id="less than a cycle's noise"),
    ],
)
def test_a_bar_is_missed_by_too_much_and_by_noise(
    go: float, ours: float, words: str
) -> None:
    rounds = [
        Round(arm, 100.0 + extra, 10.0)
        for arm, extra in (("none", 0.0), ("go", go), ("ours", ours))
    ]
    assert words in real_scheduler.verdict(real_scheduler._rows(100, "all", rounds))


@pytest.mark.parametrize(
    ("metrics", "accepted"),
    [
        pytest.param('{outcome="scored",verb="prioritize"} 100.0', True, id="all"),
        pytest.param('{outcome="scored",verb="prioritize"} 50.0', False, id="half"),
        pytest.param('{outcome="no_data",verb="prioritize"} 100.0', False, id="none"),
    ],
)
def test_neutral_or_late_answers_are_not_counted_as_fast(
    monkeypatch: pytest.MonkeyPatch, metrics: str, *, accepted: bool
) -> None:
    name = "bandmaster_extender_request_duration_seconds_count"
    text = f"# HELP x\n{name}{metrics}\n"
    monkeypatch.setattr(real_scheduler, "_get", lambda *_: (200, text))
    ours = OurExtender(1, "")
    if accepted:
        ours.require_scored(100)
        return
    with pytest.raises(LabError, match="not comparable"):
        ours.require_scored(100)
