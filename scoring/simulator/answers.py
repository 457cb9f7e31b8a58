"""An answer of the simulator's HTTP server, before it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole body, or a `stream` of pieces that are sent as they come."""

    status: HTTPStatus
    body: bytes = b""
    content_type: str = "application/json"
    stream: Iterator[bytes] | None = None


def json_answer(document: Any, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """`document` as compact JSON."""
    body = json.dumps(document, separators=(",", ":")).encode()
    return Answer(status, body)


def text_answer(text: str, status: HTTPStatus = HTTPStatus.OK) -> Answer:
    """One line of plain text."""
    return Answer(status, f"{text}\n".encode(), "text/plain; charset=utf-8")
