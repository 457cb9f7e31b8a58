"""Builds documents from the parts that a test is about."""

from __future__ import annotations

import json
from typing import Any

from console.kubescheduler.compiler import Compiled, CompileOptions, compile_document
from console.kubescheduler.document import Document, decode
from console.kubescheduler.problems import Problem
from console.kubescheduler.validation import validate

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
URL = "http://10.0.0.5:8001"


def text(**fields: Any) -> str:
    """A document with these fields, each on a line of its own."""
    return HEAD + "".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items())


def document(source: str) -> Document:
    decoded = decode(source)
    assert [p for p in decoded.problems if p.severity == "error"] == []
    assert decoded.document is not None
    return decoded.document


def problems(source: str) -> list[Problem]:
    """What all gates say."""
    decoded = decode(source)
    found = list(decoded.problems)
    if decoded.document is not None:
        found += validate(decoded.document)
    return found


def profile(
    name: str = "default-scheduler",
    *,
    score: dict[str, int] | None = None,
    filters: list[str] | None = None,
    args: dict[str, Any] | None = None,
    **points: Any,
) -> dict[str, Any]:
    plugins: dict[str, Any] = dict(points)
    if score:
        enabled = [{"name": n, "weight": w} for n, w in score.items()]
        plugins["score"] = {"enabled": enabled} | plugins.get("score", {})
    if filters:
        plugins["filter"] = {"enabled": [{"name": name} for name in filters]}
    configs = [{"name": n, "args": a} for n, a in (args or {}).items()]
    return {"schedulerName": name, "plugins": plugins, "pluginConfig": configs}


def compiled(source: str, **options: Any) -> Compiled:
    chosen: dict[str, Any] = {
        "configuration": "main",
        "revision": 1,
        "source_sha256": "0" * 64,
        "extender_url": URL,
        "cluster": "default",
    }
    return compile_document(
        document(source), options=CompileOptions(**(chosen | options))
    )


def entry_of(result: Compiled) -> dict[str, Any]:
    """The entry of ours in a stock document."""
    extenders = document(result.stock).data["extenders"]
    found: dict[str, Any] = extenders[-1]
    return found


def said(result: Compiled, words: str) -> list[Problem]:
    """What the compiler advises in these words."""
    return [problem for problem in result.problems if words in problem.message]
