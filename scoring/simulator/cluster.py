"""The simulated world for threads: one lock, real time, and what changed lately."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from scoring.simulation import placement
from scoring.simulation.dice import Dice
from scoring.simulation.evaluation import Value, evaluate
from scoring.simulation.fleet import build_fleet
from scoring.simulation.objects import Json, node_object
from scoring.simulation.pods import Pod
from scoring.simulation.world import Change, World

PAST_SECONDS = 660.0  # lived through before the opening: the first rates need samples
KEPT_CHANGES = 1024  # a watch that fell further behind must list again


class Gone(Exception):
    """The changes since that version are no longer kept."""


@dataclass(frozen=True, slots=True)
class VersionedPod:
    """A pod with the resource version of its last change."""

    pod: Pod
    version: int


@dataclass(frozen=True, slots=True)
class Event:
    """A change with its resource version, as a watch tells it."""

    kind: str
    pod: Pod
    version: int


@dataclass(frozen=True, slots=True)
class Candidates:
    """Where a pod may go, and what the scheduler's own plugins give."""

    totals: dict[str, int]
    node_objects: tuple[Json, ...]


class SimulatedCluster:
    """Everything that the HTTP interfaces and the scheduler share."""

    def __init__(self, count: int, dice: Dice, *, clock: Callable[[], float]) -> None:
        now = clock()
        nodes = build_fleet(count, dice)
        world = World(nodes, dice, start=now - PAST_SECONDS)
        placement.live_through(world, dice, now)
        world.open()
        self._world = world
        self._dice = dice
        self._clock = clock
        self._changed = threading.Condition()
        self._events: deque[Event] = deque(maxlen=KEPT_CHANGES)
        self._version = 1
        self._versions = {pod.key: 1 for pod in world.pods()}
        self._created = now - PAST_SECONDS
        world.listener = self._record

    def advance(self) -> None:
        """Let the world live until the present."""
        with self._changed:
            self._world.advance(self._clock())

    def evaluate(self, query: str, at: float | None) -> tuple[float, Value]:
        """The moment of evaluation and the value. Raises PromqlError."""
        moment = self._clock() if at is None else at
        with self._changed:
            return moment, evaluate(query, self._world.scrapes, at=moment)

    def metrics(self) -> tuple[str, ...]:
        """The names of all metrics."""
        return self._world.scrapes.metrics()

    def node_objects(self) -> tuple[Json, ...]:
        """All nodes as API objects; they never change."""
        return tuple(
            node_object(node, created=self._created) for node in self._world.nodes
        )

    def pods(self) -> tuple[int, tuple[VersionedPod, ...]]:
        """The present resource version and all pods."""
        with self._changed:
            return self._version, tuple(
                VersionedPod(pod, self._versions[pod.key]) for pod in self._world.pods()
            )

    def pod(self, key: str) -> VersionedPod | None:
        """The pod of that namespace/name."""
        with self._changed:
            found = self._world.pod(key)
            return VersionedPod(found, self._versions[key]) if found else None

    def bind(self, key: str, node: str) -> Pod:
        """Start a waiting pod on a node. Raises BindingError."""
        with self._changed:
            return self._world.bind(key, node)

    def waiting(self) -> tuple[VersionedPod, ...]:
        """Pods without a node, the longest waiting first."""
        with self._changed:
            return tuple(
                VersionedPod(pod, self._versions[pod.key])
                for pod in self._world.waiting()
            )

    def candidates(self, pod: Pod) -> Candidates:
        """The nodes that have room for `pod`."""
        with self._changed:
            nodes = placement.feasible(self._world, pod)
            totals = placement.own_totals(self._world, nodes, pod)
        objects = tuple(node_object(node, created=self._created) for node in nodes)
        return Candidates(totals, objects)

    def choose(self, totals: dict[str, int]) -> str:
        """A best node, by chance among equals."""
        with self._changed:
            return placement.choose(totals, self._dice)

    def use_scheduler_names(self, names: tuple[str, ...]) -> None:
        """Pods that come from now on ask for one of these schedulers."""
        with self._changed:
            self._world.scheduler_names = names

    def events_after(self, version: int, timeout: float) -> tuple[int, list[Event]]:
        """What changed after `version`, and the present version.

        Waits up to `timeout` seconds for something to change. Raises Gone.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._version > version, timeout)
            kept = self._events[0].version if self._events else self._version + 1
            if version + 1 < kept and version < self._version:
                raise Gone
            return self._version, [e for e in self._events if e.version > version]

    def _record(self, change: Change) -> None:
        # the world calls from inside a locked method
        self._version += 1
        key = change.pod.key
        if change.kind == "DELETED":
            del self._versions[key]
        else:
            self._versions[key] = self._version
        self._events.append(Event(change.kind, change.pod, self._version))
        self._changed.notify_all()
