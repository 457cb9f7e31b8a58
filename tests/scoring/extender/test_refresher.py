from __future__ import annotations

import logging
import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django import db

from scoring import neutral
from scoring.extender import refresher as module
from scoring.extender.refresher import Refresher
from scoring.extender.rows import NoCluster
from scoring.extender.state import ExtenderState, Facts
from scoring.extender.statefile import FILE_NAME, StateFile
from tests.scoring.extender import material
from tests.scoring.extender.material import NOW


class Fleeting:
    """A source of facts whose faults a real database gives only with luck."""

    def __init__(self, facts: Facts | None = None) -> None:
        self.facts = facts
        self.fault: Exception | None = None
        self.hang = threading.Event()
        self.hang.set()
        self.reads = 0

    def read(self, known: Facts | None) -> Facts | None:
        self.reads += 1
        self.hang.wait(30)
        if self.fault is not None:
            raise self.fault
        return None if known is self.facts else self.facts

    def tick_sentences(self) -> tuple[str, ...]:
        return ("Prometheus does not answer.",)

    def release(self) -> None:
        """Holds nothing."""


def make(tmp_path: Path, source: Fleeting) -> tuple[ExtenderState, Refresher]:
    state = ExtenderState()
    return state, Refresher(state, source, data_dir=tmp_path, clock=lambda: NOW)


@contextmanager
def started(refresher: Refresher) -> Iterator[None]:
    refresher.ensure()
    try:
        yield
    finally:
        refresher.stop()


def within(seconds: float, ready: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if ready():
            return True
        time.sleep(0.01)
    return ready()


def test_what_the_source_holds_is_loaded_within_a_second(tmp_path: Path) -> None:
    source = Fleeting(material.facts(of=material.snapshot()))
    state, refresher = make(tmp_path, source)
    with started(refresher):
        assert within(1, lambda: state.facts is source.facts)
        source.facts = material.facts(of=material.snapshot(version=2), counter=2)
        assert within(1, lambda: state.facts is source.facts)


def test_threads_start_once(tmp_path: Path) -> None:
    _, refresher = make(tmp_path, Fleeting(material.facts()))
    before = threading.active_count()
    with started(refresher):
        for _ in range(5):
            refresher.ensure()
        assert threading.active_count() == before + 2


def _in_child(refresher: Refresher, state: ExtenderState) -> None:
    refresher.ensure()
    code = 0 if within(3, lambda: state.facts is not None) else 1
    os._exit(code)


def test_a_forked_worker_has_threads_of_its_own(tmp_path: Path) -> None:
    source = Fleeting(material.facts())
    state, refresher = make(tmp_path, source)
    refresher.ensure()
    refresher._stop.set()  # the parent's threads end; nothing is loaded by them
    state._facts = None
    child = multiprocessing.get_context("fork").Process(
        target=_in_child, args=(refresher, state)
    )
    child.start()
    child.join(10)
    assert child.exitcode == 0
    refresher.stop()


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        pytest.param(db.OperationalError("no"), "database cannot be read", id="down"),
        pytest.param(db.InterfaceError("no"), "database cannot be read", id="closed"),
        pytest.param(NoCluster("No cluster."), "No cluster.", id="no cluster"),
        pytest.param(ZeroDivisionError(), "ZeroDivisionError", id="a fault of ours"),
    ],
)
def test_an_error_keeps_the_last_good_state_and_is_one_sentence(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    fault: Exception,
    expected: str,
) -> None:
    source = Fleeting(material.facts(of=material.snapshot()))
    state, refresher = make(tmp_path, source)
    refresher.poll_once()
    view = state.view
    source.fault = fault
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            refresher.poll_once()
    assert state.view is view
    assert any(expected in sentence for sentence in refresher.sentences())
    told = [r for r in caplog.records if r.name == module.__name__]
    assert len(told) == 1
    assert told[0].exc_info is None
    source.fault = None
    refresher.poll_once()
    assert not any(expected in sentence for sentence in refresher.sentences())


def test_a_database_that_hangs_stops_neither_answers_nor_the_file_switch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENT_SECONDS", 0.3)
    source = Fleeting(material.facts(of=material.snapshot()))
    state, refresher = make(tmp_path, source)
    with started(refresher):
        assert within(2, lambda: state.facts is not None)
        source.hang.clear()
        assert within(
            3, lambda: any("has not answered" in s for s in refresher.sentences())
        )
        assert state.view_at(NOW).loaded
        neutral.write_neutral_file(tmp_path, "the database hangs")
        assert within(1, lambda: state.view.neutral)
        neutral.remove_neutral_file(tmp_path)
        assert within(1, lambda: not state.view.neutral)
        source.hang.set()
        assert within(2, lambda: not state.view.neutral and not refresher._silence())


def test_the_state_is_written_when_it_changed_and_not_at_every_poll(
    tmp_path: Path,
) -> None:
    source = Fleeting(material.facts(of=material.snapshot()))
    _, refresher = make(tmp_path, source)
    refresher.poll_once()
    path = tmp_path / FILE_NAME
    first = path.stat().st_mtime_ns
    refresher.poll_once()
    source.facts = material.facts(of=material.snapshot(version=2), counter=2)
    refresher.poll_once()
    assert path.stat().st_mtime_ns == first, "written twice within seconds"
    refresher._written_at -= module.WRITE_SECONDS
    refresher.poll_once()
    kept = StateFile(tmp_path).read("default")
    assert kept is not None
    assert kept.stored.snapshot is not None
    assert kept.stored.snapshot.version == 2


def test_a_start_without_a_database_goes_on_from_the_file(tmp_path: Path) -> None:
    StateFile(tmp_path).write(material.facts(of=material.snapshot(version=7)))
    source = Fleeting()
    source.fault = db.OperationalError("dead")
    state, refresher = make(tmp_path, source)
    refresher.start_from_file("default")
    refresher.poll_once()
    assert state.view.loaded
    assert state.view.snapshot is not None
    assert state.view.snapshot.version == 7
    assert (tmp_path / FILE_NAME).exists()


def test_a_file_of_no_use_starts_empty_with_a_sentence(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"rubbish")
    state, refresher = make(tmp_path, Fleeting())
    refresher.start_from_file("default")
    assert not state.view.loaded
    assert any("damaged" in sentence for sentence in refresher.sentences())


def test_a_directory_that_cannot_be_written_is_a_sentence_and_no_more(
    tmp_path: Path,
) -> None:
    source = Fleeting(material.facts(of=material.snapshot()))
    state, refresher = make(tmp_path / "missing", source)
    refresher.poll_once()
    assert state.view.loaded
    assert any("cannot be written" in sentence for sentence in refresher.sentences())


def test_the_newest_tick_speaks_too(tmp_path: Path) -> None:
    _, refresher = make(tmp_path, Fleeting(material.facts()))
    refresher.poll_once()
    assert "Prometheus does not answer." in refresher.sentences()
