"""Everything of an end-to-end test together: the cluster, its traffic, the product."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.e2e.documents import document
from tests.e2e.fleet import Fleet, Load
from tests.e2e.product import TICK_SECONDS, WINDOW_SECONDS, Product
from tests.e2e.prometheus import SCRAPE_SECONDS, FaultProxy, Prometheus
from tests.e2e.visitor import Visitor
from tools.lab.api import Json
from tools.lab.controlplane import ControlPlane, Scheduler
from tools.lab.objects import BareNode, pod_manifest
from tools.lab.processes import wait_until

GROUPS = ("a", "b")
NODES = tuple(
    BareNode(f"node-{group}{i}", f"10.20.{index}.{i}", {"group": group})
    for index, group in enumerate(GROUPS)
    for i in range(1, 7)
)
NAMES = tuple(node.name for node in NODES)
BUSY = Load(receive=1e8, transmit=2e7)  # 80 % of a gigabit link
BOUND_SECONDS = 30.0
# a change is in full view once the window holds nothing older
SETTLE_SECONDS = WINDOW_SECONDS + 2 * SCRAPE_SECONDS + 2 * TICK_SECONDS


def group_of(node_name: str) -> str:
    return node_name.removeprefix("node-")[:1]


def busy(group: str, load: Load = BUSY) -> dict[str, Load]:
    """Loads in which one group is busy and the other is quiet."""
    return {name: load for name in NAMES if group_of(name) == group}


@dataclass(slots=True)
class Placement:
    """Where pods landed: pod name -> node name; missing = not bound."""

    nodes: dict[str, str]
    seconds: float

    def by_group(self) -> dict[str, int]:
        counted = Counter(group_of(node) for node in self.nodes.values())
        return {group: counted[group] for group in GROUPS}


@dataclass(slots=True)
class World:
    """Real parts only, but for the proxy that can lie in Prometheus' place."""

    plane: ControlPlane
    fleet: Fleet
    prometheus: Prometheus
    proxy: FaultProxy
    product: Product
    visitor: Visitor
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    stocks: dict[str, Path] = field(default_factory=dict)

    def reset(self) -> None:
        """No pods, no faults, no kill switch; traffic stays as it is."""
        self.plane.delete_pods()
        self.proxy.reset()

    def publish(self, name: str, profiles: str) -> Path:
        """The stock document of a configuration; published on first use."""
        if name not in self.stocks:
            text = document(profiles, kubeconfig=self.plane.kubeconfig)
            self.stocks[name] = self.product.publish(name, text)
        return self.stocks[name]

    def overview(self) -> str:
        """What the overview page says."""
        return self.visitor.page("/c/default/")

    @contextmanager
    def scheduling(self, stock: Path) -> Iterator[Scheduler]:
        """kube-scheduler with that file."""
        scheduler = self.plane.start_scheduler(stock)
        try:
            yield scheduler
        finally:
            self.plane.stop_scheduler(scheduler)

    def settle(self, loads: Mapping[str, Load]) -> None:
        """Sets the traffic and waits until a snapshot shows it in full."""
        self.fleet.apply(loads)
        wait_until("Prometheus sees the traffic", self._is_seen, SETTLE_SECONDS + 20)
        self.wait_for_snapshot_after(time.time())

    def _is_seen(self) -> bool:
        window = f"[{WINDOW_SECONDS}s]"
        received = self.prometheus.values(
            f'rate(node_network_receive_bytes_total{{device="eth0"}}{window})'
        )
        used = self.prometheus.values(
            f'rate(node_cpu_seconds_total{{mode="user"}}{window})'
        )
        return all(
            abs(received.get(node.address, 0.0) - load.receive) <= 0.05 * load.receive
            and abs(used.get(node.address, 0.0) - load.cpu) <= 0.05
            for node in NODES
            if (load := self.fleet.loads[node.name])
        )

    def wait_for_snapshot_after(self, moment: float) -> None:
        wait_until(
            "a newer snapshot in the extender",
            lambda: self.snapshot_time() > moment,
            4 * TICK_SECONDS + 10,
        )

    def snapshot_time(self) -> float:
        """When the snapshot that the extender answers from was collected; 0 = none."""
        for line in self.product.extender_metrics().splitlines():
            if line.startswith("bandmaster_snapshot_age_seconds{"):
                age = float(line.rpartition(" ")[2])
                return time.time() - age if age == age else 0.0
        return 0.0

    def create(self, count: int, **pod: Any) -> list[str]:
        """Creates pods; returns their names."""
        names = [f"pod-{next(self.numbers)}" for _ in range(count)]
        for name in names:
            self.plane.create_pod(pod_manifest(name, **pod))
        return names

    def place(self, count: int, **pod: Any) -> Placement:
        """Creates pods and waits until each is bound."""
        started = time.monotonic()
        names = self.create(count, **pod)
        wait_until(
            f"{count} pods are bound",
            lambda: len(self.bound(names)) == count,
            BOUND_SECONDS,
        )
        return Placement(self.bound(names), time.monotonic() - started)

    def bound(self, names: Iterable[str]) -> dict[str, str]:
        wanted = set(names)
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in self.plane.pods()
            if pod["metadata"]["name"] in wanted and "nodeName" in pod["spec"]
        }

    def pod_as_sent(self, scheduler_name: str = "default-scheduler") -> Json:
        manifest = pod_manifest("asked", scheduler_name=scheduler_name)
        manifest["metadata"] |= {"namespace": "default", "uid": "asked"}
        return manifest


@contextmanager
def running_world(programs: Path, directory: Path) -> Iterator[World]:
    """Starts everything, and ends it in the opposite order."""
    with (
        ControlPlane(programs, directory / "plane") as plane,
        Fleet(NODES) as fleet,
        Prometheus(directory / "prometheus", fleet) as prometheus,
        FaultProxy(prometheus.port) as proxy,
    ):
        plane.create_nodes(NODES)
        with Product(
            directory / "product", prometheus_url=proxy.url, kubeconfig=plane.kubeconfig
        ) as product:
            visitor = Visitor(product.port)
            visitor.log_in(product.data / "first-admin-password")
            yield World(plane, fleet, prometheus, proxy, product, visitor)
