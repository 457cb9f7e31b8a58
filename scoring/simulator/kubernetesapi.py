"""The part of the Kubernetes API that the product uses: nodes, pods, bindings."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Generator, Iterator, Mapping
from http import HTTPStatus
from typing import Any

from scoring.simulation.objects import Json, pod_object
from scoring.simulation.world import BindingError, UnknownPod
from scoring.simulator.answers import Answer, json_answer
from scoring.simulator.cluster import Gone, SimulatedCluster, VersionedPod
from scoring.simulator.fieldselector import (
    FieldSelectorError,
    Selection,
    parse,
    seen_as,
)

BOOKMARK_SECONDS = 30.0
LONGEST_WATCH = 3600.0  # seconds
_VERSION = {"major": "1", "minor": "36", "gitVersion": "v1.36.3-simulated"}
_NAMESPACED = re.compile(r"/api/v1/namespaces/([^/]+)/pods")
_POD = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)")
_BINDING = re.compile(r"/api/v1/namespaces/([^/]+)/pods/([^/]+)/binding")
_REASONS = {
    HTTPStatus.BAD_REQUEST: "BadRequest",
    HTTPStatus.UNAUTHORIZED: "Unauthorized",
    HTTPStatus.NOT_FOUND: "NotFound",
    HTTPStatus.METHOD_NOT_ALLOWED: "MethodNotAllowed",
    HTTPStatus.CONFLICT: "Conflict",
    HTTPStatus.GONE: "Expired",
}


def read(cluster: SimulatedCluster, path: str, query: Mapping[str, str]) -> Answer:
    """The answer to a GET."""
    if path == "/version":
        return json_answer(_VERSION)
    if path == "/api/v1/nodes":
        return _nodes(cluster, query)
    if path.startswith("/api/v1/nodes/"):
        return _node(cluster, path.rpartition("/")[2])
    if found := _POD.fullmatch(path):
        return _pod(cluster, f"{found[1]}/{found[2]}")
    found = _NAMESPACED.fullmatch(path)
    if path == "/api/v1/pods" or found:
        try:
            selection = parse(
                query.get("fieldSelector", ""), namespace=found[1] if found else ""
            )
        except FieldSelectorError as exc:
            return failure(HTTPStatus.BAD_REQUEST, str(exc))
        if query.get("watch") in {"true", "1"}:
            return _watch(cluster, query, selection)
        return _pods(cluster, selection)
    return failure(HTTPStatus.NOT_FOUND, "the simulated cluster has no such resource")


def write(cluster: SimulatedCluster, path: str, body: bytes) -> Answer:
    """The answer to a POST: a binding is the only thing that can be made."""
    found = _BINDING.fullmatch(path)
    if found is None:
        return failure(
            HTTPStatus.METHOD_NOT_ALLOWED, "the simulated cluster only takes bindings"
        )
    try:
        node = str(json.loads(body)["target"]["name"])
    except (ValueError, KeyError, TypeError):
        sentence = "the body is no Binding with a target of kind Node"
        return failure(HTTPStatus.BAD_REQUEST, sentence)
    try:
        cluster.bind(f"{found[1]}/{found[2]}", node)
    except UnknownPod as exc:
        return failure(HTTPStatus.NOT_FOUND, str(exc))
    except BindingError as exc:
        return failure(HTTPStatus.CONFLICT, str(exc))
    return json_answer(_status("Success", 201), HTTPStatus.CREATED)


def failure(status: HTTPStatus, sentence: str) -> Answer:
    """A v1 Status that tells what is wrong."""
    document = _status("Failure", status.value, sentence, _REASONS.get(status, ""))
    return json_answer(document, status)


def _nodes(cluster: SimulatedCluster, query: Mapping[str, str]) -> Answer:
    if query.get("watch") in {"true", "1"}:
        sentence = "nodes cannot be watched in the simulated cluster: list them"
        return failure(HTTPStatus.METHOD_NOT_ALLOWED, sentence)
    version, _ = cluster.pods()
    return json_answer(_list("NodeList", version, list(cluster.node_objects())))


def _node(cluster: SimulatedCluster, name: str) -> Answer:
    for node in cluster.node_objects():
        if node["metadata"]["name"] == name:
            return json_answer({"apiVersion": "v1", "kind": "Node", **node})
    return failure(HTTPStatus.NOT_FOUND, f'nodes "{name}" not found')


def _pod(cluster: SimulatedCluster, key: str) -> Answer:
    found = cluster.pod(key)
    if found is None:
        return failure(HTTPStatus.NOT_FOUND, f'pods "{key}" not found')
    return json_answer({"apiVersion": "v1", "kind": "Pod", **_object(found)})


def _pods(cluster: SimulatedCluster, selection: Selection) -> Answer:
    version, found = cluster.pods()
    items = [_object(one) for one in found if selection.holds(one.pod)]
    return json_answer(_list("PodList", version, items))


def _watch(
    cluster: SimulatedCluster, query: Mapping[str, str], selection: Selection
) -> Answer:
    version = query.get("resourceVersion", "")
    if version and not (version.isascii() and version.isdigit()):
        sentence = "resourceVersion is the number that a list gave"
        return failure(HTTPStatus.BAD_REQUEST, sentence)
    seconds = query.get("timeoutSeconds", "")
    limit = float(seconds) if seconds.isascii() and seconds.isdigit() else LONGEST_WATCH
    ends = time.monotonic() + min(limit, LONGEST_WATCH)
    bookmarks = query.get("allowWatchBookmarks") in {"true", "1"}
    stream = _Watch(cluster, selection, bookmarks=bookmarks).lines(
        int(version or 0), ends
    )
    return Answer(HTTPStatus.OK, stream=stream)


class _Watch:
    """One client that follows the pods."""

    def __init__(
        self, cluster: SimulatedCluster, selection: Selection, *, bookmarks: bool
    ) -> None:
        self._cluster = cluster
        self._selection = selection
        self._bookmarks = bookmarks

    def lines(self, version: int, ends: float) -> Iterator[bytes]:
        """Events after `version`, one a line, until the monotonic moment `ends`.

        An empty piece comes about once a second, so that a client that went away is
        noticed.
        """
        if version == 0:
            version, found = self._cluster.pods()
            for one in found:
                if self._selection.holds(one.pod):
                    yield _line("ADDED", _object(one))
        bookmark_at = time.monotonic() + BOOKMARK_SECONDS
        while (now := time.monotonic()) < ends:
            try:
                version = yield from self._news(version, min(1.0, ends - now))
            except Gone:
                yield _line("ERROR", _status("Failure", 410, _TOO_OLD, "Expired"))
                return
            if self._bookmarks and time.monotonic() >= bookmark_at:
                bookmark_at += BOOKMARK_SECONDS
                yield _line("BOOKMARK", {"metadata": {"resourceVersion": str(version)}})
            yield b""

    def _news(self, version: int, timeout: float) -> Generator[bytes, None, int]:
        version, events = self._cluster.events_after(version, timeout)
        for event in events:
            kind = seen_as(event.kind, event.pod, self._selection)
            if kind:
                yield _line(kind, pod_object(event.pod, version=event.version))
        return version


_TOO_OLD = "too old resource version: list again"


def _line(kind: str, document: Json) -> bytes:
    document = {"kind": "Pod", "apiVersion": "v1", **document}
    event = {"type": kind, "object": document}
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def _object(one: VersionedPod) -> Json:
    return pod_object(one.pod, version=one.version)


def _list(kind: str, version: int, items: list[Json]) -> Json:
    return {
        "kind": kind,
        "apiVersion": "v1",
        "metadata": {"resourceVersion": str(version)},
        "items": items,
    }


def _status(status: str, code: int, message: str = "", reason: str = "") -> Json:
    document: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}}
    said: dict[str, Any] = {"status": status, "message": message, "reason": reason}
    return {**document, **{k: v for k, v in said.items() if v}, "code": code}
