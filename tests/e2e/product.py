"""Bandmaster as its operator starts it: `manage.py up`, in a directory of its own."""

from __future__ import annotations

import base64
import contextlib
import http.client
import json
import os
import sqlite3
import subprocess
import sys
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.lab.processes import Child, LabError, free_port, start, wait_until

ROOT = Path(__file__).resolve().parents[2]
TICK_SECONDS = 5
WINDOW_SECONDS = 20
START_SECONDS = 90.0


@dataclass(frozen=True, slots=True)
class Tick:
    """The newest tick of the database."""

    outcome: str
    prometheus_error: str
    cluster_error: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The extender entry of a stock document, to ask as kube-scheduler asks."""

    prefix: str
    filter_verb: str
    prioritize_verb: str

    @classmethod
    def of(cls, stock: str) -> Entry:
        found = yaml.safe_load(stock)["extenders"][-1]
        return cls(
            found["urlPrefix"],
            found.get("filterVerb", ""),
            found.get("prioritizeVerb", ""),
        )


class Product:
    """The running product; use as a context manager."""

    def __init__(
        self,
        directory: Path,
        *,
        prometheus_url: str,
        kubeconfig: Path,
        database_url: str = "",
    ) -> None:
        self.directory = directory
        self.data = directory / "data"
        self.port = free_port()
        self.extender_port = free_port()
        kept = {k: v for k, v in os.environ.items() if not k.startswith("BANDMASTER_")}
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
        if database_url:
            self._environ["BANDMASTER_DATABASE_URL"] = database_url
        self._environ.pop("DJANGO_SETTINGS_MODULE", None)
        self._child: Child | None = None

    @property
    def child(self) -> Child:
        if self._child is None:
            raise LabError("the product is not started")
        return self._child

    @property
    def database(self) -> Path:
        return self.data / "bandmaster.sqlite3"

    def __enter__(self) -> Product:
        self.directory.mkdir(parents=True)
        self._child = start(
            "manage.py up",
            [sys.executable, str(ROOT / "manage.py"), "up"],
            log=self.directory / "up.log",
            env=self._environ,
            cwd=self.directory,
        )
        try:
            wait_until("manage.py up", self._is_ready, START_SECONDS)
        except BaseException:
            print(self.child.tail(4000))
            self.stop()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.child.stop()

    def _is_ready(self) -> bool:
        self.child.require_alive()
        return "ready after" in self.child.tail(20_000)

    def log(self) -> str:
        return self.child.log.read_text(encoding="utf-8", errors="replace")

    def manage(self, *arguments: str, check: bool = True) -> str:
        """What a management command prints; its errors fail the test."""
        done = subprocess.run(
            [sys.executable, str(ROOT / "manage.py"), *arguments],
            env=self._environ,
            cwd=self.directory,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        if check and done.returncode != 0:
            raise LabError(f"{arguments[0]}: {done.stderr[-1500:]}")
        return done.stdout

    def publish(self, name: str, text: str) -> Path:
        """Publishes a document; the file that kube-scheduler is started with."""
        source = self.directory / f"{name}.operator.yaml"
        source.write_text(text, encoding="utf-8")
        self.manage(
            *("publish_configuration", str(source), "--configuration", name),
            *("--as", "admin", "--message", "for the control plane"),
        )
        stock = self.directory / f"{name}.stock.yaml"
        stock.write_text(
            self.manage("compile_configuration", "--configuration", name, "--with-key"),
            encoding="utf-8",
        )
        return stock

    def last_tick(self) -> Tick:
        """The newest finished tick."""
        query = (
            "select outcome, prometheus_error, cluster_error from scoring_tick "
            "where finished_at is not null order by id desc limit 1"
        )
        with self.read_database() as database:
            row = database.execute(query).fetchone()
        return Tick(*row) if row else Tick("", "", "")

    @contextlib.contextmanager
    def read_database(self) -> Iterator[sqlite3.Connection]:
        uri = f"file:{self.database}?mode=ro"
        connection = sqlite3.connect(uri, uri=True, timeout=10)
        try:
            yield connection
        finally:
            connection.close()

    def ask(
        self, stock: Path, verb: str, pod: Mapping[str, Any], names: Sequence[str]
    ) -> Any:
        """Calls the extender with the entry's own URL, key and query."""
        entry = Entry.of(stock.read_text(encoding="utf-8"))
        parts = urllib.parse.urlsplit(entry.prefix)
        login = f"{parts.username}:{urllib.parse.unquote(parts.password or '')}"
        headers = {
            "Content-Type": "application/json",
            "Authorization": "Basic " + base64.b64encode(login.encode()).decode(),
        }
        tail = entry.filter_verb if verb == "filter" else entry.prioritize_verb
        body = json.dumps({"Pod": pod, "Nodes": None, "NodeNames": list(names)})
        status, text = self._post(f"{parts.path}/{tail}", body, headers)
        if status != 200:
            raise LabError(f"{verb}: {status}: {text[:300]}")
        return json.loads(text)

    def priorities(
        self, stock: Path, pod: Mapping[str, Any], names: Sequence[str]
    ) -> dict[str, int]:
        answer = self.ask(stock, "prioritize", pod, names)
        return {item["Host"]: item["Score"] for item in answer}

    def _post(self, path: str, body: str, headers: dict[str, str]) -> tuple[int, str]:
        connection = http.client.HTTPConnection(
            "127.0.0.1", self.extender_port, timeout=5
        )
        try:
            connection.request("POST", path, body, headers)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def process_ids(self) -> dict[str, int]:
        """Name -> process id of the children of `up` that run now."""
        found: dict[str, int] = {}
        signs = {
            "web": "console.wsgi",
            "extender": "scoring.extender.serve",
            "worker": "console.celery",
        }
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                command = (entry / "cmdline").read_text()
                if int(parent) == self.child.pid:
                    found |= {
                        name: int(entry.name)
                        for name, sign in signs.items()
                        if sign in command
                    }
        return found

    def is_alive(self) -> bool:
        """Whether web and extender both answer /livez, as a kubelet would ask."""
        ports = (self.port, self.extender_port)
        return all(self._get(port, "/livez") != "" for port in ports)

    def extender_metrics(self) -> str:
        return self._get(self.extender_port, "/metrics")

    def _get(self, port: int, path: str) -> str:
        """The text of a page; an empty one when there is no 200."""
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException):
            return ""
        finally:
            connection.close()
        return text if response.status == 200 else ""
