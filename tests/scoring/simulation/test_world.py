from __future__ import annotations

import gc
import random
import tracemalloc

import pytest

from scoring.simulation import placement
from scoring.simulation.evaluation import evaluate
from scoring.simulation.pods import LONGEST_LIFE
from scoring.simulation.world import (
    LONGEST_CATCH_UP,
    MOST_WAITING,
    PAUSE_AFTER,
    PAUSE_SECONDS,
    BindingError,
    Change,
    UnknownPod,
    World,
)
from tests.scoring.simulation.worlds import START, world

RECEIVE = 'rate(node_network_receive_bytes_total{{device="eth0",instance="{}"}}[1m])'
AGE = 'time() - timestamp(up{{instance="{}"}})'


def value(of: World, query: str) -> float | None:
    """The value of a query for one node; None when it has no data."""
    found = evaluate(query, of.scrapes, at=float(of.now))
    assert isinstance(found, list)
    return found[0].value if found else None


def test_the_same_seed_is_the_same_world() -> None:
    one, other = world(seed=5, lived=300), world(seed=5, lived=300)
    assert one.pods() == other.pods()
    for node in one.nodes:
        query = RECEIVE.format(node.exporter)
        assert value(one, query) == value(other, query) is not None
    assert world(seed=6, lived=300).pods() != one.pods()


def test_how_often_the_world_is_advanced_does_not_matter() -> None:
    often, seldom = world(), world()
    for tenth in range(1, 301):
        often.advance(START + tenth / 10)
    seldom.advance(START + 30)
    assert often.pods() == seldom.pods()
    assert often.now == seldom.now


def test_a_node_with_more_pods_shows_more_bytes() -> None:
    busy, quiet = world(), world()
    node = busy.nodes[1]
    busy.advance(START + 60)
    quiet.advance(START + 60)
    for pod in busy.waiting():
        busy.bind(pod.key, node.name)
    busy.advance(START + 150)
    quiet.advance(START + 150)
    query = RECEIVE.format(node.exporter)
    extra = sum(pod.receive for pod in busy.running(node.name)[1:])
    more, less = value(busy, query), value(quiet, query)
    assert more is not None
    assert less is not None
    assert more - less == pytest.approx(extra, rel=0.2)


def test_pods_that_are_done_are_gone() -> None:
    made = world(lived=LONGEST_LIFE * 3)
    changes: list[Change] = []
    made.listener = changes.append
    before = {pod.key for pod in made.pods() if not pod.daemon}
    placement.live_through(made, random.Random(1), made.now + LONGEST_LIFE + 1)
    ended = {change.pod.key for change in changes if change.kind == "DELETED"}
    assert before <= ended
    assert not before & {pod.key for pod in made.pods()}
    assert sum(pod.daemon for pod in made.pods()) == len(made.nodes)


def test_memory_does_not_grow_with_time() -> None:
    made = world(lived=1800)
    tracemalloc.start()
    try:
        dice = random.Random(1)
        placement.live_through(made, dice, made.now + 1200)
        gc.collect()  # lists of free tuples are no growth
        first, _ = tracemalloc.get_traced_memory()
        placement.live_through(made, dice, made.now + 2400)
        gc.collect()
        second, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert second - first < 50_000


def test_arrivals_stop_while_many_wait() -> None:
    made = world()
    made.advance(START + 800)
    assert len(made.waiting()) == MOST_WAITING


def test_samples_come_only_with_scrapes() -> None:
    made = world(lived=120)
    ages = []
    for node in made.nodes:
        age = value(made, AGE.format(node.exporter))
        assert age is not None
        ages.append(age)
    assert all(0 <= age < 15.001 for age in ages)
    assert len({round(age, 3) for age in ages}) == len(ages)


def test_a_paused_exporter_grows_old_and_then_vanishes() -> None:
    made = world(lived=660)
    made.open()
    node = next(node for node in made.nodes if node.pauses)
    age, speed = AGE.format(node.exporter), RECEIVE.format(node.exporter)
    dice = random.Random(1)
    opened = made.now
    placement.live_through(made, dice, opened + PAUSE_AFTER + 90)
    old = value(made, age)
    assert old is not None
    assert 75 <= old <= 106
    assert value(made, speed) is None  # fewer than two samples in the window
    placement.live_through(made, dice, opened + PAUSE_AFTER + 320)
    assert value(made, age) is None  # beyond the look-back
    placement.live_through(made, dice, opened + PAUSE_AFTER + PAUSE_SECONDS + 60)
    again = value(made, age)
    assert again is not None
    assert again < 15.001
    assert value(made, speed) is not None


def test_nobody_pauses_before_the_opening() -> None:
    made = world(lived=PAUSE_AFTER + 60)
    assert not any(made.is_paused(node, made.now) for node in made.nodes)


def test_what_a_suspended_machine_missed_is_lost() -> None:
    made = world()
    made.advance(START + 10 * LONGEST_CATCH_UP + 0.5)
    assert made.now == START + 10 * LONGEST_CATCH_UP
    assert len(made.waiting()) <= MOST_WAITING
    made.advance(START)  # a clock that was set back changes nothing
    assert made.now == START + 10 * LONGEST_CATCH_UP


def test_pods_ask_for_the_schedulers_that_there_are() -> None:
    made = world()
    made.scheduler_names = ("one", "two")
    made.advance(START + 100)
    assert {pod.scheduler_name for pod in made.waiting()} == {"one", "two"}


def test_bindings_are_refused_in_words() -> None:
    made = world()
    made.advance(START + 30)
    first, second = made.waiting()[:2]
    bound = made.bind(first.key, made.nodes[1].name)
    assert made.pod(first.key) == bound
    assert bound in made.running(made.nodes[1].name)
    with pytest.raises(BindingError, match="already assigned to"):
        made.bind(first.key, made.nodes[2].name)
    with pytest.raises(BindingError, match='node "nowhere" not found'):
        made.bind(second.key, "nowhere")
    with pytest.raises(UnknownPod, match='"shop/nobody" not found'):
        made.bind("shop/nobody", made.nodes[1].name)
    assert made.pod("shop/nobody") is None
