"""Asks the extender how it is, as an orchestrator would."""

from __future__ import annotations

import http.client
import json
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from scoring.framework.units import write_seconds

TIMEOUT = 1.0  # seconds; a page waits for it
_LONGEST = 65_536  # bytes of an answer that are read
_SENTENCE = 300  # characters of one complaint that are shown


@dataclass(frozen=True, slots=True)
class Probe:
    """The extender's own words, or why there are none."""

    reached: bool
    seconds: float
    complaints: tuple[str, ...]
    summary: str = ""


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
    complaints, summary = _read(body)
    return Probe(
        reached=True,
        seconds=time.perf_counter() - start,
        complaints=complaints,
        summary=summary,
    )


def _why(exc: Exception) -> str:
    if isinstance(exc, TimeoutError):
        return "it did not answer within a second"
    if isinstance(exc, ConnectionRefusedError):
        return "nothing listens there"
    return f"the connection failed ({type(exc).__name__})"


def _read(body: bytes) -> tuple[tuple[str, ...], str]:
    """What the answer complains of, and what it says when all is well."""
    try:
        found: Any = json.loads(body)
    except ValueError:
        return ("it answered with something else than its state",), ""
    if not isinstance(found, dict) or not isinstance(found.get("detail"), list):
        return ("it answered with something else than its state",), ""
    complaints = tuple(str(line)[:_SENTENCE] for line in found["detail"])
    return complaints, _summary(found)


def _summary(found: dict[str, Any]) -> str:
    age = found.get("snapshot_age_seconds")
    policies = found.get("policies") or []
    if not isinstance(age, int | float) or not isinstance(policies, list):
        return ""
    names = sorted(
        f"{policy.get('configuration')} r{policy.get('revision')}"
        for policy in policies
        if isinstance(policy, dict)
    )
    used = ", ".join(dict.fromkeys(names)) or "no policy"
    return f"It serves {used} from scores that are {write_seconds(age)} old."


def _unreached(seconds: float, why: str) -> Probe:
    return Probe(reached=False, seconds=seconds, complaints=(why,))
