"""The floor of a WSGI extender: reads the body and gives a constant answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_BODY = b"[]"
_HEADERS = [("Content-Type", "application/json"), ("Content-Length", str(len(_BODY)))]


def application(
    environ: dict[str, Any], start_response: Callable[..., object]
) -> list[bytes]:
    environ["wsgi.input"].read()
    start_response("200 OK", _HEADERS)
    return [_BODY]
