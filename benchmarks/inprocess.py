"""What the verbs cost in process, bytes to bytes, against two codecs doing no work.

For names: `floor` (msgspec reads the names, constant scores are joined), `orjson`
(loads the call and dumps an answer of the same shape), `constant` (our verb with the
kill switch on) and `full` (our verb: capacity, worst direction, reservations, stretch).
For whole nodes: `orjson`, `names` (msgspec reads the names alone), and both verbs.
Thread CPU time; the candidates take turns in one run, so only ratios travel.

    python -m benchmarks.inprocess [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np
import orjson

from scoring.extender.names import NodeIndex
from scoring.extender.types import Call, View
from scoring.extender.verbs import filter_, prioritize
from scoring.framework.plugin import Reservations
from scoring.framework.policy import PluginSpec, Policy
from scoring.framework.runtime import prepare
from scoring.framework.snapshot import NodeRow, NodeTable, Snapshot
from scoring.plugins.registry import build

KNOWN_NODES = 5000
FULL_NODES = 1000
SIZES = (10, 100, 500, 1000, 5000)
CAPACITY = 1.25e9  # bytes per second
BUSY = 0.9  # where the filter's limit lies: a tenth of the nodes are above
NOW = 1_800_000_000.0
CALL = Call("main", 1, 5)
ENOUGH = 0.004  # seconds of one measurement
BARS = {
    "full/orjson at 500 names": 1.4,
    "full/orjson at 5000 names": 1.3,
    "full/constant at 500 names": 1.8,
    "prioritize/orjson at 1000 nodes": 0.2,
    "filter/names at 1000 nodes": 2.0,
}

Work = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Timing:
    """Median microseconds of CPU of one call."""

    verb: str
    body: str  # names or nodes
    size: int
    microseconds: dict[str, float]


def node_names(count: int) -> list[str]:
    """42 characters each, as a cloud provider names them."""
    return [
        f"ip-10-{i >> 8:03}-{i & 255:03}.eu-central-1.compute.internal"
        for i in range(count)
    ]


def pod() -> dict[str, object]:
    """5.9 KB, as kube-scheduler sends them."""
    env = [{"name": f"SETTING_{i}", "value": "x" * 60} for i in range(55)]
    container = {"name": "app", "image": "registry.example/app:1.2.3", "env": env}
    return {
        "metadata": {
            "name": "web-7c5ddbdf54-x2x2x",
            "namespace": "default",
            "uid": "0b0c8d9e-7a57-4a3f-9d43-000000000000",
            "labels": {"app": "web", "pod-template-hash": "7c5ddbdf54"},
            "annotations": {"note": "y" * 500},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-7c5ddbdf54"}],
        },
        "spec": {"containers": [container], "schedulerName": "default-scheduler"},
        "status": {"phase": "Pending", "qosClass": "BestEffort"},
    }


def names_body(names: list[str]) -> bytes:
    return msgspec.json.encode({"Pod": pod(), "Nodes": None, "NodeNames": names})


def nodes_body(names: list[str]) -> bytes:
    """About 12 KB per node, most of it images and managed fields."""
    images = [
        {"names": [f"registry.example/i{i}@sha256:{'0' * 64}"]} for i in range(50)
    ]
    fields = [{"manager": "kubelet", "fieldsV1": {f"f:k{i}": {}}} for i in range(70)]
    items = [
        {
            "metadata": {"name": name, "labels": {"a": name}, "managedFields": fields},
            "spec": {"providerID": f"aws:///{name}"},
            "status": {"capacity": {"cpu": "16"}, "images": images},
        }
        for name in names
    ]
    nodes = {"metadata": {}, "items": items}
    return msgspec.json.encode({"Pod": pod(), "Nodes": nodes, "NodeNames": None})


def views(names: list[str]) -> tuple[View, View]:
    """The view that scores and filters, and the same with the kill switch on."""
    source = np.random.default_rng(7)
    count = len(names)
    table = NodeTable.build(
        tuple(
            NodeRow(name, receive_capacity=CAPACITY, transmit_capacity=CAPACITY)
            for name in names
        ),
        "benchmark",
    )
    columns = {
        "receive": (source.random(count) * CAPACITY).astype(np.float32),
        "transmit": (source.random(count) * CAPACITY * 0.5).astype(np.float32),
        "cpu": source.random(count).astype(np.float32),
        "sample_age": (source.random(count) * 15).astype(np.float32),
    }
    quality = np.zeros(count, np.uint8)
    snapshot = Snapshot(1, "default", NOW, 60.0, 15.0, table, columns, quality)
    args = {"maxUtilizationPercent": 100 * BUSY}
    spec = PluginSpec("NetworkTraffic", score=True, filter=True, weight=5, args=args)
    policy = Policy("main", 1, 1, "0" * 64, "default-scheduler", 5, (spec,))
    reserved = Reservations(
        source.random(count) * CAPACITY * 0.01, source.random(count) * CAPACITY * 0.01
    )
    prepared = prepare(policy, ((spec, build(spec)),), snapshot, reserved, now=NOW)
    policies = {("main", 1): {"default-scheduler": prepared}}
    index = NodeIndex.build(table)
    view = View(
        snapshot, policies, {"main": 1}, neutral=False, index=index, loaded=True
    )
    return view, replace(view, neutral=True)


class _Names(msgspec.Struct):
    NodeNames: list[str]


class _Metadata(msgspec.Struct):
    name: str


class _Node(msgspec.Struct):
    metadata: _Metadata


class _Nodes(msgspec.Struct):
    items: list[_Node]


class _NodesArgs(msgspec.Struct):
    Nodes: _Nodes


def _floor(body: bytes) -> bytes:
    names = msgspec.json.decode(body, type=_Names).NodeNames
    return ('[{"Host":"' + '","Score":5},{"Host":"'.join(names) + '"}]').encode()


def _orjson(body: bytes) -> bytes:
    names = orjson.loads(body)["NodeNames"]
    return orjson.dumps([{"Host": name, "Score": 5} for name in names])


def _orjson_nodes(body: bytes) -> bytes:
    nodes = orjson.loads(body)["Nodes"]["items"]
    return orjson.dumps([{"Host": n["metadata"]["name"], "Score": 5} for n in nodes])


def _cpu(work: Work) -> float:
    """Seconds of thread CPU per call, over enough calls to be told from the clock."""
    calls, spent = 0, 0.0
    started = time.thread_time()
    while spent < ENOUGH:
        work()
        calls += 1
        spent = time.thread_time() - started
    return spent / calls


def _interleaved(works: dict[str, Work], rounds: int) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in works}
    for work in works.values():
        work()
    for _ in range(rounds):
        for name, work in works.items():
            found[name].append(_cpu(work))
    return {name: statistics.median(times) * 1e6 for name, times in found.items()}


def measure(rounds: int) -> list[Timing]:
    """All timings; the names are in an order that no cache expects."""
    known = node_names(KNOWN_NODES)
    view, switched_off = views(known)
    shuffled = random.Random(7).sample(known, KNOWN_NODES)
    results = []
    for size in SIZES:
        body = names_body(shuffled[:size])
        works: dict[str, Work] = {
            "floor": partial(_floor, body),
            "orjson": partial(_orjson, body),
            "constant": partial(prioritize, body, CALL, switched_off),
            "full": partial(prioritize, body, CALL, view),
            "filter": partial(filter_, body, CALL, view),
        }
        timing = _interleaved(works, rounds)
        results.append(Timing("both", "names", size, timing))
    body = nodes_body(shuffled[:FULL_NODES])
    works = {
        "names": lambda: msgspec.json.decode(body, type=_NodesArgs),
        "orjson": lambda: _orjson_nodes(body),
        "prioritize": lambda: prioritize(body, CALL, view),
        "filter": lambda: filter_(body, CALL, view),
    }
    timing = _interleaved(works, max(3, rounds // 5))
    results.append(Timing("both", "nodes", FULL_NODES, timing))
    return results


def ratios(results: list[Timing]) -> dict[str, float]:
    """The figures that have a bar."""
    by = {(r.body, r.size): r.microseconds for r in results}
    small, large = by["names", 500], by["names", 5000]
    nodes = by["nodes", FULL_NODES]
    return {
        "full/orjson at 500 names": small["full"] / small["orjson"],
        "full/orjson at 5000 names": large["full"] / large["orjson"],
        "full/constant at 500 names": small["full"] / small["constant"],
        "prioritize/orjson at 1000 nodes": nodes["prioritize"] / nodes["orjson"],
        "filter/names at 1000 nodes": nodes["filter"] / nodes["names"],
    }


def _show(results: list[Timing], found: dict[str, float]) -> None:
    for result in results:
        figures = "  ".join(f"{k} {v:.1f}" for k, v in result.microseconds.items())
        print(f"{result.size:>5} {result.body}, us of CPU: {figures}")
    for name, ratio in found.items():
        verdict = "ok" if ratio <= BARS[name] else "MISSED"
        print(f"{name:<34} {ratio:5.2f}  bar {BARS[name]:.1f}  {verdict}")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.inprocess")
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = measure(options.rounds)
    found = ratios(results)
    _show(results, found)
    if options.json:
        figures = {"timings": [asdict(r) for r in results], "ratios": found}
        options.json.write_text(json.dumps(figures, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
