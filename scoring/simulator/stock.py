"""What the simulated scheduler takes from a stock document: extenders and profiles.

Only entries of Bandmaster's own extender are used: a published document may name
others, and a simulation must not call into a real installation.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import unquote, urlsplit

import yaml

from scoring.simulation.pods import DEFAULT_SCHEDULER

LARGEST = 1024 * 1024  # bytes
OWN_PATH = "/extender/"
DEFAULT_TIMEOUT = 5.0  # seconds; kube-scheduler's own for a missing or zero one
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|ms|s|m|h)")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600}


class StockError(Exception):
    """The document cannot be used; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One extender of the document; verbs may carry a query, empty ones are off."""

    host: str
    port: int
    path: str
    authorization: str = field(repr=False)
    filter_verb: str
    prioritize_verb: str
    weight: int
    timeout: float  # seconds
    ignorable: bool
    names_only: bool
    managed_resources: frozenset[str] = frozenset()

    @property
    def address(self) -> str:
        """Where it is, without the key."""
        return f"http://{self.host}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class Stock:
    """Entries in the order in which kube-scheduler asks them."""

    entries: tuple[Entry, ...] = ()
    scheduler_names: tuple[str, ...] = (DEFAULT_SCHEDULER,)
    left_out: int = 0  # extenders of others


def parse(text: str, *, extender_url: str = "") -> Stock:
    """Read a KubeSchedulerConfiguration whose key is filled in.

    `extender_url` replaces scheme, host and port of the entries. Raises StockError.
    """
    document = _document(text)
    entries: list[Entry] = []
    left_out = 0
    for item in _mappings(document, "extenders"):
        entry = _entry(item, extender_url)
        if entry is None:
            left_out += 1
        else:
            entries.append(entry)
    # kube-scheduler asks those first whose failure counts
    entries.sort(key=lambda entry: entry.ignorable)
    names = [
        str(profile.get("schedulerName") or DEFAULT_SCHEDULER)
        for profile in _mappings(document, "profiles")
    ]
    unique = tuple(dict.fromkeys(names)) or (DEFAULT_SCHEDULER,)
    return Stock(tuple(entries), unique, left_out)


def seconds(text: str) -> float:
    """Go's duration, such as 200ms or 1m30s. Raises StockError."""
    found = _DURATION.findall(text)
    if not found or "".join(n + unit for n, unit in found) != text:
        raise StockError(f"httpTimeout {text!r} is not a duration such as 200ms")
    return sum(float(n) * _SECONDS[unit] for n, unit in found)


def _document(text: str) -> Mapping[str, Any]:
    try:
        document = yaml.load(text, Loader=yaml.CSafeLoader)
    except yaml.YAMLError as exc:
        raise StockError("the stock document is not YAML") from exc
    if (
        not isinstance(document, dict)
        or document.get("kind") != "KubeSchedulerConfiguration"
    ):
        raise StockError("the stock document is no KubeSchedulerConfiguration")
    return document


def _mappings(document: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    items = document.get(key) or []
    if not isinstance(items, list) or not all(isinstance(i, dict) for i in items):
        raise StockError(f"the stock document's {key} are not a list of objects")
    return items


def _entry(item: Mapping[str, Any], extender_url: str) -> Entry | None:
    try:
        url = urlsplit(str(item.get("urlPrefix") or ""))
        own = url.path.startswith(OWN_PATH)
        at = urlsplit(extender_url) if extender_url else url
        port = at.port or 80
        weight = int(item.get("weight") or 0)
    except (ValueError, TypeError) as exc:
        raise StockError("an extender has an urlPrefix or weight that is none") from exc
    if not own or at.scheme != "http" or not at.hostname:
        return None
    entry = Entry(
        host=at.hostname,
        port=port,
        path=url.path.rstrip("/"),
        authorization=_basic(url.username, url.password),
        filter_verb=str(item.get("filterVerb") or ""),
        prioritize_verb=str(item.get("prioritizeVerb") or ""),
        weight=weight,
        timeout=seconds(str(item.get("httpTimeout") or "0s")) or DEFAULT_TIMEOUT,
        ignorable=item.get("ignorable") is True,
        names_only=item.get("nodeCacheCapable") is True,
    )
    managed = _mappings(item, "managedResources")
    return replace(
        entry, managed_resources=frozenset(str(one.get("name")) for one in managed)
    )


def _basic(user: str | None, password: str | None) -> str:
    if user is None:
        return ""
    pair = f"{unquote(user)}:{unquote(password or '')}"
    return "Basic " + base64.b64encode(pair.encode()).decode("ascii")
