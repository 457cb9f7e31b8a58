"""Asks an extender as kube-scheduler does: same request, same reading of answers."""

from __future__ import annotations

import gzip
import http.client
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from scoring.simulation.objects import Json
from scoring.simulator.stock import Entry

IDLE_SECONDS = 90.0  # Go's transport closes an unused connection after that
LARGEST_ANSWER = 32 * 1024 * 1024  # bytes


class ExtenderError(Exception):
    """The extender gave no usable answer; the text is a sentence without the key."""


class Extender:
    """One entry of the stock document with its kept connection. For one thread."""

    def __init__(self, entry: Entry) -> None:
        self.entry = entry
        self._connection: http.client.HTTPConnection | None = None
        self._used_at = 0.0

    def filter(self, pod: Json, nodes: Sequence[Json]) -> list[str]:
        """Names of the nodes that pass, in the answer's order. Raises ExtenderError."""
        answer = self._ask(self.entry.filter_verb, pod, nodes)
        if not isinstance(answer, dict):
            answer = {}
        said = {str(key).lower(): value for key, value in answer.items()}
        if said.get("error"):
            raise ExtenderError(f"{self._at} refused to filter")
        names = said.get("nodenames")
        if not self.entry.names_only or names is None:
            names = _names_of(said.get("nodes"))
        known = {node["metadata"]["name"] for node in nodes}
        if not isinstance(names, list) or not known.issuperset(map(str, names)):
            raise ExtenderError(f"{self._at} passed nodes that it was not asked about")
        return [str(name) for name in names]

    def prioritize(self, pod: Json, nodes: Sequence[Json]) -> list[tuple[str, int]]:
        """(node, score) as answered. Raises ExtenderError."""
        answer = self._ask(self.entry.prioritize_verb, pod, nodes)
        if answer is None:
            return []
        if not isinstance(answer, list):
            raise ExtenderError(f"{self._at} answered with scores that are no list")
        return [self._score(item) for item in answer]

    def concerns(self, pod: Json) -> bool:
        """Whether the pod asks for a resource that the entry manages."""
        if not self.entry.managed_resources:
            return True
        return any(
            self.entry.managed_resources.intersection(
                container["resources"]["requests"]
            )
            for container in pod["spec"]["containers"]
        )

    def close(self) -> None:
        """Drop the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    @property
    def _at(self) -> str:
        return f"the extender at {self.entry.address}"

    def _score(self, item: object) -> tuple[str, int]:
        if isinstance(item, dict):
            said = {str(key).lower(): value for key, value in item.items()}
            score = said.get("score") or 0
            # Go discards the whole list when one score is no whole number
            if isinstance(score, int) and not isinstance(score, bool):
                return str(said.get("host", "")), score
        raise ExtenderError(f"{self._at} answered with a score that is no whole number")

    def _ask(self, verb: str, pod: Json, nodes: Sequence[Json]) -> Any:
        names = [node["metadata"]["name"] for node in nodes]
        whole = {"metadata": {}, "items": list(nodes)}
        arguments = {
            "Pod": pod,
            "Nodes": None if self.entry.names_only else whole,
            "NodeNames": names if self.entry.names_only else None,
        }
        body = json.dumps(arguments, separators=(",", ":")).encode()
        try:
            return json.loads(self._post(f"{self.entry.path}/{verb}", body))
        except (http.client.HTTPException, OSError, EOFError, zlib.error) as exc:
            self.close()
            kind = "gives no answer in time" if _is_slow(exc) else "does not answer"
            raise ExtenderError(f"{self._at} {kind}") from exc
        except ValueError as exc:
            raise ExtenderError(f"{self._at} answered with no JSON") from exc

    def _post(self, path: str, body: bytes) -> bytes:
        ends = time.monotonic() + self.entry.timeout
        connection = self._connected()
        connection.request("POST", path, body, self._headers())
        response = connection.getresponse()
        content = response.read(LARGEST_ANSWER)
        if response.will_close:
            self.close()
        self._used_at = time.monotonic()
        if self._used_at > ends:
            raise TimeoutError
        if response.status != 200:
            raise ExtenderError(f"{self._at} answered {response.status}")
        if response.headers.get("Content-Encoding") == "gzip":
            return gzip.decompress(content)
        return content

    def _connected(self) -> http.client.HTTPConnection:
        if time.monotonic() - self._used_at > IDLE_SECONDS:
            self.close()
        if self._connection is None:
            self._connection = http.client.HTTPConnection(
                self.entry.host, self.entry.port, timeout=self.entry.timeout
            )
        return self._connection

    def _headers(self) -> Mapping[str, str]:
        headers = {
            "User-Agent": "Go-http-client/1.1",
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",
        }
        if self.entry.authorization:
            headers["Authorization"] = self.entry.authorization
        return headers


def _names_of(nodes: object) -> list[str]:
    items = nodes.get("items") if isinstance(nodes, dict) else None
    return [
        str(item["metadata"]["name"])
        for item in items or ()
        if isinstance(item, dict) and "metadata" in item
    ]


def _is_slow(exc: BaseException) -> bool:
    return isinstance(exc, TimeoutError)
