"""The extenders entry through which kube-scheduler calls Bandmaster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from console.kubescheduler.options import CompileOptions

KEY_PLACEHOLDER = "BANDMASTER_EXTENDER_KEY"
USER = "bandmaster"
HTTP_TIMEOUT = "200ms"
SCHEMES = ("http", "https")

_USER_INFO = f"://{USER}:{KEY_PLACEHOLDER}@"


def fill_key(stock_text: str, key: str) -> str:
    """The stock document with the key, percent-encoded: from here on a secret."""
    return stock_text.replace(_USER_INFO, f"://{USER}:{quote(key, safe='')}@")


def wrong_url(url: str) -> str:
    """Why the extender URL cannot be used, or nothing."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in SCHEMES and bool(parts.hostname)
        usable = usable and (parts.port is None or parts.port > 0)
    except ValueError:
        usable = False
    if not usable:
        return f"the extender URL {url[:100]!r} is not http(s)://HOST:PORT"
    if parts.username or parts.password:
        return "the extender URL must not hold a user name or key"
    if parts.path.rstrip("/") or parts.query or parts.fragment:
        return "the extender URL must end after the port: the path is added to it"
    return ""


def build_entry(
    options: CompileOptions, *, revision: int, filters: bool, weight: int
) -> dict[str, Any]:
    """COMPILE section 2; `weight` 0 means that nothing is scored: no prioritizeVerb."""
    scheme, _, host = options.extender_url.rstrip("/").partition("://")
    query = f"configuration={quote(options.configuration, safe='')}&revision={revision}"
    if weight:
        query += f"&weight={weight}"
    entry: dict[str, Any] = {
        "urlPrefix": f"{scheme}{_USER_INFO}{host}{_path(options.cluster)}"
    }
    if filters:
        entry["filterVerb"] = f"filter?{query}"
    if weight:
        entry |= {"prioritizeVerb": f"prioritize?{query}", "weight": weight}
    if scheme == "https" and options.ca_data:
        # enableHTTPS without a CA would switch verification off; left out, the
        # system's roots are used
        entry |= {"enableHTTPS": True, "tlsConfig": {"caData": options.ca_data}}
    return entry | {
        "httpTimeout": HTTP_TIMEOUT,
        "nodeCacheCapable": True,
        "ignorable": True,
    }


def is_ours(extender: Mapping[str, Any] | None, cluster: str) -> bool:
    """Whether an entry was compiled for this cluster before, whatever host it names."""
    try:
        path = urlsplit(str((extender or {}).get("urlPrefix") or "")).path
    except ValueError:
        return False
    return path.rstrip("/") == _path(cluster)


def _path(cluster: str) -> str:
    return f"/extender/{quote(cluster, safe='')}"
