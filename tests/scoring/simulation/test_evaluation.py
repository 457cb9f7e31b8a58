from __future__ import annotations

import json
import math
import random
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pytest

from scoring.bandwidth import queries
from scoring.simulation import placement
from scoring.simulation.evaluation import evaluate, rate
from scoring.simulation.fleet import build_fleet
from scoring.simulation.promql import PromqlError
from scoring.simulation.scrapes import ScrapeLog
from scoring.simulation.world import World
from tests import servers
from tests.scoring.simulation.worlds import START, world

MADE = world(8, lived=900)
AT = START + 900


def vector(query: str, at: float = AT) -> dict[tuple[tuple[str, str], ...], float]:
    found = evaluate(query, MADE.scrapes, at=at)
    assert isinstance(found, list)
    return {tuple(sorted(one.labels.items())): one.value for one in found}


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        pytest.param([], None, id="none"),
        pytest.param([(90.0, 5.0)], None, id="one"),
        pytest.param([(50.0, 100.0), (95.0, 190.0)], 2.0, id="bridged to both ends"),
        pytest.param(
            [(60.0, 1e3), (75.0, 1030.0), (90.0, 1060.0)],
            2.0 * (30 + 7.5 + 10) / 60,
            id="a wide gap is bridged by half a spacing",
        ),
        pytest.param(
            [(45.0, 1e3), (60.0, 1030.0), (75.0, 10.0), (90.0, 40.0)],
            (70.0 / 45) * (45 + 5 + 10) / 60,
            id="a reset adds what came after it",
        ),
        pytest.param(
            [(50.0, 5.0), (95.0, 185.0)],
            4.0 * (45 + 1.25 + 5) / 60,
            id="not from below zero",
        ),
        pytest.param([(50.0, 7.0), (95.0, 7.0)], 0.0, id="idle"),
    ],
)
def test_rate(samples: list[tuple[float, float]], expected: float | None) -> None:
    got = rate(samples, at=100.0, seconds=60.0)
    assert got == (None if expected is None else pytest.approx(expected))


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("1 + 2 * 3 - 4 / 2", 5.0),
        ("time()", AT),
        ("1 / 0", math.inf),
        ("-1 / 0", -math.inf),
    ],
)
def test_numbers(query: str, value: float) -> None:
    assert evaluate(query, MADE.scrapes, at=AT) == value


def test_a_plain_metric_keeps_its_name_and_a_computed_one_does_not() -> None:
    assert all(dict(key)["__name__"] == "up" for key in vector("up"))
    assert not any("__name__" in dict(key) for key in vector("up + 1"))
    assert all("__name__" in dict(key) for key in vector("node_time_seconds > 5"))


def test_grouping_keeps_only_labels_that_are_there() -> None:
    keys = vector("count by (cluster, device) (node_network_speed_bytes)")
    assert {tuple(dict(key)) for key in keys} == {("device",)}
    assert set(keys.values()) == {len(MADE.nodes)}


def test_ranges_are_open_on_the_left_and_closed_on_the_right() -> None:
    node = MADE.nodes[0]
    moment = max(
        sample[0]
        for series in MADE.scrapes.select("up", AT - 60, AT)
        for sample in series.samples
        if series.labels["instance"] == node.exporter
    )
    query = f'count_over_time(up{{instance="{node.exporter}"}}[15s])'
    assert list(vector(query, moment).values()) == [1.0]
    assert list(vector(query, moment + 14.9).values()) == [1.0]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("up[1m]", "needs a function"),
        ("rate(up)", "needs a range"),
        ("timestamp(up[1m])", "needs a function"),
        ("rate(1)", "takes one metric"),
        ("max(1)", "a vector is needed"),
        ("1 > 2", "not compared"),
        ('{job="x"}', "needs the name of a metric"),
    ],
)
def test_what_cannot_be_evaluated(query: str, sentence: str) -> None:
    with pytest.raises(PromqlError, match=sentence):
        evaluate(query, MADE.scrapes, at=AT)


def test_unknown_metrics_have_no_series() -> None:
    assert vector("no_such_metric") == {}


def test_a_real_prometheus_answers_the_same(tmp_path: Path) -> None:
    now = time.time()
    dice = random.Random(3)
    made = World(build_fleet(6, dice), dice, start=now - 660)
    placement.live_through(made, dice, now)
    at = float(made.now) - 0.5
    asked = {
        **queries.tick_queries('job="node-exporter"', 60),
        "speed": queries.speed_query(""),
        "interval": queries.interval_query(""),
        "uname": queries.uname_query(""),
        "plain": "up",
        "scalar": "1",
    }
    with servers.prometheus(tmp_path, _openmetrics(made.scrapes)) as url:
        for name, query in asked.items():
            ours = _comparable(evaluate(query, made.scrapes, at=at))
            theirs = _ask(url, query, at)
            assert theirs.keys() == ours.keys(), name
            for key, value in theirs.items():
                assert ours[key] == pytest.approx(value, rel=1e-9, abs=1e-6), name


Comparable = dict[tuple[tuple[str, str], ...], float]


def _comparable(value: object) -> Comparable:
    if isinstance(value, float):
        return {(): value}
    assert isinstance(value, list)
    return {tuple(sorted(one.labels.items())): one.value for one in value}


def _ask(url: str, query: str, at: float) -> Comparable:
    form = urllib.parse.urlencode({"query": query, "time": f"{at:.3f}"}).encode()
    with urllib.request.urlopen(f"{url}/api/v1/query", form, timeout=10) as response:
        data = json.load(response)["data"]
    if data["resultType"] == "scalar":
        return {(): float(data["result"][1])}
    return {
        tuple(sorted(one["metric"].items())): float(one["value"][1])
        for one in data["result"]
    }


def _openmetrics(log: ScrapeLog) -> str:
    lines: list[str] = []
    for metric in log.metrics():
        kind = "counter" if metric.endswith("_total") else "gauge"
        lines.append(f"# TYPE {metric.removesuffix('_total')} {kind}")
        for series in log.select(metric, 0.0, math.inf):
            labels = ",".join(
                f'{k}="{v}"' for k, v in series.labels.items() if k != "__name__"
            )
            lines += [
                f"{metric}{{{labels}}} {value!r} {timestamp:.3f}"
                for timestamp, value in series.samples
            ]
    return "\n".join([*lines, "# EOF", ""])
