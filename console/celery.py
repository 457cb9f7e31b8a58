"""The Celery application: the same on the file queue and on Redis."""

from __future__ import annotations

import logging
import os
import warnings
from pathlib import Path
from typing import Any

from celery import Celery, bootsteps, signals
from celery.beat import EmbeddedService, Scheduler
from celery.exceptions import SecurityWarning
from click import Option
from django.conf import settings
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

from console import filequeue
from scoring import lifeline

TICKS = "ticks"
ROLLOUTS = "rollouts"  # apart, so that a roll-out never keeps a tick waiting

# One process is worker and clock. The clock is a thread: as a child process, which is
# what --beat starts, it would survive a kill -9 and tick twice for ever.
EMBEDDED_WORKER_ARGV = [
    *("--quiet", "worker", "--pool", "threads", "--concurrency", "4"),
    *(
        "--embedded-beat",
        "--queues",
        f"{TICKS},{ROLLOUTS}",
        "--without-gossip",
        "--without-mingle",
    ),
    *("--without-heartbeat", "--hostname", "embedded@%h"),
]

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "console.settings")
# system checks import every view: `up` and the build run them, a worker need not
os.environ.setdefault("CELERY_SKIP_CHECKS", "true")
filequeue.register()
logger = logging.getLogger(__name__)
NO_TICK = "no tick: the queue takes no message (%s)"

# about pickle, which is not accepted here; it would be the first thing root reads
warnings.filterwarnings("ignore", category=SecurityWarning)

app = Celery("bandmaster")


def _broker() -> dict[str, Any]:
    if settings.BROKER_URL:
        return {
            "broker_url": settings.BROKER_URL,
            "broker_transport_options": {"socket_connect_timeout": 3},
        }
    folder = Path(settings.DATA_DIR) / "queue"
    return {
        "broker_url": f"{filequeue.SCHEME}://localhost//",
        "broker_transport_options": filequeue.transport_options(folder),
    }


app.conf.update(
    **_broker(),
    broker_connection_retry_on_startup=True,
    broker_connection_timeout=3,
    broker_connection_max_retries=None,  # a worker never gives its broker up
    worker_cancel_long_running_tasks_on_connection_loss=True,
    task_publish_retry_policy={"max_retries": 1, "interval_start": 0.2},
    task_serializer="json",
    accept_content=["json"],
    task_ignore_result=True,
    task_queues=tuple(
        Queue(name, Exchange(name), routing_key=name) for name in (TICKS, ROLLOUTS)
    ),
    task_default_queue=TICKS,
    task_routes={"console.*": {"queue": ROLLOUTS}},
    worker_prefetch_multiplier=1,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    timezone="UTC",
    beat_scheduler="console.celery:Clock",
    beat_schedule={
        "ticks": {
            "task": "scoring.tick_all",
            "schedule": float(settings.TICK_SECONDS),
            # a late tick is worth nothing: the next one is already on its way
            "options": {"expires": float(settings.TICK_SECONDS), "queue": TICKS},
        }
    },
)
app.autodiscover_tasks()


class Clock(Scheduler):
    """The schedule in memory: nothing to lock or to lose.

    A queue that takes no message is a sentence; Celery logs two stacks each time.
    """

    def apply_entry(self, entry: Any, producer: Any = None) -> None:
        try:
            self.apply_async(entry, producer=producer, advance=False)
        except Exception as exc:  # noqa: BLE001 - the clock must not stop
            cause = exc.__context__ or exc  # Celery wraps what the queue said
            # one sentence, where a stack would be added each time
            logger.error(NO_TICK, " ".join(str(cause).split()))  # noqa: TRY400


class EmbeddedBeat(bootsteps.StartStopStep):
    """Runs the clock in a thread of the worker, when asked to."""

    label = "Embedded beat"
    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: Any, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = bool(options.get("embedded_beat"))
        self._service: Any = None

    def start(self, worker: Any) -> None:
        self._service = EmbeddedService(
            app, thread=True, scheduler_cls="console.celery:Clock"
        )
        self._service.start()

    def stop(self, worker: Any) -> None:
        if self._service is not None:
            self._service.stop()


app.steps["worker"].add(EmbeddedBeat)
app.user_options["worker"].add(
    Option(["--embedded-beat"], is_flag=True, help="Run the clock in a thread.")
)


@signals.setup_logging.connect
def keep_our_logging(**_: object) -> None:
    """With a receiver here, Celery leaves the log as the settings have it.

    Each tick writes one line of its own; three more about its task say nothing new.
    """
    for name in ("celery.app.trace", "celery.worker.strategy", "celery.beat"):
        logging.getLogger(name).setLevel(logging.WARNING)


@signals.worker_init.connect
def follow_supervisor(**_: object) -> None:
    lifeline.watch()


@signals.worker_ready.connect
def tick_at_once(**_: object) -> None:
    """The clock's first beat comes a whole interval after the start."""
    expires = float(settings.TICK_SECONDS)
    try:
        app.send_task("scoring.tick_all", expires=expires, queue=TICKS)
    except OperationalError as exc:
        logger.error(NO_TICK, exc)  # noqa: TRY400 - a sentence, no stack
