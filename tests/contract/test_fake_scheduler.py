"""The fake scheduler reads every answer of the oracle as kube-scheduler did."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from tests.contract import fake_scheduler
from tests.contract.fake_scheduler import AnswerError

FOLDER = Path(__file__).parent / "extender-json"
BODIES: dict[str, str] = json.loads((FOLDER / "RESPONSE-BODIES.json").read_text())
NAMES = ["node-a", "node-b", "node-c"]
STATUSES = {"201": 201, "500": 500, "404": 404, "301": 405, "302": 405}
# these differ from others only on the wire, or belong to verbs that we do not serve
NOT_A_BODY = {"p_chunk", "p_gzip", "p_html", "p_slow", "f_slow", "f_307"}


def rows(verb: str) -> list[tuple[str, str]]:
    with (FOLDER / "RESPONSE-BEHAVIOUR.tsv").open() as stream:
        found = [tuple(row) for row in csv.reader(stream, delimiter="\t")]
    return [
        (row[1], row[2]) for row in found if row[0] == verb and row[1] not in NOT_A_BODY
    ]


def answer(case: str) -> tuple[int, bytes]:
    status = STATUSES.get(case.split("_")[1], 200)
    return status, BODIES.get(case, "").encode()


def ids(cases: list[tuple[str, str]]) -> list[str]:
    return [f"{case}-{seen.split()[0]}" for case, seen in cases]


@pytest.mark.parametrize(
    ("case", "observed"), rows("prioritize"), ids=ids(rows("prioritize"))
)
def test_prioritize(case: str, observed: str) -> None:
    expected = {
        name: int(total)
        for name, total in re.findall(r"(node-\w)=(-?\d+)", observed.split("]")[0])
    }
    try:
        read, error = fake_scheduler.read_prioritize(*answer(case)), False
    except AnswerError:
        read, error = [], True
    assert fake_scheduler.points(read, NAMES, weight=1) == expected
    assert error is ("direct-err=<nil>" not in observed)


@pytest.mark.parametrize(("case", "observed"), rows("filter"), ids=ids(rows("filter")))
def test_filter(case: str, observed: str) -> None:
    capable = observed.startswith("ncc=true")
    match = re.search(r"nodes=\[(.*?)\] err=(.*) st=\[(.*)\]", observed)
    assert match is not None
    nodes, error, statuses = match.groups()
    try:
        read = fake_scheduler.read_filter(*answer(case), NAMES, cache_capable=capable)
        message = "<nil>"
    except AnswerError as exc:
        read, message = fake_scheduler.Filtered(), str(exc)
    assert read.nodes == nodes.split()
    assert (message == "<nil>") is (error == "<nil>"), message
    if case == "f_error":
        assert message == error
    told = re.findall(r"(\S+)=(Unschedulable\w*:.*?)(?= \S+=Unsched|$)", statuses)
    assert {node: read.status(node) for node, _ in told} == dict(told)
