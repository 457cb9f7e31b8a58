"""A Prometheus that scrapes the node exporters of real nodes."""

from __future__ import annotations

import http.client
import json
from collections.abc import Sequence
from pathlib import Path

from tools.lab.place import EXPORTER_PORT, Node
from tools.lab.processes import Child, free_port, start, wait_until

SCRAPE_SECONDS = 5
READY_SECONDS = 30.0


class Monitoring:
    """The started Prometheus."""

    def __init__(self, directory: Path, nodes: Sequence[Node]) -> None:
        self.port = free_port()
        directory.mkdir(parents=True)
        config = directory / "prometheus.json"  # JSON is YAML
        config.write_text(json.dumps(_config(nodes)), encoding="utf-8")
        self._nodes = len(nodes)
        self.child: Child = start(
            "prometheus",
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
            ],
            log=directory / "prometheus.log",
            cwd=directory,
        )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def wait(self) -> None:
        """Waits until every node was scraped once.

        Raises:
            LabError: it ended, or a node's exporter does not answer.
        """
        wait_until("Prometheus scrapes every node", self._sees_all, READY_SECONDS)

    def _sees_all(self) -> bool:
        self.child.require_alive()
        try:
            targets = self._get("/api/v1/targets?state=active")["activeTargets"]
        except (OSError, ValueError, KeyError, http.client.HTTPException):
            return False
        return sum(found["health"] == "up" for found in targets) == self._nodes

    def _get(self, path: str) -> dict[str, list[dict[str, str]]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            data: dict[str, list[dict[str, str]]]
            data = json.loads(connection.getresponse().read())["data"]
        finally:
            connection.close()
        return data


def _config(nodes: Sequence[Node]) -> dict[str, object]:
    interval = f"{SCRAPE_SECONDS}s"
    targets = [f"{node.address}:{EXPORTER_PORT}" for node in nodes]
    return {
        "global": {"scrape_interval": interval, "scrape_timeout": interval},
        "scrape_configs": [
            {"job_name": "node-exporter", "static_configs": [{"targets": targets}]}
        ],
    }
