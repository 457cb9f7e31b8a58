"""A small kube-scheduler: one pod at a time, our extender asked as the real one asks.

Rules: https://github.com/kubernetes/kubernetes/blob/master/pkg/scheduler/extender.go
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scoring.simulation import placement
from scoring.simulation.objects import Json, pod_object
from scoring.simulation.world import BindingError
from scoring.simulator import stock
from scoring.simulator.cluster import Candidates, SimulatedCluster, VersionedPod
from scoring.simulator.extender import Extender, ExtenderError
from scoring.simulator.stock import Stock, StockError

logger = logging.getLogger(__name__)

FIRST_BACK_OFF = 1.0  # seconds; podInitialBackoffSeconds
LONGEST_BACK_OFF = 10.0  # seconds; podMaxBackoffSeconds
PATIENCE = 10.0  # seconds of faults before one is told: an extender may be starting


@dataclass(frozen=True, slots=True)
class _Wait:
    """A pod that found no node."""

    attempts: int
    until: float  # monotonic


class Announcer:
    """Logs a state once when it begins, not each time it is met."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._states: dict[str, str] = {}
        self._faulty_since: dict[str, float] = {}

    def fault(self, subject: str, sentence: str) -> None:
        """`subject` is faulty; told once it has been so for PATIENCE."""
        now = self._clock()
        if now - self._faulty_since.setdefault(subject, now) >= PATIENCE:
            self._tell(subject, sentence)

    def state(self, subject: str, sentence: str) -> None:
        """`subject` is now as `sentence` says; an empty one is not worth a line."""
        self._faulty_since.pop(subject, None)
        self._tell(subject, sentence)

    def _tell(self, subject: str, sentence: str) -> None:
        if self._states.get(subject, "") == sentence:
            return
        self._states[subject] = sentence
        if sentence:
            logger.info("%s", sentence)


class DocumentWatch:
    """The stock document on disk, read again when it changes."""

    def __init__(self, path: Path | None, extender_url: str) -> None:
        self._path = path
        self._extender_url = extender_url
        self._seen: tuple[int, int, int] | None = None
        self._told_missing = False

    def changed(self) -> Stock | None:
        """The document when it is new; None when it is as before.

        Without a file there are no extenders. Raises StockError, once per change.
        """
        if self._path is None:
            return self._missing()
        try:
            stat = self._path.stat()
            mark = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if mark == self._seen:
                return None
            # marked before reading: a change while reading is read again
            self._seen = mark
            if stat.st_size > stock.LARGEST:
                raise StockError(f"{self._path} is larger than 1 MB")
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return self._missing()
        except (OSError, UnicodeError) as exc:
            sentence = f"{self._path} cannot be read ({type(exc).__name__})"
            raise StockError(sentence) from exc
        self._told_missing = False
        return stock.parse(text, extender_url=self._extender_url)

    def _missing(self) -> Stock | None:
        self._seen = None
        already, self._told_missing = self._told_missing, True
        return None if already else Stock()


class Scheduler:
    """Places waiting pods. For one thread."""

    def __init__(
        self,
        cluster: SimulatedCluster,
        document: DocumentWatch,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._document = document
        self._clock = clock
        self._announcer = Announcer(clock)
        self._scheduler_names = Stock().scheduler_names
        self._extenders: tuple[Extender, ...] = ()
        self._waits: dict[str, _Wait] = {}

    def turn(self) -> int:
        """Read a changed document, then try each pod that is due; how many got a node.

        Never raises for a fault of the document or of an extender.
        """
        self._reload()
        waiting = self._cluster.waiting()
        keys = {one.pod.key for one in waiting}
        self._waits = {k: wait for k, wait in self._waits.items() if k in keys}
        placed = 0
        for one in waiting:
            if one.pod.scheduler_name in self._scheduler_names and self._is_due(one):
                placed += self._place(one)
        return placed

    def close(self) -> None:
        """Drop the connections."""
        for extender in self._extenders:
            extender.close()

    def _reload(self) -> None:
        try:
            found = self._document.changed()
        except StockError as exc:
            self._announcer.state("document", f"{exc}; going on with what was before")
            return
        if found is None:
            return
        self.close()
        self._extenders = tuple(Extender(entry) for entry in found.entries)
        self._scheduler_names = found.scheduler_names
        self._cluster.use_scheduler_names(found.scheduler_names)
        self._announcer.state("document", _told(found))

    def _is_due(self, one: VersionedPod) -> bool:
        wait = self._waits.get(one.pod.key)
        return wait is None or wait.until <= self._clock()

    def _place(self, one: VersionedPod) -> bool:
        candidates = self._cluster.candidates(one.pod)
        pod = pod_object(one.pod, version=one.version)
        try:
            totals = self._filtered(pod, candidates)
        except ExtenderError as exc:
            self._announcer.fault("filter", f"{exc}: pods wait for it")
            return self._back_off(one)
        if not totals:
            return self._back_off(one)
        if len(totals) > 1:
            totals = self._prioritized(pod, candidates, totals)
        try:
            self._cluster.bind(one.pod.key, self._cluster.choose(totals))
        except BindingError:  # someone else was faster
            return False
        self._waits.pop(one.pod.key, None)
        return True

    def _filtered(self, pod: Json, candidates: Candidates) -> dict[str, int]:
        """The totals of the nodes that pass. Raises ExtenderError."""
        totals = candidates.totals
        for extender in self._concerned(pod):
            if not totals or not extender.entry.filter_verb:
                continue
            try:
                passed = set(extender.filter(pod, _kept(candidates, totals)))
            except ExtenderError as exc:
                if not extender.entry.ignorable:
                    raise
                self._announcer.fault("filter", f"{exc}: going on without its filter")
                continue
            self._announcer.state("filter", "")
            totals = {name: total for name, total in totals.items() if name in passed}
        return totals

    def _prioritized(
        self, pod: Json, candidates: Candidates, totals: dict[str, int]
    ) -> dict[str, int]:
        nodes = _kept(candidates, totals)
        for extender in self._concerned(pod):
            if not extender.entry.prioritize_verb:
                continue
            try:
                scores = extender.prioritize(pod, nodes)
            except ExtenderError as exc:
                sentence = f"{exc}: going on without its scores"
                self._announcer.fault("prioritize", sentence)
                continue
            sentence = f"scores come from {extender.entry.address}"
            self._announcer.state("prioritize", sentence)
            totals = placement.add_extender(totals, scores, extender.entry.weight)
        return totals

    def _concerned(self, pod: Json) -> list[Extender]:
        return [one for one in self._extenders if one.concerns(pod)]

    def _back_off(self, one: VersionedPod) -> bool:
        before = self._waits.get(one.pod.key)
        attempts = before.attempts + 1 if before else 1
        seconds = min(LONGEST_BACK_OFF, FIRST_BACK_OFF * 2.0 ** min(attempts - 1, 9))
        self._waits[one.pod.key] = _Wait(attempts, self._clock() + seconds)
        return False


def _kept(candidates: Candidates, totals: dict[str, int]) -> list[Json]:
    return [n for n in candidates.node_objects if n["metadata"]["name"] in totals]


def _told(found: Stock) -> str:
    if not found.entries:
        told = "scheduling without an extender"
    else:
        told = "scheduling with " + ", ".join(one.address for one in found.entries)
    profiles = ", ".join(found.scheduler_names)
    others = found.left_out
    left_out = f"; {others} extenders of others are left out" if others else ""
    return f"{told} for {profiles}{left_out}"
