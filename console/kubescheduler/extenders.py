"""Rules for the extenders an operator lists."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from console.kubescheduler.document import Document
from console.kubescheduler.problems import Path, Problem

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
# the name is also used as `requests.NAME`, a label key whose domain has 253 letters
_MAX_DOMAIN = 253 - len("requests.")


def check(document: Document) -> Iterator[Problem]:
    extenders = [extender or {} for extender in document.data.get("extenders") or ()]
    resources: dict[str, int] = {}
    for i, extender in enumerate(extenders):
        path: Path = ("extenders", i)
        if extender.get("prioritizeVerb") and (extender.get("weight") or 0) <= 0:
            yield document.problem(
                (*path, "weight"),
                "an extender with a prioritizeVerb needs a weight of 1 or more",
                gate="validate",
                hint="Add `weight: 1`.",
            )
        yield from _managed_resources(document, i, extender, resources)
        yield from _tls(document, i, extender)
    binders = [i for i, extender in enumerate(extenders) if extender.get("bindVerb")]
    for i in binders[1:]:
        yield document.problem(
            ("extenders", i, "bindVerb"),
            f"only one extender can bind, and extenders[{binders[0]}] already does",
            gate="validate",
        )


def _managed_resources(
    document: Document, index: int, extender: Mapping[str, Any], seen: dict[str, int]
) -> Iterator[Problem]:
    for i, resource in enumerate(extender.get("managedResources") or ()):
        name = str((resource or {}).get("name") or "")
        path = ("extenders", index, "managedResources", i, "name")
        if not _is_extended_resource(name):
            yield document.problem(
                path,
                f"{name[:80]!r} is not the name of an extended resource",
                gate="validate",
                hint="Such a name has a domain of its own: example.com/bandwidth.",
            )
        if name in seen:
            yield document.problem(
                path,
                f"extenders[{seen[name]}] already manages {name[:80]!r}",
                gate="validate",
            )
        seen.setdefault(name, index)


def _is_extended_resource(name: str) -> bool:
    domain, slash, rest = name.partition("/")
    if not slash or "kubernetes.io/" in name or name.startswith("requests."):
        return False
    return (
        len(domain) <= _MAX_DOMAIN
        and _DOMAIN.fullmatch(domain) is not None
        and _NAME.fullmatch(rest) is not None
    )


def _tls(
    document: Document, index: int, extender: Mapping[str, Any]
) -> Iterator[Problem]:
    tls = extender.get("tlsConfig") or {}
    if tls.get("insecure") and (tls.get("caFile") or tls.get("caData")):
        yield document.problem(
            ("extenders", index, "tlsConfig", "insecure"),
            "insecure cannot be combined with a CA certificate",
            gate="start",
            hint="Remove insecure: the certificate is then verified with the CA.",
        )
