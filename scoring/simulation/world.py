"""The simulated cluster as it goes on: pods come, move bytes and end.

Time moves only by `advance`, in steps of one second on whole seconds, so two worlds
with the same seed, start and bindings are the same world.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

from scoring.simulation import pods as pods_
from scoring.simulation.dice import Dice, between, pick
from scoring.simulation.fleet import Node
from scoring.simulation.pods import Pod
from scoring.simulation.scrapes import Scrape, ScrapeLog, due_scrape
from scoring.simulation.traffic import Rates, next_noise, rates

STEP = 1.0  # seconds
LONGEST_CATCH_UP = 900.0  # seconds; what a suspended machine missed beyond it is lost
MOST_WAITING = 50  # pods; no more come while so many wait
PAUSE_AFTER = 120.0  # seconds after the opening
PAUSE_SECONDS = 600.0
PAUSE_EVERY = 1800.0


class BindingError(Exception):
    """The binding is refused; the text is a sentence."""


class UnknownPod(BindingError):
    """No pod of that name waits or runs."""


@dataclass(frozen=True, slots=True)
class Change:
    """Something that happened to a pod: ADDED, MODIFIED or DELETED."""

    kind: str
    pod: Pod


@dataclass(slots=True)
class _Machine:
    """What changes about a node."""

    noise: float
    scrape: Scrape  # the counters now
    running: dict[str, Pod] = field(default_factory=dict)


class World:
    """All nodes and pods of one simulated cluster. Not safe for threads."""

    def __init__(self, nodes: tuple[Node, ...], dice: Dice, *, start: float) -> None:
        self.nodes = nodes
        self.by_name = {node.name: node for node in nodes}
        self.now = math.floor(start)
        self.scrapes = ScrapeLog(nodes)
        self.scheduler_names: tuple[str, ...] = (pods_.DEFAULT_SCHEDULER,)
        self.listener: Callable[[Change], None] = _nobody
        self._dice = dice
        self._opened_at = math.inf
        self._next_arrival = float(self.now)
        self._machines: dict[str, _Machine] = {}
        self._waiting: dict[str, Pod] = {}  # by namespace/name, in order of arrival
        self._places: dict[str, str] = {}  # namespace/name -> node
        for node in nodes:
            counters = _first_counters(node, dice, float(self.now))
            self._machines[node.name] = _Machine(0.0, counters)
            self._start(pods_.daemon_pod(dice, node, float(self.now)))

    def open(self) -> None:
        """From now on exporters may pause."""
        self._opened_at = self.now

    def waiting(self) -> tuple[Pod, ...]:
        """Pods without a node, the longest waiting first."""
        return tuple(self._waiting.values())

    def running(self, node: str) -> tuple[Pod, ...]:
        """The pods on a node."""
        return tuple(self._machines[node].running.values())

    def pods(self) -> tuple[Pod, ...]:
        """All pods, those with a node first."""
        bound = [p for node in self.nodes for p in self.running(node.name)]
        return (*bound, *self._waiting.values())

    def pod(self, key: str) -> Pod | None:
        """The pod of that namespace/name."""
        if key in self._places:
            return self._machines[self._places[key]].running[key]
        return self._waiting.get(key)

    def bind(self, key: str, node: str) -> Pod:
        """Start a waiting pod on a node. Raises BindingError."""
        if node not in self.by_name:
            raise BindingError(f'node "{node}" not found')
        if key in self._places:
            raise BindingError(f"pod {key} is already assigned to {self._places[key]}")
        pod = self._waiting.pop(key, None)
        if pod is None:
            raise UnknownPod(f'pod "{key}" not found')
        pod = pod.bound_to(node, float(self.now))
        self._start(pod)
        self.listener(Change("MODIFIED", pod))
        return pod

    def advance(self, until: float) -> None:
        """Live on until the last whole second that is not after `until`."""
        if until - self.now > LONGEST_CATCH_UP:
            self.now = math.floor(until - LONGEST_CATCH_UP)
            self._next_arrival = float(self.now)
        while self.now + STEP <= until:
            self._step()

    def rates(self, node: Node) -> Rates:
        """What the node does at this moment."""
        machine = self._machines[node.name]
        return rates(
            node, machine.running.values(), moment=self.now, noise=machine.noise
        )

    def _step(self) -> None:
        before, self.now = float(self.now), int(self.now + STEP)
        for node in self.nodes:
            machine = self._machines[node.name]
            machine.noise = next_noise(machine.noise, self._dice)
            doing = self.rates(node)
            due = due_scrape(node, before, self.now)
            if due is not None and not self.is_paused(node, due):
                seen = _grown(machine.scrape, doing, due)
                self.scrapes.add(node, seen)
            machine.scrape = _grown(machine.scrape, doing, float(self.now))
            self._end_pods(machine)
        self._arrive()

    def is_paused(self, node: Node, moment: float) -> bool:
        """Whether the node's exporter gives no samples at `moment`."""
        since = moment - self._opened_at - PAUSE_AFTER
        return node.pauses and since >= 0 and since % PAUSE_EVERY < PAUSE_SECONDS

    def _end_pods(self, machine: _Machine) -> None:
        for key in [k for k, p in machine.running.items() if p.ends_at <= self.now]:
            pod = machine.running.pop(key)
            del self._places[key]
            self.listener(Change("DELETED", pod))

    def _arrive(self) -> None:
        while self._next_arrival <= self.now:
            self._next_arrival += pods_.next_arrival(self._dice)
            if len(self._waiting) >= MOST_WAITING:
                continue
            name = pick(self._dice, self.scheduler_names)
            pod = pods_.new_pod(self._dice, name, float(self.now))
            self._waiting[pod.key] = pod
            self.listener(Change("ADDED", pod))

    def _start(self, pod: Pod) -> None:
        self._machines[pod.node].running[pod.key] = pod
        self._places[pod.key] = pod.node


def _nobody(change: Change) -> None:
    """Until someone listens."""


def _first_counters(node: Node, dice: Dice, now: float) -> Scrape:
    """As of a machine that has been up for days."""
    up = between(dice, 2e5, 2e6)
    moved = 0.1 * node.pool.link * up
    cores = up * node.pool.cores
    return Scrape(now, moved, between(dice, 0.5, 1.5) * moved, 0.8 * cores, 0.2 * cores)


def _grown(scrape: Scrape, doing: Rates, to: float) -> Scrape:
    seconds = to - scrape.timestamp
    # one series stands for all cores, so it grows by one second per second
    return Scrape(
        to,
        scrape.receive + doing.receive * seconds,
        scrape.transmit + doing.transmit * seconds,
        scrape.idle + (1.0 - doing.cpu) * seconds,
        scrape.busy + doing.cpu * seconds,
    )
