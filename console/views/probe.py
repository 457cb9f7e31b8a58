"""Asks the extender how it is, as an orchestrator would."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

TIMEOUT = 1.0  # seconds; a page waits for it
_LONGEST = 65_536  # bytes of an answer that are read


@dataclass(frozen=True, slots=True)
class Probe:
    """The extender's own words, or why there are none."""

    reached: bool
    ready: bool
    seconds: float
    sentences: tuple[str, ...]


def probe_extender(url: str, *, timeout: float = TIMEOUT) -> Probe:
    """GET /readyz below the host of `url`; never raises for a fault of the network."""
    parts = urlsplit(url)
    if not parts.hostname:
        return _unreached(0.0, "the cluster has no extender URL")
    kind = (
        http.client.HTTPSConnection
        if parts.scheme == "https"
        else http.client.HTTPConnection
    )
    start = time.perf_counter()
    try:
        connection = kind(parts.hostname, parts.port, timeout=timeout)
        try:
            connection.request("GET", "/readyz")
            answer = connection.getresponse()
            body = answer.read(_LONGEST)
        finally:
            connection.close()
    except (OSError, http.client.HTTPException, ValueError) as exc:
        return _unreached(time.perf_counter() - start, _why(exc))
    return Probe(
        reached=True,
        ready=answer.status == 200,
        seconds=time.perf_counter() - start,
        sentences=_sentences(body),
    )


def _why(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "it did not answer within a second"
    if isinstance(exc, ConnectionRefusedError):
        return "nothing listens there"
    return f"the connection failed ({type(exc).__name__})"


def _sentences(body: bytes) -> tuple[str, ...]:
    """Details as text: a JSON list or object of sentences, else lines."""
    text = body.decode("utf-8", "replace")
    try:
        found: Any = json.loads(text)
    except ValueError:
        return tuple(line.strip()[:200] for line in text.splitlines() if line.strip())
    if isinstance(found, dict):
        found = found.get("detail", found.get("sentences", []))
    if isinstance(found, str):
        found = [found]
    return tuple(str(item)[:200] for item in found) if isinstance(found, list) else ()


def _unreached(seconds: float, why: str) -> Probe:
    return Probe(reached=False, ready=False, seconds=seconds, sentences=(why,))
