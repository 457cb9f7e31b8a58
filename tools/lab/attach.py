"""Bandmaster beside a lab, started as its operator would: `manage.py up`."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.lab.processes import Child, LabError, free_port, start, wait_until

MANAGE_PY = Path(__file__).resolve().parents[2] / "manage.py"
READY_SECONDS = 90.0
COMMAND_SECONDS = 60
TICK_SECONDS = 5
WINDOW_SECONDS = 20
NAME = "default"
DOCUMENT = """\
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection: {{kubeconfig: {kubeconfig}}}
leaderElection: {{leaderElect: true}}
profiles:
- schedulerName: default-scheduler
  plugins:
    score:
      enabled:
      - {{name: NetworkTraffic, weight: 5}}
"""


class Attached:
    """The running product: its ports, its commands."""

    def __init__(
        self, directory: Path, *, prometheus_url: str, kubeconfig: Path
    ) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.port = free_port()
        self.extender_port = free_port()
        self._kubeconfig = kubeconfig
        kept = {k: v for k, v in os.environ.items() if not k.startswith("BANDMASTER_")}
        kept.pop("DJANGO_SETTINGS_MODULE", None)
        self._environ = {
            **kept,
            "BANDMASTER_DATA_DIR": str(self.data),
            "BANDMASTER_PROMETHEUS_URL": prometheus_url,
            "BANDMASTER_KUBECONFIG": str(kubeconfig),
            "BANDMASTER_PORT": str(self.port),
            "BANDMASTER_EXTENDER_PORT": str(self.extender_port),
            "BANDMASTER_TICK_SECONDS": str(TICK_SECONDS),
            "BANDMASTER_WINDOW_SECONDS": str(WINDOW_SECONDS),
        }
        directory.mkdir(parents=True)
        self.child: Child = start(
            "manage.py up",
            [sys.executable, str(MANAGE_PY), "up"],
            log=directory / "up.log",
            env=self._environ,
            cwd=directory,
        )

    def wait(self) -> None:
        """Waits until all of it answers.

        Raises:
            LabError: it ended, or is not ready in time.
        """
        wait_until("manage.py up", self._is_ready, READY_SECONDS)

    def _is_ready(self) -> bool:
        self.child.require_alive()
        return "ready after" in self.child.tail(20_000)

    def manage(self, *arguments: str) -> str:
        """What a management command prints.

        Raises:
            LabError: it fails.
        """
        done = subprocess.run(
            [sys.executable, str(MANAGE_PY), *arguments],
            env=self._environ,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise LabError(f"{arguments[0]}: {done.stderr.strip()[-500:]}")
        return done.stdout

    @contextlib.contextmanager
    def read_database(self) -> Iterator[sqlite3.Connection]:
        """Its database, read only."""
        uri = f"file:{self.data / 'bandmaster.sqlite3'}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=10)
        try:
            yield connection
        finally:
            connection.close()

    def publish(self) -> Path:
        """Publishes the lab's document; the file to start kube-scheduler with."""
        source = self.directory / "operator.yaml"
        text = DOCUMENT.format(kubeconfig=self._kubeconfig)
        source.write_text(text, encoding="utf-8")
        self.manage(
            *("publish_configuration", str(source), "--configuration", NAME),
            *("--as", "admin", "--message", "for the lab's own scheduler"),
        )
        stock = self.directory / "scheduler.yaml"
        stock.touch(mode=0o600)  # it holds the extender's key
        stock.write_text(
            self.manage("compile_configuration", "--configuration", NAME, "--with-key"),
            encoding="utf-8",
        )
        return stock
