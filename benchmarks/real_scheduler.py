"""What an extender costs a real kube-scheduler: none, a trivial Go one, and ours.

The three arms alternate in one run, on the same control plane and the same bare nodes.
Every round starts a fresh kube-scheduler on a queue of waiting pods and reads its own
`scheduler_scheduling_algorithm_duration_seconds`: the serial part of a cycle, with the
extender calls. Pods per second come from a watch on the bindings.

    python -m benchmarks.real_scheduler [--nodes 100 500 ...] [--rounds N] [--json FILE]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.lab import build
from tools.lab.controlplane import ControlPlane, Scheduler
from tools.lab.objects import BareNode, pod_manifest
from tools.lab.processes import Child, LabError, free_port, start, wait_until

ROOT = Path(__file__).resolve().parents[1]
ARMS = ("none", "go", "ours")
# (ours - none) / (go - none) of the scheduling algorithm, by number of nodes
BARS = {100: 1.8, 500: 1.5, 1000: 1.1}
NOISE = 0.05  # of a cycle without extender; less than that is not an overhead
SAMPLED = 5000  # at this size the default sampling is measured too
ROUND_SECONDS = 300.0
ANY_EXTENDER_SWITCHES_OFF = "OpportunisticBatching=false"
HEAD = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}, qps: 5000, burst: 5000}}
leaderElection: {{leaderElect: false}}
{sampling}
"""
EVERY_NODE = "percentageOfNodesToScore: 100"
OURS = """\
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - {name: NetworkTraffic, weight: 1}
  pluginConfig:
  - name: NetworkTraffic
    args: {maxSampleAge: 86400s}
"""
GO = """\
extenders:
- urlPrefix: http://127.0.0.1:{port}
  prioritizeVerb: prioritize
  weight: 1
  nodeCacheCapable: true
  ignorable: true
  httpTimeout: 200ms
"""


@dataclass(frozen=True, slots=True)
class Round:
    """One arm, once. Microseconds of a scheduling cycle, and bindings per second."""

    arm: str
    algorithm: float
    pods_per_second: float


@dataclass(frozen=True, slots=True)
class Row:
    """The medians of one arm at one size; overhead is over the arm `none`."""

    nodes: int
    sampling: str
    arm: str
    algorithm: float
    overhead: float
    pods_per_second: float


@dataclass(frozen=True, slots=True)
class OurExtender:
    """Where it listens, and the document that leads kube-scheduler there."""

    port: int
    stock: str

    def require_scored(self, calls: int) -> None:
        """An answer that came too late, or a neutral one, would flatter us."""
        sign = re.compile(
            r"^bandmaster_extender_request_duration_seconds_count"
            r'{(?=.*outcome="scored")(?=.*verb="prioritize").*} (.*)$',
            re.MULTILINE,
        )
        found = sign.search(_get(self.port, "/metrics")[1])
        scored = float(found[1]) if found else 0.0
        if scored < 0.95 * calls:
            raise LabError(f"ours scored {scored:.0f} of {calls} pods: not comparable")


class Bench:
    """One control plane with N nodes and the extenders beside it."""

    def __init__(self, plane: ControlPlane, directory: Path, pods: int) -> None:
        self.plane = plane
        self.directory = directory
        self.pods = pods

    def round(self, arm: str, config: Path) -> Round:
        """Lets a fresh scheduler bind `pods` pods that wait for it."""
        for i in range(self.pods):
            self.plane.create_pod(pod_manifest(f"pod-{i}"))
        watch = BindWatch(self.plane, self.pods)
        watch.start()
        flag = f"--feature-gates={ANY_EXTENDER_SWITCHES_OFF}"
        scheduler = self.plane.start_scheduler(config, flag)
        try:
            watch.join(ROUND_SECONDS)
            if watch.bound < self.pods:
                raise LabError(f"{arm}: only {watch.bound} of {self.pods} pods bound")
            return Round(arm, _algorithm_microseconds(scheduler), watch.rate())
        finally:
            self.plane.stop_scheduler(scheduler)
            self.plane.delete_pods()


class BindWatch(threading.Thread):
    """Counts bindings as they happen; parsing none keeps it cheap."""

    def __init__(self, plane: ControlPlane, wanted: int) -> None:
        super().__init__(daemon=True)
        listed = plane.api.json("GET", "/api/v1/pods?limit=1")
        self._version = str(listed["metadata"]["resourceVersion"])
        self._plane = plane
        self._wanted = wanted
        self._times: list[float] = []

    @property
    def bound(self) -> int:
        return len(self._times)

    def run(self) -> None:
        while self.bound < self._wanted:
            self._follow()

    def _follow(self) -> None:
        """One watch; the server ends it when we fall behind."""
        line = b""
        query = (
            f"watch=1&fieldSelector=spec.nodeName!%3D&resourceVersion={self._version}"
        )
        for line in self._plane.api.lines(f"/api/v1/pods?{query}"):
            if line.startswith(b'{"type":"ADDED"'):
                self._times.append(time.perf_counter())
            if self.bound >= self._wanted:
                return
        if line:
            self._version = json.loads(line)["object"]["metadata"]["resourceVersion"]

    def rate(self) -> float:
        """Bindings per second between the first and the last."""
        return (self.bound - 1) / (self._times[-1] - self._times[0])


def _algorithm_microseconds(scheduler: Scheduler) -> float:
    name = "scheduler_scheduling_algorithm_duration_seconds"
    found = {
        key: float(value)
        for key, _, value in (
            line.rpartition(" ") for line in scheduler.metrics().splitlines()
        )
        if key in {f"{name}_sum", f"{name}_count"}
    }
    return found[f"{name}_sum"] / found[f"{name}_count"] * 1e6


def _nodes(count: int) -> list[BareNode]:
    return [
        BareNode(f"bench-node-{i:05d}", f"10.{i >> 14}.{i >> 7 & 127}.{i & 127}")
        for i in range(count)
    ]


@contextmanager
def go_extender(directory: Path) -> Iterator[int]:
    """Builds and starts the yardstick; gives its port."""
    program = directory / "goextender"
    subprocess.run(
        [build.find_go(os.environ), "build", "-o", str(program), "."],
        cwd=ROOT / "benchmarks" / "goextender",
        env={**os.environ, "CGO_ENABLED": "0"},
        check=True,
        timeout=300,
    )
    port = free_port()
    command = [str(program), f"-listen=127.0.0.1:{port}"]
    child = start("go extender", command, log=directory / "goextender.log")
    try:
        yield port
    finally:
        child.stop(gently=False)


@contextmanager
def our_extender(directory: Path, document: str, nodes: int) -> Iterator[OurExtender]:
    """The real extender process on a snapshot of N nodes."""
    directory.mkdir()
    port = free_port()
    environ = {
        **os.environ,
        "BANDMASTER_DATA_DIR": str(directory),
        "BANDMASTER_EXTENDER_PORT": str(port),
        "BANDMASTER_EXTENDER_KEY": "benchmark",
        "BANDMASTER_SECRET_KEY": "benchmark",
        "PYTHONPATH": str(ROOT),
    }
    source = directory / "document.yaml"
    source.write_text(document, encoding="utf-8")
    stock = subprocess.run(
        [sys.executable, "-m", "benchmarks.extender_state", str(source), str(nodes)],
        env=environ,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=300,
    ).stdout
    child = _start_our_extender(directory, environ, port)
    try:
        yield OurExtender(port, stock)
    finally:
        child.stop()


def _start_our_extender(directory: Path, environ: dict[str, str], port: int) -> Child:
    from scoring.extender.serve import GRANIAN_ENV, granian_argv

    child = start(
        "extender",
        granian_argv("127.0.0.1", port),
        log=directory / "extender.log",
        env={
            **environ,
            **GRANIAN_ENV,
            "DJANGO_SETTINGS_MODULE": "console.settings_extender",
        },
    )

    def answers() -> bool:
        child.require_alive()
        try:
            return _get(port, "/readyz")[0] == 200
        except OSError:
            return False

    wait_until(f"the extender ({child.log})", answers, 60)
    return child


def _get(port: int, path: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def measure(nodes: int, sampling: str, options: argparse.Namespace) -> list[Row]:
    """All arms at one size, alternating."""
    head_sampling = EVERY_NODE if sampling == "all" else ""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        plane = stack.enter_context(ControlPlane(options.programs, directory / "plane"))
        plane.create_nodes(_nodes(nodes))
        head = HEAD.format(kubeconfig=plane.kubeconfig, sampling=head_sampling)
        port = stack.enter_context(go_extender(directory))
        ours = stack.enter_context(our_extender(directory / "ours", head + OURS, nodes))
        texts = {"none": head, "go": head + GO.format(port=port), "ours": ours.stock}
        for arm, text in texts.items():
            (directory / f"{arm}.yaml").write_text(text, encoding="utf-8")
        bench = Bench(plane, directory, options.pods)
        rounds = []
        for number in range(options.rounds):
            # another arm goes first each time: none is always the warmest
            for arm in ARMS[number % 3 :] + ARMS[: number % 3]:
                rounds.append(bench.round(arm, directory / f"{arm}.yaml"))
                print(f"  {nodes} {sampling} {rounds[-1]}", file=sys.stderr)
        ours.require_scored(options.rounds * options.pods)
    return _rows(nodes, sampling, rounds)


def _rows(nodes: int, sampling: str, rounds: Sequence[Round]) -> list[Row]:
    def median(arm: str, name: str) -> float:
        values = [float(getattr(r, name)) for r in rounds if r.arm == arm]
        return statistics.median(values)

    def overhead(arm: str) -> float:
        """Against the `none` of the same round: other loads drift over a run."""
        base = [r.algorithm for r in rounds if r.arm == "none"]
        mine = [r.algorithm for r in rounds if r.arm == arm]
        return statistics.median(m - b for m, b in zip(mine, base, strict=True))

    return [
        Row(
            nodes,
            sampling,
            arm,
            median(arm, "algorithm"),
            overhead(arm),
            median(arm, "pods_per_second"),
        )
        for arm in ARMS
    ]


def ratio(rows: Sequence[Row]) -> float | None:
    """Our overhead in units of the Go extender's; None where that drowns in noise."""
    overhead = {row.arm: row.overhead for row in rows}
    floor = NOISE * next(row.algorithm for row in rows if row.arm == "none")
    return overhead["ours"] / overhead["go"] if overhead["go"] > floor else None


def verdict(rows: Sequence[Row]) -> str:
    """What is wrong with a measured bar; empty when it is met or there is none."""
    bar = BARS.get(rows[0].nodes) if rows[0].sampling == "all" else None
    if bar is None:
        return ""
    measured = ratio(rows)
    if measured is None:
        return (
            f"{rows[0].nodes} nodes: what Go adds drowns in noise: run again on a "
            "quieter machine"
        )
    return f"{rows[0].nodes} nodes: {measured:.2f} is over {bar}" * (measured > bar)


def report(measured: Sequence[Sequence[Row]]) -> str:
    lines = ["nodes sampling arm   algorithm_us overhead_us pods/s ours/go   bar"]
    for rows in measured:
        for row in rows:
            lines.append(
                f"{row.nodes:5d} {row.sampling:8s} {row.arm:5s} {row.algorithm:12.0f} "
                f"{row.overhead:11.0f} {row.pods_per_second:6.0f}"
            )
        bar = BARS.get(rows[0].nodes) if rows[0].sampling == "all" else None
        measured_ratio = ratio(rows)
        shown = "  noise" if measured_ratio is None else f"{measured_ratio:7.2f}"
        lines[-1] += f" {shown} {f'{bar:5.1f}' if bar else '    -'}"
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", nargs="+", type=int, default=[100, 500, 1000, 5000])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--pods", type=int, default=200, help="pods of an arm's round")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args(argv)
    version = build.newest_built(os.environ)
    if version is None:
        print("Kubernetes is not built: run python tools/lab/build.py", file=sys.stderr)
        return 1
    options.programs = build.program_directory(version, os.environ)
    cases = [(n, "all") for n in options.nodes]
    cases += [(n, "default") for n in options.nodes if n >= SAMPLED]
    measured = [measure(nodes, sampling, options) for nodes, sampling in cases]
    print(report(measured))
    if options.json:
        rows = [
            {**asdict(row), "ours_over_go": ratio(r)} for r in measured for row in r
        ]
        options.json.write_text(
            json.dumps({"kubernetes": version, "rows": rows}, indent=2) + "\n"
        )
    missed = [text for rows in measured if (text := verdict(rows))]
    print("\n".join(missed) or "every bar is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
