from __future__ import annotations

import pytest

from scoring.bandwidth import identity
from scoring.bandwidth.identity import host_of, identify, key_of
from scoring.framework.snapshot import NodeRow

ROWS = (
    NodeRow("worker-1", addresses=("10.0.0.5", "worker-1")),
    NodeRow("worker-2", addresses=("fd00::5", "Worker-2.internal")),
    NodeRow("ip-10-0-0-7.ec2.internal", addresses=("10.0.0.7",)),
    NodeRow("10.0.0.9", addresses=("10.0.0.9",)),
)


def matched(
    labels: dict[str, str], unames: dict[tuple[str, str], str] | None = None
) -> tuple[str, str]:
    """(node name, rule) of one series; empty for none."""
    key = key_of(labels)
    match = identify([key], ROWS, unames).matches[key]
    return (ROWS[match.row].name if match.row >= 0 else "", match.rule)


@pytest.mark.parametrize(
    ("labels", "node", "rule"),
    [
        pytest.param({"node": "worker-1"}, "worker-1", identity.BY_LABEL, id="node"),
        pytest.param(
            {"kubernetes_node": "worker-1", "instance": "10.9.9.9:9100"},
            "worker-1",
            identity.BY_LABEL,
            id="kubernetes_node",
        ),
        pytest.param(
            {"nodename": "WORKER-1"}, "worker-1", identity.BY_LABEL, id="upper case"
        ),
        pytest.param(
            {"node": "worker-1", "instance": "worker-2"},
            "worker-1",
            identity.BY_LABEL,
            id="a node label goes before the instance",
        ),
        pytest.param(
            {"node": "stranger", "instance": "worker-2"},
            "worker-2",
            identity.BY_INSTANCE,
            id="an unknown node label falls through",
        ),
        pytest.param(
            {"instance": "worker-1"}, "worker-1", identity.BY_INSTANCE, id="instance"
        ),
        pytest.param(
            {"instance": "worker-1:9100"},
            "worker-1",
            identity.BY_HOST_NAME,
            id="K02 name:port",
        ),
        pytest.param(
            {"instance": "worker-1:metrics"},
            "worker-1",
            identity.BY_HOST_NAME,
            id="name:port name",
        ),
        pytest.param(
            {"instance": "10.0.0.5:9100"},
            "worker-1",
            identity.BY_ADDRESS,
            id="K01 v4:port",
        ),
        pytest.param(
            {"instance": "[fd00::5]:9100"},
            "worker-2",
            identity.BY_ADDRESS,
            id="K03 [v6]:port",
        ),
        pytest.param(
            {"instance": "[fd00:0:0:0::5]:9100"},
            "worker-2",
            identity.BY_ADDRESS,
            id="v6 in another spelling",
        ),
        pytest.param(
            {"instance": "fd00::5"}, "worker-2", identity.BY_ADDRESS, id="bare v6"
        ),
        pytest.param(
            {"instance": "worker-2.INTERNAL:9100"},
            "worker-2",
            identity.BY_ADDRESS,
            id="host name in the addresses",
        ),
        pytest.param(
            {"instance": "10.0.0.9:9100"},
            "10.0.0.9",
            identity.BY_HOST_NAME,
            id="a node whose name is its address",
        ),
        pytest.param(
            {"instance": "ip-10-0-0-7.compute.internal:9100"},
            "ip-10-0-0-7.ec2.internal",
            identity.BY_SHORT_NAME,
            id="short name",
        ),
        pytest.param({"instance": "10.0.0.50:9100"}, "", "", id="no prefix matches"),
        pytest.param({"instance": "10a0b0c5:9100"}, "", "", id="a dot is a dot"),
        pytest.param({"instance": "10.1.2.3:9100"}, "", "", id="10 is no short name"),
        pytest.param({}, "", "", id="no label at all"),
    ],
)
def test_a_series_finds_its_node_by_the_first_rule_that_fits(
    labels: dict[str, str], node: str, rule: str
) -> None:
    assert matched(labels) == (node, rule)


def test_the_exporter_s_own_host_name_is_the_fifth_rule() -> None:
    labels = {"instance": "192.168.0.1:9100", "cluster": "a"}
    unames = {("a", "192.168.0.1:9100"): "Worker-1", ("b", "192.168.0.1:9100"): "x"}
    assert matched(labels, unames) == ("worker-1", identity.BY_UNAME)
    assert matched({**labels, "cluster": "b"}, unames) == ("", "")


def test_what_two_nodes_claim_identifies_neither() -> None:
    rows = (
        NodeRow("old", addresses=("10.0.0.5",)),
        NodeRow("new", addresses=("10.0.0.5",)),
    )
    shared, own = key_of({"instance": "10.0.0.5:9100"}), key_of({"node": "new"})
    found = identify([shared, own], rows)
    assert found.matches[shared].row == identity.UNMATCHED
    assert found.matches[own].row == 1
    assert found.ambiguous == ("10.0.0.5",)
    assert found.unmatched == (shared,)


@pytest.mark.parametrize(
    ("nodes", "instances"),
    [
        pytest.param(
            ("db.a.example", "db.b.example"), ("db.c.example:1",), id="two nodes"
        ),
        pytest.param(
            ("db.a.example",), ("db.b.example:1", "db.c.example:1"), id="two series"
        ),
    ],
)
def test_a_short_name_counts_only_when_unique_on_both_sides(
    nodes: tuple[str, ...], instances: tuple[str, ...]
) -> None:
    keys = [key_of({"instance": instance}) for instance in instances]
    found = identify(keys, tuple(NodeRow(name) for name in nodes))
    assert {found.matches[key].row for key in keys} == {identity.UNMATCHED}


def test_a_short_name_never_takes_a_node_that_has_its_own_series() -> None:
    exact = key_of({"instance": "ip-10-0-0-7.ec2.internal:9100"})
    guess = key_of({"instance": "ip-10-0-0-7.compute.internal:9100"})
    found = identify([exact, guess], ROWS)
    assert found.matches[exact].rule == identity.BY_HOST_NAME
    assert found.unmatched == (guess,)


@pytest.mark.parametrize(
    ("instance", "host"),
    [
        ("10.0.0.1:9100", "10.0.0.1"),
        ("Name:9100", "name"),
        ("name", "name"),
        ("[FD00::1]:9100", "fd00::1"),
        ("fd00:0::1", "fd00::1"),
        ("[::1", "::1"),
        ("", ""),
        (":9100", ""),
    ],
)
def test_host_of_an_instance(instance: str, host: str) -> None:
    assert host_of(instance) == host
