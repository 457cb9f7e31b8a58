from __future__ import annotations

import celery
import pytest
from kombu.exceptions import OperationalError

from console.celery import (
    EMBEDDED_WORKER_ARGV,
    ROLLOUTS,
    TICKS,
    Clock,
    app,
    tick_at_once,
)
from scoring import tasks
from scoring.models import Cluster


@pytest.fixture(autouse=True)
def _every_task() -> None:
    app.loader.import_default_modules()


def test_a_rollout_has_a_queue_of_its_own() -> None:
    assert (
        app.amqp.router.route({}, "console.rollout", (), {})["queue"].name == ROLLOUTS
    )
    assert app.amqp.router.route({}, "scoring.tick", (), {})["queue"].name == TICKS
    assert f"{TICKS},{ROLLOUTS}" in EMBEDDED_WORKER_ARGV


def test_a_late_tick_expires_with_its_interval() -> None:
    [entry] = app.conf.beat_schedule.values()
    assert entry["task"] == "scoring.tick_all"
    assert entry["options"]["expires"] == entry["schedule"]


def test_tasks_are_found_and_keep_no_results() -> None:
    assert {"scoring.tick", "scoring.tick_all"} <= set(app.tasks)
    assert app.conf.task_ignore_result
    assert not app.conf.task_acks_late, "a killed tick is not repeated"
    assert app.conf.worker_prefetch_multiplier == 1
    assert not app.conf.worker_enable_remote_control


def test_only_json_is_accepted() -> None:
    assert app.conf.accept_content == ["json"]


def test_the_clock_is_no_child_process() -> None:
    assert "--beat" not in EMBEDDED_WORKER_ARGV
    assert "-B" not in EMBEDDED_WORKER_ARGV
    assert "--embedded-beat" in EMBEDDED_WORKER_ARGV


@pytest.mark.parametrize("name", ["scoring.tick", "scoring.tick_all"])
def test_tasks_belong_to_our_application(name: str) -> None:
    assert celery.current_app.tasks[name].app is app


def broken_queue(*_: object, **__: object) -> None:
    raise OperationalError("the folder q cannot be written:\nNo space left on device")


@pytest.mark.parametrize("sender", ["clock", "start", "tick_all"])
def test_a_queue_that_takes_no_message_is_one_sentence(
    sender: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    db: None,
) -> None:
    Cluster.objects.create(name="default", extender_url="http://127.0.0.1:1")
    monkeypatch.setattr(app.amqp, "send_task_message", broken_queue)
    if sender == "clock":
        assert app.conf.beat_scheduler == "console.celery:Clock"
        clock = Clock(app)
        [entry] = clock.schedule.values()
        clock.apply_entry(entry)
    elif sender == "start":
        tick_at_once()
    else:
        tasks.tick_all()
    [record] = caplog.records
    assert "no tick: the queue" in record.getMessage()
    assert "No space left on device" in record.getMessage()
    assert record.exc_info is None
