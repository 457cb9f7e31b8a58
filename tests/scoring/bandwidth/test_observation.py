from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scoring.bandwidth.observation import Answers, Observation, observe
from scoring.bandwidth.series import Series
from scoring.framework.snapshot import (
    CPU,
    RECEIVE,
    SAMPLE_AGE,
    TRANSMIT,
    NodeRow,
    NodeTable,
    Snapshot,
)
from scoring.framework.types import Quality

NOW = 1_000_000.0
NAN = float("nan")
NODES = (NodeRow("a"), NodeRow("b"))


def series(node: str, value: float, device: str = "eth0", **labels: str) -> Series:
    return Series({"node": node, "device": device, **labels}, value, NOW)


def answers(**parts: Any) -> Answers:
    both = (series("a", 1e6), series("b", 2e6))
    known: dict[str, Any] = {
        "at": NOW,
        "window": 60.0,
        "receive": both,
        "transmit": both,
        "age": (series("a", 5.0), series("b", 6.0)),
        "cpu": (series("a", 0.5), series("b", 0.25)),
        "speeds": (series("a", 1.25e9), series("b", 1.25e9)),
    }
    return Answers(**{**known, **parts})


def stored(seen: Observation, at: float = NOW) -> Snapshot:
    """What the next tick finds as the previous snapshot."""
    return Snapshot(
        version=1,
        cluster="default",
        collected_at=at,
        window=60.0,
        scrape_interval=15.0,
        table=NodeTable.build(seen.rows, "digest"),
        columns={
            RECEIVE: seen.measures.receive,
            TRANSMIT: seen.measures.transmit,
            CPU: seen.measures.cpu,
            SAMPLE_AGE: seen.measures.sample_age,
        },
        quality=seen.measures.quality,
    )


def receive(seen: Observation) -> list[float]:
    return [float(value) for value in seen.measures.receive]


def test_every_node_gets_what_was_measured() -> None:
    seen = observe(answers(), NODES, None)
    assert receive(seen) == [1e6, 2e6]
    assert seen.measures.cpu.tolist() == [0.5, 0.25]
    assert seen.measures.sample_age.tolist() == [5.0, 6.0]
    assert seen.measures.quality.tolist() == [Quality.MEASURED] * 2
    assert seen.with_data == 2
    assert seen.warnings == ()
    row = seen.rows[0]
    assert (row.receive_capacity, row.capacity_origin) == (1.25e9, "link speed")
    assert (row.mapping_rule, row.devices, row.cause) == ("node label", ("eth0",), "")


def test_no_data_is_never_idle() -> None:
    seen = observe(
        answers(receive=(series("a", 1e6),), age=(series("a", 5.0),)), NODES, None
    )
    assert np.isnan(seen.measures.receive[1])
    assert seen.rows[1].cause == "no series names this node"
    assert seen.measures.quality[1] == Quality.INVALID
    assert seen.with_data == 1


def test_a_single_sample_in_the_window_is_missing_and_says_so() -> None:
    seen = observe(answers(receive=(series("a", 1e6),)), NODES, None)
    assert np.isnan(seen.measures.receive[1])
    assert "fewer than two samples" in seen.rows[1].cause


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param([("eth0", NAN), ("eth0", 1e6)], 1e6, id="a later good value"),
        pytest.param([("eth0", 1e6), ("eth1", 2e6)], 3e6, id="K18 links add up"),
        pytest.param(
            [("eth0", 1e6), ("bond0", 1e6), ("veth1", 9e6), ("eth0.100", 1e6)],
            1e6,
            id="K18 what repeats bytes is left out",
        ),
        pytest.param([("eth0", 1e6), ("eth1", NAN)], 1e6, id="one link is unknown"),
        pytest.param([("eth0", 0.0)], 0.0, id="K10 zero is known"),
        pytest.param([("eth0", NAN)], NAN, id="K12 not a number"),
        pytest.param([("bond0", 1e6)], NAN, id="only what is left out"),
    ],
)
def test_devices_of_a_node(parts: list[tuple[str, float]], expected: float) -> None:
    rates = tuple(series("a", rate, device) for device, rate in parts)
    seen = observe(answers(receive=rates), NODES, None)
    assert receive(seen)[0] == pytest.approx(expected, nan_ok=True)


def test_capacities_of_a_node_s_links_add_up() -> None:
    speeds = (
        *(series("a", 1.25e9), series("a", 2.5e9, "eth1"), series("a", 9e9, "br0")),
        *(series("b", -125000.0), series("", 9e9, instance="stranger")),
    )
    seen = observe(answers(speeds=speeds), NODES, None)
    assert [row.receive_capacity for row in seen.rows] == [3.75e9, 3.75e9]
    assert [r.capacity_origin for r in seen.rows] == ["link speed", "fleet median"]


def test_two_exporters_of_one_node_are_counted_once() -> None:
    twice = (series("a", 1e6, job="x"), series("a", 1.5e6, instance="a:9100"))
    seen = observe(answers(receive=twice), NODES, None)
    assert receive(seen)[0] == 1.5e6


@pytest.mark.parametrize(
    ("parts", "quality"),
    [
        pytest.param({}, Quality.MEASURED, id="all there"),
        pytest.param({"transmit": ()}, Quality.PARTIAL, id="one direction missing"),
        pytest.param(
            {"receive": (series("a", 1e6), series("a", NAN, "eth1"))},
            Quality.PARTIAL,
            id="one device unusable",
        ),
        pytest.param(
            {"receive": (series("a", NAN),)}, Quality.INVALID, id="all unusable"
        ),
        pytest.param(
            {"receive": (series("a", 1.5e9),)}, Quality.INVALID, id="counter glitch"
        ),
        pytest.param(
            {"transmit": (series("a", 1.5e9),)},
            Quality.INVALID,
            id="counter glitch the other way",
        ),
        pytest.param(
            {"receive": (series("a", 1.3e9),)}, Quality.MEASURED, id="just believable"
        ),
    ],
)
def test_quality(parts: dict[str, Any], quality: Quality) -> None:
    assert observe(answers(**parts), NODES, None).measures.quality[0] == quality


def test_a_short_name_is_a_guess() -> None:
    nodes = (NodeRow("a.one"),)
    labels = {"instance": "a.two:9100", "device": "eth0"}
    one = (Series(labels, 1e6, NOW),)
    parts = {"receive": one, "transmit": one, "age": one, "cpu": (), "speeds": ()}
    seen = observe(answers(**parts), nodes, None)
    assert seen.measures.quality[0] == Quality.GUESSED


def test_a_cpu_share_just_below_zero_is_zero() -> None:
    seen = observe(answers(cpu=(series("a", -1e-9),)), NODES, None)
    assert seen.measures.cpu[0] == 0.0
    assert np.isnan(seen.measures.cpu[1])


class TestLastGood:
    """A node whose exporter fell silent keeps its values, with their true age."""

    before = stored(observe(answers(), NODES, None))

    def after(self, seconds: float, **parts: Any) -> Observation:
        later = replace(answers(**parts), at=NOW + seconds)
        return observe(later, NODES, self.before)

    def test_a_rate_that_fades_without_a_new_sample_is_not_believed(self) -> None:
        seen = self.after(
            15,
            receive=(series("a", 0.3e6), series("b", 3e6)),
            age=(series("a", 20.0), series("b", 6.0)),
        )
        assert receive(seen) == [1e6, 3e6]
        assert seen.measures.sample_age.tolist() == [20.0, 6.0]

    def test_a_series_that_vanished_keeps_its_last_value(self) -> None:
        seen = self.after(
            30, receive=(series("b", 3e6),), age=(series("b", 6.0),), transmit=()
        )
        assert receive(seen) == [1e6, 3e6]
        assert seen.measures.sample_age[0] == 35.0
        assert "no newer good sample" in seen.rows[0].cause
        assert seen.with_data == 2

    def test_a_glitch_keeps_the_last_value(self) -> None:
        seen = self.after(15, receive=(series("a", 4e10), series("b", 3e6)))
        assert receive(seen) == [1e6, 3e6]
        assert seen.measures.sample_age[0] == 20.0

    def test_an_expired_value_no_longer_counts_as_data(self) -> None:
        seen = self.after(400, receive=(series("b", 3e6),), age=(series("b", 6.0),))
        assert receive(seen) == [1e6, 3e6]
        assert seen.measures.sample_age[0] == 405.0
        assert seen.with_data == 1

    def test_a_value_is_forgotten_in_the_end(self) -> None:
        seen = self.after(4000, receive=(series("b", 3e6),), age=(series("b", 6.0),))
        assert np.isnan(seen.measures.receive[0])

    def test_a_new_sample_is_taken(self) -> None:
        seen = self.after(15, receive=(series("a", 7e6), series("b", 3e6)))
        assert receive(seen) == [7e6, 3e6]

    def test_a_new_node_inherits_nothing(self) -> None:
        seen = observe(
            replace(answers(receive=(), transmit=(), age=()), at=NOW + 15),
            (NodeRow("new"), NodeRow("b")),
            self.before,
        )
        assert np.isnan(seen.measures.receive[0])
        assert receive(seen)[1] == 2e6

    def test_capacities_stay_while_speeds_are_not_known(self) -> None:
        seen = self.after(15, speeds=None)
        assert seen.rows[0].capacity_origin == "link speed"

    def test_many_nodes_without_data_at_once_are_a_warning(self) -> None:
        seen = self.after(15, receive=(series("b", 3e6),), age=(series("b", 6.0),))
        assert seen.warnings == (
            "nodes with data fell from 2 to 1 since the last tick",
        )


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        pytest.param(
            {"receive": (series("a", 1e6), series("", 1e6, instance="10.9.9.9:9100"))},
            "1 exporters belong to no node of the cluster, such as 10.9.9.9:9100",
            id="strangers",
        ),
        pytest.param(
            {"receive": (series("a", 1e6, cluster="x"), series("b", 1e6, cluster="y"))},
            "series of several clusters match",
            id="clusters",
        ),
        pytest.param(
            {
                "receive": (
                    series("a", 1e6, instance="x:1"),
                    series("a", 1e6, instance="y:1"),
                )
            },
            "1 nodes have more than one exporter, such as a",
            id="K05 two exporters",
        ),
        pytest.param(
            {"scrape_interval": 30.0}, "fewer than 3 scrapes of 30 s", id="window"
        ),
    ],
)
def test_warnings(parts: dict[str, Any], expected: str) -> None:
    [*_, warning] = [
        text
        for text in observe(answers(**parts), NODES, None).warnings
        if expected in text
    ]
    assert warning


def test_addresses_claimed_twice_are_a_warning() -> None:
    nodes = (
        NodeRow("a", addresses=("10.0.0.1",)),
        NodeRow("b", addresses=("10.0.0.1",)),
    )
    assert "two nodes claim 10.0.0.1" in observe(answers(), nodes, None).warnings[0]


def test_an_empty_cluster_is_no_error() -> None:
    seen = observe(answers(), (), None)
    assert (seen.rows, seen.with_data) == ((), 0)


@pytest.mark.parametrize("part", ["receive", "transmit", "age", "cpu", "speeds"])
@pytest.mark.parametrize("value", [1e308, 3.5e38, 5e-324, -1e308])
def test_no_number_is_too_odd(part: str, value: float) -> None:
    seen = observe(answers(**{part: (series("a", value),)}), NODES, None)
    columns = (seen.measures.receive, seen.measures.transmit)
    for column in (*columns, seen.measures.cpu, seen.measures.sample_age):
        assert not np.isinf(column).any()
    if part in {"receive", "transmit"} and value > 1:
        assert np.isnan(seen.measures.receive[0])
