"""Calls a WSGI callable as a server does, without one."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any

from scoring.extender.refresher import Refresher
from scoring.extender.state import ExtenderState, Facts
from scoring.extender.wsgi import Extender
from tests.scoring.extender import material
from tests.scoring.extender.material import QUERY


class NoSource:
    """Never has anything new."""

    def read(self, known: Facts | None) -> Facts | None:
        return None

    def tick_sentences(self) -> tuple[str, ...]:
        return ()

    def release(self) -> None:
        """Holds nothing."""


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Client:
    """One extender with the state that a test gives it; its clock stands still."""

    data_dir: Path
    now: float = material.NOW
    state: ExtenderState = field(default_factory=ExtenderState)
    app: Extender = field(init=False)

    def __post_init__(self) -> None:
        refresher = Refresher(
            self.state, NoSource(), data_dir=self.data_dir, clock=lambda: self.now
        )
        # no threads: the state is what the test loaded
        refresher.ensure = lambda: None  # type: ignore[method-assign]
        self.app = Extender("default", self.state, refresher, clock=lambda: self.now)

    def load(self, facts: Facts) -> Client:
        self.state.load(facts, now=self.now)
        return self

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        query: str = "",
        authorization: str | None = material.AUTHORIZATION,
        **environ: Any,
    ) -> Reply:
        given: dict[str, Any] = {
            "REQUEST_METHOD": method,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            **environ,
        }
        if authorization is not None:
            given["HTTP_AUTHORIZATION"] = authorization
        started: list[tuple[str, list[tuple[str, str]]]] = []
        parts = list(self.app(given, lambda *start: started.append(start)))
        (status, headers), *_ = started
        assert len(started) == 1
        assert len({name for name, _ in headers}) == len(headers), "a header twice"
        code, phrase = status.split(" ", 1)
        assert HTTPStatus(int(code)).phrase == phrase
        reply = Reply(int(code), dict(headers), b"".join(parts))
        assert reply.headers["Content-Length"] == str(len(reply.body))
        return reply

    def post(self, path: str, body: bytes, query: str = QUERY, **more: Any) -> Reply:
        return self.request("POST", path, body, query=query, **more)

    def get(self, path: str) -> Reply:
        return self.request("GET", path, authorization=None)
