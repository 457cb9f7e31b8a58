"""The extender as it really runs: granian in processes of its own."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scoring.extender.serve import GRANIAN_ENV, granian_argv
from tests.scoring.extender import material
from tests.scoring.extender.material import PRIORITIZE, QUERY
from tests.servers import accepts, free_port, wait_until

ROOT = Path(__file__).resolve().parents[3]


@dataclass(slots=True)
class Extender:
    """A data directory and a port; the process comes and goes."""

    data_dir: Path
    port: int
    pid: int = 0  # of the main process while it runs
    database: str = ""  # URL; empty = SQLite in the data directory

    @property
    def environ(self) -> dict[str, str]:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("BANDMASTER_")}
        return {
            **clean,
            **GRANIAN_ENV,
            "BANDMASTER_DATA_DIR": str(self.data_dir),
            "BANDMASTER_SECRET_KEY": "for this test alone",
            **({"BANDMASTER_DATABASE_URL": self.database} if self.database else {}),
        }

    def seed(self, *words: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "tests.scoring.extender.seed", *words],
            env=self.environ,
            cwd=ROOT,
            check=True,
            timeout=60,
        )

    @contextmanager
    def running(
        self, argv: list[str] | None = None, **more: Any
    ) -> Iterator[subprocess.Popen[bytes]]:
        """granian's main process, or that of another server."""
        with (self.data_dir / "extender.log").open("ab") as log:
            process = subprocess.Popen(
                argv or granian_argv("127.0.0.1", self.port),
                env={**self.environ, **more.pop("environ", {})},
                cwd=ROOT,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **more,
            )
            try:
                wait_until(lambda: accepts(self.port), "the extender listens")
                self.pid = process.pid
                yield process
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait(10)

    @property
    def log(self) -> str:
        return (self.data_dir / "extender.log").read_text()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)

    def get(self, path: str) -> Any:
        connection = self.connect()
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return json.loads(body) if path == "/readyz" else body

    def scores(self, names: list[str]) -> dict[str, int]:
        connection = self.connect()
        answer = post(connection, material.extender_args(names))
        connection.close()
        return {host["Host"]: host["Score"] for host in answer}

    def wait_loaded(self) -> None:
        wait_until(lambda: self.get("/readyz")["loaded"], "the extender has loaded", 30)


def post(
    connection: http.client.HTTPConnection, body: bytes, path: str = PRIORITIZE
) -> Any:
    """One call over a connection that stays open."""
    headers = {
        "Authorization": material.AUTHORIZATION,
        "Content-Type": "application/json",
        "Accept-Encoding": "gzip",
    }
    connection.request("POST", f"{path}?{QUERY}", body, headers)
    response = connection.getresponse()
    text = response.read()
    assert response.status == 200, text[:200]
    assert response.headers.get_all("Content-Length") == [str(len(text))]
    assert response.headers["Content-Encoding"] is None
    assert response.headers["Transfer-Encoding"] is None
    return json.loads(text)


def new(data_dir: Path, *, database: str = "") -> Extender:
    """With a database that holds a cluster, a policy and a snapshot."""
    data_dir.mkdir(mode=0o700, exist_ok=True)
    extender = Extender(data_dir, free_port(), database=database)
    extender.seed("create")
    return extender


def children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(word) for word in text.split()]


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def pss_megabytes(pid: int) -> float:
    """Proportional set size: shared pages are divided among who shares them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("Pss:"))
    return int(line.split()[1]) / 1024
