"""Keeps the state fresh, off the request path, in threads of this very process.

Threads do not survive a fork, so they start at the first request of each process id.
There are two: a database that hangs must not keep the kill switch's file unread.
"""

from __future__ import annotations

import gc
import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from django import db

from scoring import neutral
from scoring.extender.rows import NoCluster
from scoring.extender.state import ExtenderState, Facts
from scoring.extender.statefile import StateFile, StateFileError

logger = logging.getLogger(__name__)

POLL_SECONDS = 0.5
SWITCH_SECONDS = 0.25
WRITE_SECONDS = 5.0  # between two writes of the state file
TICK_SENTENCES_SECONDS = 5.0
SILENT_SECONDS = 5.0  # after which the database counts as not answering


class Source(Protocol):
    """Where facts come from."""

    def read(self, known: Facts | None) -> Facts | None:
        """New facts; None when nothing changed."""

    def tick_sentences(self) -> tuple[str, ...]:
        """What the newest tick has to say of its sources."""

    def release(self) -> None:
        """Give up what must not be held between two rounds."""


class Refresher:
    """Polls the database and the data directory for one `ExtenderState`."""

    def __init__(
        self,
        state: ExtenderState,
        source: Source,
        *,
        data_dir: Path,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._state = state
        self._source = source
        self._data_dir = data_dir
        self._clock = clock
        self._file = StateFile(data_dir)
        self._pid = 0
        self._stop = threading.Event()
        self._starting = threading.Lock()
        self._error = ""
        self._file_error = ""
        self._answered_at = 0.0  # monotonic seconds; 0 = never
        self._started_at = 0.0
        self._written: Facts | None = None
        self._written_at = -WRITE_SECONDS
        self._ticks: tuple[str, ...] = ()
        self._ticks_at = -TICK_SENTENCES_SECONDS
        self._chores: list[Callable[[], None]] = []

    def start_from_file(self, cluster: str) -> None:
        """Load what an earlier process left; any trouble is a sentence."""
        self._state.set_file_reason(neutral.file_reason(self._data_dir))
        try:
            facts = self._file.read(cluster)
        except StateFileError as exc:
            self._file_error = str(exc)
            logger.warning("%s", exc)
            return
        if facts is not None:
            self._state.load(facts, now=self._clock())

    def also(self, chore: Callable[[], None]) -> None:
        """Do this too, each time the kill switch's file is read."""
        self._chores.append(chore)

    def ensure(self) -> None:
        """Start the threads unless this process has them; cheap when it has."""
        if self._pid == os.getpid():
            return
        with self._starting:
            if self._pid == os.getpid():
                return
            self._state.after_fork()
            self._stop = threading.Event()
            self._started_at = time.monotonic()
            for target in (self._poll_rows, self._poll_switch):
                threading.Thread(
                    target=target, args=(self._stop,), name=target.__name__, daemon=True
                ).start()
            self._pid = os.getpid()

    def stop(self) -> None:
        """Let the threads end after their present round."""
        self._stop.set()
        self._pid = 0

    def sentences(self) -> tuple[str, ...]:
        """What is wrong with the sources of the state, for the operator."""
        found = [self._silence(), self._error, self._file_error, *self._ticks]
        return tuple(dict.fromkeys(sentence for sentence in found if sentence))

    def _silence(self) -> str:
        if self._error or not self._started_at:
            return ""
        since = self._answered_at or self._started_at
        seconds = time.monotonic() - since
        if seconds < SILENT_SECONDS:
            return ""
        return (
            f"The database has not answered for {seconds:.0f} seconds; answers are "
            "given from memory. Check that it runs and can be reached."
        )

    def _poll_rows(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.poll_once()
            stop.wait(POLL_SECONDS)

    def poll_once(self) -> None:
        """One round: read, load, write. Keeps the last good state on any error."""
        try:
            self._read()
        except NoCluster as exc:
            self._note(str(exc))
            self._answered_at = time.monotonic()
        except db.Error as exc:
            self._note(
                f"The database cannot be read ({type(exc).__name__}); answers are "
                "given from memory. Check that it runs, can be reached, is migrated "
                "and has room on its disk."
            )
        except Exception as exc:  # a thread that ends would freeze the state
            self._note(f"The state cannot be refreshed ({type(exc).__name__}).")
            logger.debug("refresh failed", exc_info=True)
        else:
            self._note("")
            self._answered_at = time.monotonic()
        self._write()

    def _read(self) -> None:
        try:
            self._read_source()
        finally:
            self._source.release()

    def _read_source(self) -> None:
        first = self._answered_at == 0.0
        facts = self._source.read(self._state.facts)
        if facts is not None:
            self._state.load(facts, now=self._clock())
            for sentence in facts.problems:
                logger.warning("%s", sentence)
        if time.monotonic() - self._ticks_at >= TICK_SENTENCES_SECONDS:
            self._ticks = self._source.tick_sentences()
            self._ticks_at = time.monotonic()
        if first:
            # what is loaded by now stays: the collector need not look at it again
            gc.collect()
            gc.freeze()

    def _note(self, sentence: str) -> None:
        """Into the log when it changes, not twice a second."""
        if sentence == self._error:
            return
        self._error = sentence
        if sentence:
            logger.error("%s", sentence)
        else:
            logger.info("The database answers again.")

    def _write(self) -> None:
        facts = self._state.facts
        if facts is None or facts is self._written or self._answered_at == 0.0:
            return
        if time.monotonic() - self._written_at < WRITE_SECONDS:
            return
        self._written_at = time.monotonic()
        try:
            self._file.write(facts)
        except StateFileError as exc:
            if str(exc) != self._file_error:
                logger.warning("%s", exc)
            self._file_error = str(exc)
        else:
            self._written = facts
            self._file_error = ""

    def _poll_switch(self, stop: threading.Event) -> None:
        while not stop.is_set():
            self.switch_once()
            stop.wait(SWITCH_SECONDS)

    def switch_once(self) -> None:
        """Read the kill switch's file, and prepare anew what ageing has overtaken."""
        self._state.set_file_reason(neutral.file_reason(self._data_dir))
        try:
            self._state.view_at(self._clock())
            for chore in self._chores:
                chore()
        except Exception as exc:  # noqa: BLE001 - the thread also watches the file
            logger.error("The view cannot be renewed (%s).", type(exc).__name__)  # noqa: TRY400
