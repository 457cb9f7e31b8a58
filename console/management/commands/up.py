"""Shows `manage.py help up`, and hands a call over to the supervisor.

`manage.py up` itself never comes here: the supervisor runs without Django.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand

MANAGE_PY = Path(__file__).resolve().parents[3] / "manage.py"
OPTIONS = ("host", "port", "extender_port")


class Command(BaseCommand):
    help = (
        "Start everything on this machine: web, extender, worker and, when neither a "
        "Prometheus nor a cluster is named, the simulator. Ctrl-C ends it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--host", help="address to listen on (127.0.0.1)")
        parser.add_argument("--port", help="port of the web pages (8000)")
        parser.add_argument("--extender-port", help="port of the extender (8001)")

    def handle(self, *args: Any, **options: Any) -> None:
        argv = [sys.executable, str(MANAGE_PY), "up"]
        for name in OPTIONS:
            if options[name] is not None:
                argv += [f"--{name.replace('_', '-')}", str(options[name])]
        os.execv(sys.executable, argv)  # noqa: S606 - a fixed program, no shell
