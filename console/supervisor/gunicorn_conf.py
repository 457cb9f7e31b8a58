"""How gunicorn serves the web process; read by gunicorn, not imported."""

from __future__ import annotations

from typing import Any

from scoring import lifeline

worker_class = "gthread"
workers = 1  # threads share the decoded snapshot; a second worker would hold it twice
threads = 8
timeout = 60
graceful_timeout = 5
keepalive = 15
# a control socket in the home directory would be shared by all instances of a user
control_socket_disable = True
loglevel = "warning"  # the supervisor tells of starts and ends


def on_starting(server: Any) -> None:
    lifeline.watch()


def post_worker_init(worker: Any) -> None:
    lifeline.watch()
