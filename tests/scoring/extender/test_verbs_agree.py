"""The quick way, the ordinary way and the formula in plain Python say the same."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scoring.extender import names as names_module
from scoring.extender.types import Call, View
from scoring.extender.verbs import filter_, prioritize
from scoring.framework.policy import PluginSpec
from scoring.framework.snapshot import CPU, RECEIVE, TRANSMIT, Snapshot
from scoring.framework.types import Quality
from tests.scoring.extender.test_verbs import args, view
from tests.scoring.scene import NAN, Scene, cpu, traffic

COUNT = 400
NAMES = [f"ip-10-0-{i:03}.eu-central-1.compute.internal" for i in range(COUNT)]
LIMIT = 70


@dataclass(frozen=True)
class Reference:
    """One call, worked out node by node with Python numbers."""

    snapshot: Snapshot
    specs: tuple[PluginSpec, ...]

    def u(self, row: int) -> float | None:
        receive = float(self.snapshot.column(RECEIVE)[row])
        sent = float(self.snapshot.column(TRANSMIT)[row])
        invalid = self.snapshot.quality[row] == Quality.INVALID
        if (
            invalid
            or math.isnan(receive + sent)
            or self.snapshot.column("sample_age")[row] > 300
        ):
            return None
        table = self.snapshot.table
        into = receive * (1 / float(table.receive_capacity[row]))
        out = sent * (1 / float(table.transmit_capacity[row]))
        return max(into, out)

    def traffic(self, rows: list[int]) -> list[int]:
        loads = [self.u(row) for row in rows]
        known = sorted(load for load in loads if load is not None)
        if not known:
            return [50] * len(rows)
        low, high = known[0], known[(9 * len(known) + 9) // 10 - 1]
        median = known[(len(known) - 1) // 2]
        if high - low <= 1e-9 or high - low < 0.02:
            return [100] * len(rows)
        filled = [median if load is None else load for load in loads]
        stretched = [(high - load) * (100 / (high - low)) for load in filled]
        return [max(0, math.floor(score + 0.5)) for score in stretched]

    def cpu(self, rows: list[int]) -> list[int]:
        found = [float(self.snapshot.column(CPU)[row]) for row in rows]
        known = sorted(busy for busy in found if not math.isnan(busy))
        if not known:
            return [50] * len(rows)
        median = known[(len(known) - 1) // 2]
        filled = [median if math.isnan(busy) else busy for busy in found]
        return [max(0, math.floor((1 - busy) * 100 + 0.5)) for busy in filled]

    def priorities(self, rows: list[int], weight: int) -> list[int]:
        scores = {"NetworkTraffic": self.traffic(rows), "CPUUsage": self.cpu(rows)}
        sums = [
            sum(spec.weight * scores[spec.name][i] for spec in self.specs)
            for i in range(len(rows))
        ]
        return [(num + 5 * weight) // (10 * weight) for num in sums]

    def kept(self, rows: list[int]) -> list[int]:
        over = {row: load for row in rows if (load := self.u(row) or 0.0) > LIMIT / 100}
        short = max(1, math.ceil(len(rows) * 0.2)) - (len(rows) - len(over))
        least = sorted(over, key=lambda row: (over[row], rows.index(row)))
        back = set(least[: max(0, short)])
        return [row for row in rows if row not in over or row in back]


@st.composite
def scenes(draw: st.DrawFn) -> Scene:
    source = np.random.default_rng(draw(st.integers(0, 2**32)))
    gone = draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]))
    spread = draw(st.sampled_from([0.0, 0.5, 30.0, 200.0]))
    receive = np.where(source.random(COUNT) < gone, NAN, source.random(COUNT) * spread)
    transmit = np.where(source.random(COUNT) < 0.1, NAN, source.random(COUNT) * spread)
    busy = np.where(source.random(COUNT) < gone, NAN, source.random(COUNT))
    invalid = source.random(COUNT) < gone / 4
    return Scene(
        receive=receive.tolist(),
        transmit=transmit.tolist(),
        cpu=busy.tolist(),
        capacity=source.choice([50.0, 100.0, 250.0], COUNT).tolist(),
        quality=[Quality.INVALID if bad else Quality.MEASURED for bad in invalid],
        names=NAMES,
    )


calls: Any = st.lists(
    st.integers(0, COUNT - 1), min_size=1, max_size=COUNT, unique=True
)


@settings(max_examples=60, deadline=None)
@given(scenes(), calls, st.integers(1, 4), st.integers(0, 3), st.integers(1, 8))
def test_all_ways_give_the_same_integers(
    scene: Scene, rows: list[int], first: int, second: int, weight: int
) -> None:
    specs = (traffic(first, limit=LIMIT), *([cpu(second)] if second else []))
    reference = Reference(scene.snapshot(), specs)
    quick, ordinary = both_ways(view(*specs, scene=scene))
    body = json.dumps(json.loads(args([NAMES[i] for i in rows])), separators=(",", ":"))
    call = Call("main", 1, weight)
    # a scheduler that answers "no data" for all is told apart by its outcome alone
    known = (
        view(*specs, scene=scene).policies["main", 1]["default-scheduler"].answerable
    )
    expected = dict(
        zip((NAMES[i] for i in rows), reference.priorities(rows, weight), strict=True)
    )
    kept = [NAMES[i] for i in reference.kept(rows)]
    for state in (quick, ordinary):
        answer = prioritize(body.encode(), call, state)
        found = {host["Host"]: host["Score"] for host in json.loads(answer.body)}
        assert found == expected
        assert answer.outcome == ("scored" if known else "no_data")
        result = json.loads(filter_(body.encode(), call, state).body)
        assert result["NodeNames"] == kept
        assert result["FailedNodes"].keys() == set(expected) - set(kept)


def both_ways(state: View) -> tuple[View, View]:
    assert state.index is not None
    assert state.index.raw is not None
    return state, replace(state, index=replace(state.index, raw=None))


def test_a_long_list_takes_the_quick_way_and_a_short_one_does_not() -> None:
    index = view(traffic(), scene=Scene(receive=[1] * COUNT, names=NAMES)).index
    assert index is not None
    raw = json.dumps(NAMES, separators=(",", ":")).encode()
    assert len(raw) > names_module.QUICK_FROM
    found = index.match(raw)
    assert found is not None
    assert found.tolist() == list(range(COUNT))
    assert index.match(b'["' + NAMES[0].encode() + b'"]') is None


def test_an_unknown_name_in_a_long_list_is_answered_all_the_same() -> None:
    state = view(traffic(limit=LIMIT), scene=Scene(receive=[1] * COUNT, names=NAMES))
    body = json.dumps(json.loads(args([*NAMES, "ghost"])), separators=(",", ":"))
    answer = prioritize(body.encode(), Call("main", 1, 1), state)
    assert len(json.loads(answer.body)) == COUNT + 1


def test_a_name_twice_in_a_long_list_is_scored_once() -> None:
    state = view(traffic(), scene=Scene(receive=[1] * COUNT, names=NAMES))
    body = json.dumps(json.loads(args([*NAMES, NAMES[3]])), separators=(",", ":"))
    answer = prioritize(body.encode(), Call("main", 1, 1), state)
    assert [host["Host"] for host in json.loads(answer.body)] == NAMES


def test_levels_of_three_digits_leave_the_quick_way() -> None:
    scene = Scene(receive=[float(i % 90) for i in range(COUNT)], names=NAMES)
    body = json.dumps(json.loads(args(NAMES)), separators=(",", ":")).encode()
    answer = prioritize(body, Call("main", 1, 1), view(traffic(50), scene=scene))
    assert max(host["Score"] for host in json.loads(answer.body)) == 500
