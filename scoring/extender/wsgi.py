"""The extender as a raw WSGI callable: key, size, query, verb, answer.

Every answer is one piece with Content-Length: without it kube-scheduler opens a new
connection for each call. Nothing is compressed. Bodies hold pod environments and never
reach a log.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Iterable
from functools import lru_cache, partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

import msgspec

from scoring.extender import verbs
from scoring.extender.metrics import CONTENT_TYPE, Metrics
from scoring.extender.refresher import Refresher
from scoring.extender.rows import Rows
from scoring.extender.slowclients import LONGEST_READ, Reads
from scoring.extender.state import ExtenderState
from scoring.extender.status import describe
from scoring.extender.types import Answer, BadRequest, Call, View
from scoring.neutral import environment_reason

logger = logging.getLogger(__name__)

LARGEST_BODY = 128 * 1024 * 1024  # bytes; 10,000 whole nodes
_LARGEST_NUMBER = 2**31 - 1
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"
_NOT_LOADED = View()
_NOTED_SECONDS = 600.0  # that /readyz tells of something that happened in a call
WRONG_KEY = (
    "A call without a valid extender key was refused: kube-scheduler then places pods "
    "as if we were not there. Write the stock document with the present key."
)
SLOW_CLIENT = (
    f"A client was cut off: its body had not arrived after {LONGEST_READ:.0f} seconds. "
    "See whether a scheduler or the network to it has stopped."
)
FLOOR_USED = (
    "A filter would have left too few nodes, so the least loaded ones were kept: see "
    "whether its limit is too low, or the cluster too full."
)

Environ = dict[str, Any]


class StartResponse(Protocol):
    def __call__(self, status: str, headers: list[tuple[str, str]], /) -> object:
        """PEP 3333, as far as it is used here."""


Handler = Callable[[Environ, StartResponse], Iterable[bytes]]
Verb = Callable[[bytes, Call, View], Answer]


class Refused(Exception):
    """The call gets this status and this sentence instead of an answer."""

    def __init__(
        self, status: HTTPStatus, sentence: str, *headers: tuple[str, str]
    ) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers


def make(*, cluster: str, data_dir: Path, neutral: str) -> Extender:
    """The callable of one cluster, loaded from the state file if there is one.

    `neutral` is the value of BANDMASTER_NEUTRAL. No thread starts before a request.
    """
    state = ExtenderState(neutral_reason=environment_reason(neutral))
    refresher = Refresher(state, Rows(cluster), data_dir=data_dir)
    refresher.start_from_file(cluster)
    return Extender(cluster, state, refresher)


class Extender:
    """Serves the two verbs of one cluster, and its health and metrics."""

    def __init__(
        self,
        cluster: str,
        state: ExtenderState,
        refresher: Refresher,
        *,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._cluster = cluster
        self._state = state
        self._refresher = refresher
        self._clock = clock
        self._metrics = Metrics(state, cluster=cluster, clock=clock)
        self._logged: set[tuple[str, str]] = set()
        self._noted: dict[str, float] = {}
        self._reads = Reads()
        self._port = 0  # told by the server with each call
        refresher.also(self._cut_off_slow_clients)
        self._routes: dict[str, tuple[str, Handler]] = {
            "/livez": ("GET", self._livez),
            "/readyz": ("GET", self._readyz),
            "/metrics": ("GET", self._scrape),
        }
        answers: dict[str, Verb] = {
            "filter": verbs.filter_,
            "prioritize": verbs.prioritize,
        }
        for name, verb in answers.items():
            handler = partial(self._serve_verb, name, verb)
            self._routes[f"/extender/{cluster}/{name}"] = ("POST", handler)
            self._routes[f"/extender/{cluster}/{name}/"] = ("POST", handler)

    @property
    def refresher(self) -> Refresher:
        return self._refresher

    def __call__(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        self._refresher.ensure()
        method, handler = self._routes.get(environ["PATH_INFO"], ("", self._unknown))
        got = environ["REQUEST_METHOD"]
        if method and got != method and not (method == "GET" and got == "HEAD"):
            allowed = "GET, HEAD" if method == "GET" else method
            return _respond(
                start_response,
                Refused(
                    HTTPStatus.METHOD_NOT_ALLOWED,
                    f"Use {allowed} here.",
                    ("Allow", allowed),
                ),
            )
        return handler(environ, start_response)

    def _serve_verb(
        self,
        name: str,
        verb: Verb,
        environ: Environ,
        start_response: StartResponse,
    ) -> Iterable[bytes]:
        started = time.perf_counter()
        try:
            self._authorize(environ)
            call = parse_query(environ.get("QUERY_STRING", ""))
            body = self._read(environ)
            answer = self._answer(name, verb, call, body)
            if answer.floor_used:
                self._note(FLOOR_USED)
        except Refused as refused:
            outcome = refused.status.name.lower()
            self._metrics.observe(name, outcome, time.perf_counter() - started)
            return _respond(start_response, refused)
        start_response(
            "200 OK",
            [("Content-Type", _JSON), ("Content-Length", str(len(answer.body)))],
        )
        self._metrics.candidates(name, answer.candidates)
        self._metrics.observe(name, answer.outcome, time.perf_counter() - started)
        return [answer.body]

    def _read(self, environ: Environ) -> bytes:
        """The body; at most LARGEST_BODY bytes, announced or not."""
        announced = environ.get("CONTENT_LENGTH") or ""
        is_number = announced.isascii() and announced.isdigit()
        if is_number and int(announced) > LARGEST_BODY:
            raise _too_large()
        self._port = int(environ.get("SERVER_PORT") or 0)
        with self._reads.one(environ.get("REMOTE_ADDR", "")):
            body: bytes = environ["wsgi.input"].read(LARGEST_BODY + 1)
        if len(body) > LARGEST_BODY:
            raise _too_large()
        return body

    def _cut_off_slow_clients(self) -> None:
        if self._reads.cut_off(self._port):
            self._note(SLOW_CLIENT)

    def _answer(self, name: str, verb: Verb, call: Call, body: bytes) -> Answer:
        try:
            view = self._state.view_at(self._clock(), call)
            if call.configuration in view.newest and call.revision is not None:
                self._metrics.seen(call.configuration or "", call.revision)
            return verb(body, call, view)
        except BadRequest as exc:
            raise Refused(HTTPStatus.BAD_REQUEST, str(exc)) from exc
        except Exception as exc:  # noqa: BLE001 - a fault of ours must not stop a pod
            self._log_once(name, exc)
            return self._fail_open(verb, call, body)

    @staticmethod
    def _fail_open(verb: Verb, call: Call, body: bytes) -> Answer:
        """Answer as before anything was loaded: neutral, everybody passes."""
        try:
            answer = verb(body, call, _NOT_LOADED)
        except Exception as exc:
            raise Refused(
                HTTPStatus.INTERNAL_SERVER_ERROR,
                "The call could not be answered; the log of the extender says why.",
            ) from exc
        return Answer(answer.body, "error", answer.candidates)

    def _log_once(self, name: str, exc: Exception) -> None:
        """The kind of a fault and its place; its text may quote the body."""
        trace = exc.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        code = trace.tb_frame.f_code if trace is not None else None
        place = f"{code.co_qualname}" if code is not None else "unknown"
        key = (type(exc).__name__, place)
        if key in self._logged:
            return
        self._logged.add(key)
        logger.error(
            "%s was answered neutral after an unexpected %s in %s; the same fault is "
            "not logged again.",
            name,
            *key,
        )

    def _authorize(self, environ: Environ) -> None:
        """Any user name, one of the cluster's keys as password."""
        facts = self._state.facts
        if facts is None:
            return  # no key is known yet, and a neutral answer tells nothing
        if not known_key(environ.get("HTTP_AUTHORIZATION", ""), facts.stored.keys):
            self._note(WRONG_KEY)
            raise Refused(
                HTTPStatus.UNAUTHORIZED,
                "Give the cluster's extender key as the password of HTTP Basic: "
                "http://bandmaster:KEY@host:port/extender/... in urlPrefix.",
                ("WWW-Authenticate", 'Basic realm="bandmaster"'),
            )

    def _note(self, sentence: str) -> None:
        """Tell it on /readyz for a while, and in the log when it is new."""
        now = self._clock()
        if now - self._noted.get(sentence, -_NOTED_SECONDS) >= _NOTED_SECONDS:
            logger.warning("%s", sentence)
        self._noted[sentence] = now

    def _recent(self, now: float) -> list[str]:
        return [s for s, at in self._noted.items() if now - at < _NOTED_SECONDS]

    def _livez(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        return _send(start_response, b"ok\n", _TEXT)

    def _readyz(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        """Always 200: the extender is ready without any outside system."""
        now = self._clock()
        status = describe(
            self._state,
            [*self._refresher.sentences(), *self._recent(now)],
            self._metrics.live_revisions(),
            now=now,
        )
        body = msgspec.json.format(msgspec.json.encode(status)) + b"\n"
        return _send(start_response, body, _JSON)

    def _scrape(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        return _send(start_response, self._metrics.text(), CONTENT_TYPE)

    def _unknown(
        self, environ: Environ, start_response: StartResponse
    ) -> Iterable[bytes]:
        base = f"/extender/{self._cluster}"
        sentence = (
            f"There is nothing here: this extender serves {base}/filter and "
            f"{base}/prioritize."
        )
        return _respond(start_response, Refused(HTTPStatus.NOT_FOUND, sentence))


def known_key(header: str, digests: Iterable[str]) -> bool:
    """Whether an Authorization header carries a key with one of these digests."""
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        return False
    try:
        decoded = base64.b64decode(encoded.strip(), validate=True)
    except (binascii.Error, ValueError):
        return False
    _, colon, password = decoded.partition(b":")
    if not colon or not password:
        return False
    presented = hashlib.sha256(password).hexdigest()
    found = False
    for digest in digests:  # all of them: the time tells nothing
        found |= hmac.compare_digest(presented, digest)
    return found


@lru_cache(maxsize=256)
def parse_query(query: str) -> Call:
    """configuration, revision and weight; other names are not ours and are ignored.

    Raises Refused for a value that cannot be one: the entry in the scheduler's document
    was then edited by hand, and an answer to it would be wrong by an unknown factor.
    """
    try:
        given = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=20))
    except ValueError:
        raise Refused(HTTPStatus.BAD_REQUEST, "The query has too many parts.") from None
    return Call(
        configuration=given.get("configuration") or None,
        revision=_number(given, "revision"),
        weight=_number(given, "weight"),
    )


def _number(given: dict[str, str], name: str) -> int | None:
    text = given.get(name)
    if text is None:
        return None
    if text.isascii() and text.isdigit() and len(text) < 11:
        number = int(text)
        if 1 <= number <= _LARGEST_NUMBER:
            return number
    raise Refused(
        HTTPStatus.BAD_REQUEST,
        f"The query's {name} must be a whole number from 1 to {_LARGEST_NUMBER}: use "
        "the extenders entry of the compiled stock document as it is.",
    )


def _too_large() -> Refused:
    return Refused(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        f"The body is larger than {LARGEST_BODY // 2**20} MB: set nodeCacheCapable to "
        "true, so that names are sent instead of whole nodes.",
    )


def _respond(start_response: StartResponse, refused: Refused) -> list[bytes]:
    return _send(
        start_response,
        f"{refused}\n".encode(),
        _TEXT,
        status=refused.status,
        headers=refused.headers,
    )


def _send(
    start_response: StartResponse,
    body: bytes,
    content_type: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    headers: Iterable[tuple[str, str]] = (),
) -> list[bytes]:
    start_response(
        f"{status.value} {status.phrase}",
        [
            ("Content-Type", content_type),
            ("Content-Length", str(len(body))),
            *headers,
        ],
    )
    return [body]
