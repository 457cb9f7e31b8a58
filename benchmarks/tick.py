"""What a tick costs: 5,000 nodes, from the first byte parsed to the published snapshot.

A scripted Prometheus and API server in another process answer with fixed bytes, so the
time is ours alone: fetch over loopback, parse, match, judge, encode, store (SQLite).

    python -m benchmarks.tick [--nodes N] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import parse_qs

from tests.fleet import FleetNode, kubeconfig, node_list
from tests.servers import Reply, Seen, scripted

NODES = 5000
ROUNDS = 15
TICK_BAR = 0.150  # seconds, without the node list
BYTES_BAR = 16.0  # of a stored snapshot, per node
_KIND_OF_QUERY = (
    ("node_network_speed_bytes", "speed"),
    ("node_time_seconds", "none"),
    ("node_cpu_seconds_total", "cpu"),
    ("timestamp(", "age"),
    ("node_network_transmit", "transmit"),
    ("node_network_receive", "receive"),
)


@dataclass(frozen=True, slots=True)
class Result:
    """Medians over the rounds, in seconds; bytes per node.

    `processor` is the time on a core of the whole tick: what the others would be on a
    machine that does nothing else.
    """

    nodes: int
    rounds: int
    whole: float
    processor: float
    node_list: float
    queries: float
    match: float
    publish: float
    parse_to_published: float
    blob_bytes_per_node: float
    table_bytes_per_node: float

    @property
    def passed(self) -> bool:
        return (
            self.parse_to_published <= TICK_BAR
            and self.blob_bytes_per_node <= BYTES_BAR
        )


def fleet(count: int) -> tuple[FleetNode, ...]:
    return tuple(
        FleetNode(
            f"ip-10-{i >> 8}-{i & 255}.internal",
            instance=f"10.1.{i >> 8}.{i & 255}:9100",
            addresses=(
                ("InternalIP", f"10.1.{i >> 8}.{i & 255}"),
                ("Hostname", f"ip-10-{i >> 8}-{i & 255}.internal"),
            ),
            labels={"topology.kubernetes.io/zone": f"zone-{i % 3}"},
        )
        for i in range(count)
    )


def _vector(nodes: Sequence[FleetNode], kind: str, source: random.Random) -> bytes:
    """The answer to one query, as Prometheus spells it."""
    per_device = kind not in {"cpu", "age"}
    shared: dict[str, str] = {"device": "eth0"} if per_device else {}
    values: dict[str, Callable[[], float]] = {
        "receive": lambda: source.lognormvariate(17, 1),
        "transmit": lambda: source.lognormvariate(16, 1),
        "age": lambda: 15 * source.random(),
        "cpu": source.random,
        "speed": lambda: 1.25e9,
    }
    metrics = [{"instance": node.exporter, **shared} for node in nodes]
    result = [
        {"metric": metric, "value": [1.0, str(values[kind]())]} for metric in metrics
    ]
    data = {"resultType": "vector", "result": result}
    return json.dumps({"status": "success", "data": data}).encode()


def _serve(nodes: Sequence[FleetNode], pipe: Connection) -> None:
    source = random.Random(7)
    kinds = ("receive", "transmit", "age", "cpu", "speed")
    bodies = {kind: [_vector(nodes, kind, source) for _ in range(3)] for kind in kinds}
    bodies["none"] = [_vector((), "age", source)]
    listed = node_list(nodes)
    turn = 0

    def answer(seen: Seen) -> Reply:
        nonlocal turn
        if seen.method == "GET":
            return Reply(listed)
        turn += 1
        promql = parse_qs(seen.body.decode())["query"][0]
        kind = next(kind for part, kind in _KIND_OF_QUERY if part in promql)
        return Reply(bodies[kind][turn % len(bodies[kind])])

    with scripted(answer) as server:
        pipe.send(server.url)
        pipe.recv()  # the end of the benchmark


@contextmanager
def _servers(nodes: Sequence[FleetNode]) -> Iterator[str]:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.Process(target=_serve, args=(nodes, theirs))
    process.start()
    try:
        yield str(ours.recv())
    finally:
        ours.send(None)
        process.join(10)


def measure(count: int, rounds: int) -> Result:
    """Set up an empty installation and tick it `rounds` times."""
    nodes = fleet(count)
    with tempfile.TemporaryDirectory() as home, _servers(nodes) as url:
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "BANDMASTER_DATA_DIR": home,
            "BANDMASTER_DATABASE_URL": f"sqlite:///{home}/bench.sqlite3",
            "BANDMASTER_PROMETHEUS_URL": url,
            "BANDMASTER_KUBECONFIG": kubeconfig(Path(home) / "kubeconfig", url),
            "BANDMASTER_LOG_LEVEL": "WARNING",
        }
        return _ticks(count, rounds)


def _ticks(count: int, rounds: int) -> Result:
    import django

    django.setup()
    from django.core.management import call_command

    from scoring.models import Cluster, NodeTable, Snapshot

    call_command("migrate", verbosity=0, skip_checks=True)
    Cluster.objects.create(name="default", extender_url="http://e", tick_seconds=60)
    taken = [_one_tick() for _ in range(rounds + 1)][1:]  # the first fills caches

    def median(*steps: str) -> float:
        return statistics.median(sum(one.get(s, 0.0) for s in steps) for one in taken)

    blobs = [len(bytes(row.blob)) for row in Snapshot.objects.all()]
    return Result(
        nodes=count,
        rounds=rounds,
        whole=median("whole"),
        processor=median("processor"),
        node_list=median("nodes"),
        queries=median("receive", "transmit", "age", "cpu"),
        match=median("match"),
        publish=median("publish"),
        parse_to_published=statistics.median(
            one["whole"] - one["nodes"] for one in taken
        ),
        blob_bytes_per_node=statistics.mean(blobs) / count,
        table_bytes_per_node=len(bytes(NodeTable.objects.get().blob)) / count,
    )


def _one_tick() -> dict[str, float]:
    """Seconds per step, of the whole, and of processor."""
    from scoring import collector
    from scoring.models import Tick

    started = time.process_time()
    tick = collector.tick("default", owner="bench")
    processor = time.process_time() - started
    if tick is None or tick.outcome != Tick.Outcome.OK or not tick.finished_at:
        sys.exit(f"the tick failed: {tick and tick.prometheus_error}")
    whole = (tick.finished_at - tick.started_at).total_seconds()
    return {**tick.durations, "whole": whole, "processor": processor}


def show(result: Result) -> str:
    """The table that a person reads."""
    rows = [
        ("node list: fetch, parse", result.node_list),
        ("four queries: fetch, parse", result.queries),
        ("match, judge", result.match),
        ("encode, store", result.publish),
        (
            f"parse to published (bar {1000 * TICK_BAR:.0f} ms)",
            result.parse_to_published,
        ),
        ("whole tick", result.whole),
        ("whole tick, on a core", result.processor),
    ]
    lines = [f"tick of {result.nodes} nodes, median of {result.rounds} rounds"]
    lines += [f"  {name:44}{1000 * seconds:8.1f} ms" for name, seconds in rows]
    lines += [
        f"  {f'snapshot (bar {BYTES_BAR:.0f})':44}"
        f"{result.blob_bytes_per_node:8.2f} bytes per node and tick",
        f"  {'node table, only when it changes':44}"
        f"{result.table_bytes_per_node:8.2f} bytes per node",
        f"  {'PASS' if result.passed else 'MISSED'}",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=NODES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args(arguments)
    result = measure(options.nodes, options.rounds)
    print(show(result))
    if options.json:
        options.json.write_text(json.dumps(asdict(result), indent=2) + "\n")
    return 0 if result.passed else 1


if __name__ == "__main__":
    sys.exit(main())
