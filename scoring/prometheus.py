"""The door to Prometheus: instant queries, each answered or refused with one sentence.

The client library is used through a subclass: its own request path has no time-out,
retries three times, puts the query into the URL and drops warnings.
"""

from __future__ import annotations

import math
import time as clock
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import msgspec
import requests
from prometheus_api_client import PrometheusConnect
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.util.retry import Retry

from scoring.bandwidth.series import Series

BODY_LIMIT = 64 * 1024 * 1024  # bytes, after decompression
ERROR_LIMIT = 200  # characters of the server's own words that are shown
WARNINGS_LIMIT = 20
_CHUNK = 256 * 1024


class PrometheusError(Exception):
    """Prometheus gave no usable answer; the text is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class PrometheusAccess:
    """How to reach one Prometheus. The URL may carry user info; it is never shown."""

    url: str = field(repr=False)
    selector: str = ""
    connect_timeout: float = 2.0  # seconds
    read_timeout: float = 10.0  # seconds

    @property
    def shown(self) -> str:
        """The address without user info, query or fragment."""
        try:
            parts = urlsplit(self.url)
            port = f":{parts.port}" if parts.port else ""
        except ValueError:  # showing more of it could show a password
            return "the given URL"
        host = parts.hostname or ""
        host = f"[{host}]" if ":" in host else host
        return f"{parts.scheme}://{host}{port}{parts.path.rstrip('/')}"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """An instant vector, what Prometheus said besides, and how long it took."""

    series: tuple[Series, ...]
    warnings: tuple[str, ...]
    seconds: float


class _Element(msgspec.Struct, gc=False):
    metric: dict[str, str]
    value: tuple[float, str] | None = None  # a native histogram has none


class _Data(msgspec.Struct):
    resultType: str = ""
    result: msgspec.Raw = msgspec.Raw(b"[]")


class _Answer(msgspec.Struct):
    status: str
    data: _Data | None = None
    error: str = ""
    warnings: list[str] | None = None
    infos: list[str] | None = None


_answers = msgspec.json.Decoder(_Answer)
_vectors = msgspec.json.Decoder(list[_Element])


class _Connection(PrometheusConnect):  # type: ignore[misc] # the library has no types
    """One request path of our own: form body, no redirect, no retry, bounded."""

    def __init__(self, access: PrometheusAccess) -> None:
        session = requests.Session()
        # neither ~/.netrc nor proxy variables may change who is asked, and as whom
        session.trust_env = False
        super().__init__(
            url=access.url.rstrip("/"), session=session, retry=Retry(0, redirect=0)
        )
        self._access = access

    def post_query(self, form: dict[str, str], *, until: float) -> tuple[Any, bytes]:
        """The response and its body, read to the end before `until` (monotonic)."""
        read = max(0.05, min(self._access.read_timeout, until - clock.monotonic()))
        with self._session.post(
            f"{self.url}/api/v1/query",
            data=form,
            timeout=(min(self._access.connect_timeout, read), read),
            allow_redirects=False,
            stream=True,
        ) as response:
            body = bytearray()
            # read1, not iter_content: that waits for a whole chunk, however long
            while chunk := response.raw.read1(_CHUNK, decode_content=True):
                body += chunk
                if len(body) > BODY_LIMIT:
                    raise PrometheusError(
                        f"Prometheus at {self._access.shown} answered with more than "
                        f"64 MB: narrow BANDMASTER_PROMETHEUS_SELECTOR"
                    )
                if clock.monotonic() > until:
                    raise requests.exceptions.ReadTimeout
            return response, bytes(body)


def instant(
    access: PrometheusAccess,
    promql: str,
    *,
    time: float,
    until: float = math.inf,
    lowest: float = 0.0,
) -> QueryResult:
    """Evaluate `promql` at Unix second `time`; the answer must be a vector.

    Values that are not finite, or below `lowest`, become NaN. `until` is a moment of
    time.monotonic() by which the whole answer must be there. Raises PrometheusError.
    """
    started = clock.monotonic()
    until = min(until, started + access.connect_timeout + access.read_timeout)
    if started >= until:
        raise PrometheusError(
            f"Prometheus at {access.shown} is too slow: the time of this tick was used "
            "up before the next query"
        )
    form = {
        "query": promql,
        "time": f"{time:.3f}",
        "timeout": f"{max(100, int(1000 * (until - started)))}ms",
    }
    answer = _ask(access, form, until)
    series = tuple(_series(element, lowest) for element in _vector(access, answer))
    said = [*(answer.warnings or ()), *(answer.infos or ())]
    warnings = tuple(_one_line(text) for text in said[:WARNINGS_LIMIT])
    return QueryResult(series, warnings, clock.monotonic() - started)


def _ask(access: PrometheusAccess, form: dict[str, str], until: float) -> _Answer:
    try:
        with _Connection(access) as connection:
            response, body = connection.post_query(form, until=until)
    except (requests.exceptions.RequestException, HTTPError) as exc:
        raise PrometheusError(_transport_sentence(access, exc)) from exc
    except (UnicodeError, ValueError) as exc:
        raise PrometheusError(
            "BANDMASTER_PROMETHEUS_URL cannot be used: write for example "
            "http://prometheus.monitoring:9090"
        ) from exc
    answer = _decode(access, response, body)
    if response.status_code != 200 or answer.status != "success":
        raise PrometheusError(
            f"Prometheus at {access.shown} refused the query "
            f"({response.status_code}): {_own_words(answer)}"
        )
    return answer


def _decode(access: PrometheusAccess, response: Any, body: bytes) -> _Answer:
    status = int(response.status_code)
    sentence = _status_sentence(access, status)
    kind = str(response.headers.get("Content-Type", "")).partition(";")[0].strip()
    if sentence:
        raise PrometheusError(sentence)
    if kind.lower() != "application/json":
        what = "an HTML page" if "html" in kind.lower() else f"{kind or 'no type'!r}"
        raise PrometheusError(
            f"Prometheus at {access.shown} answered {status} with {what} instead of "
            "JSON: check that the URL is that of Prometheus itself and that no login "
            "page is in front"
        )
    try:
        return _answers.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise PrometheusError(
            f"the answer of Prometheus at {access.shown} is cut short or is not what "
            "the Prometheus API sends: check the URL and any proxy in between"
        ) from exc


def _status_sentence(access: PrometheusAccess, status: int) -> str:
    """For the codes that never come with a usable JSON body."""
    at = f"Prometheus at {access.shown}"
    if 300 <= status < 400:
        return (
            f"{at} answered {status} with a redirect, perhaps to a login page: use the "
            "address that answers queries directly"
        )
    sentences = {
        401: f"{at} asks for credentials (401): put them into the URL or open it",
        403: f"{at} does not allow the query (403): check the credentials",
        404: f"{at} does not know /api/v1/query (404): check the path in the URL",
        405: f"{at} does not accept POST (405): check the URL",
        429: f"{at} limits queries (429): use a longer BANDMASTER_TICK_SECONDS",
        502: f"{at} cannot be reached by its proxy (502)",
        503: f"{at} is not ready (503), perhaps starting up or overloaded",
        504: f"{at} was too slow for its proxy (504)",
    }
    return sentences.get(status, "")


def _transport_sentence(access: PrometheusAccess, exc: Exception) -> str:
    """The sentence never holds the exception's text: that repeats the whole URL."""
    at = f"Prometheus at {access.shown}"
    kinds = requests.exceptions
    if isinstance(exc, kinds.SSLError):
        return f"{at} has a TLS certificate that this machine does not trust"
    if isinstance(exc, kinds.ConnectTimeout):
        return f"{at} does not answer: no connection in {access.connect_timeout:g} s"
    if isinstance(exc, kinds.ReadTimeout | ReadTimeoutError):
        return f"{at} is too slow: no whole answer in time"
    if isinstance(exc, HTTPError):
        return f"the answer of {at} was cut short: check any proxy in between"
    if isinstance(exc, kinds.InvalidURL | kinds.InvalidSchema | kinds.MissingSchema):
        return (
            "BANDMASTER_PROMETHEUS_URL cannot be used: write for example "
            "http://prometheus.monitoring:9090"
        )
    if "NameResolution" in str(exc) or "getaddrinfo" in str(exc):
        return f"the host name of {at} cannot be resolved: check the URL"
    if "refused" in str(exc):
        return f"{at} refuses connections: check the URL, and that it runs"
    return f"{at} closed the connection without an answer: check the URL"


def _own_words(answer: _Answer) -> str:
    return _one_line(answer.error) or "it gave no reason"


def _one_line(text: str) -> str:
    """Words of somebody else must not look like lines of our log."""
    return " ".join(text[:ERROR_LIMIT].split())


def _vector(access: PrometheusAccess, answer: _Answer) -> list[_Element]:
    if answer.data is None or answer.data.resultType != "vector":
        got = answer.data.resultType[:20] if answer.data else ""
        raise PrometheusError(
            f"{access.shown} answered with {got or 'no data'} where a vector was asked "
            "for: check that the URL is that of Prometheus itself"
        )
    try:
        return _vectors.decode(answer.data.result)
    except msgspec.DecodeError as exc:
        raise PrometheusError(
            f"{access.shown} answered with series of a shape that Prometheus never "
            "sends: check that the URL is that of Prometheus itself"
        ) from exc


def _series(element: _Element, lowest: float) -> Series:
    if element.value is None:
        return Series(element.metric, math.nan, math.nan)
    timestamp, text = element.value
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not lowest <= value < math.inf:  # also true for NaN
        value = math.nan
    return Series(element.metric, value, timestamp)


__all__ = ["PrometheusAccess", "PrometheusError", "QueryResult", "Series", "instant"]
