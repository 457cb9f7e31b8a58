from __future__ import annotations

import gzip
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from scoring.prometheus import PrometheusAccess, PrometheusError, instant
from tests.fleet import FleetNode, openmetrics
from tests.servers import Reply, Seen, free_port, prometheus, scripted

SECRET = "hunter2-canary"  # a password inside the URL: may never be shown
HTML = {"Content-Type": "text/html; charset=utf-8"}
TEXT = {"Content-Type": "text/plain"}
DEEP = b"[" * 9999 + b"]" * 9999
VECTOR = {"resultType": "vector", "result": []}


def access(
    url: str, connect_timeout: float = 2.0, read_timeout: float = 10.0
) -> PrometheusAccess:
    return PrometheusAccess(
        url.replace("://", f"://user:{SECRET}@"),
        connect_timeout=connect_timeout,
        read_timeout=read_timeout,
    )


def answer(data: object = VECTOR, **more: object) -> bytes:
    return json.dumps({"status": "success", "data": data, **more}).encode()


def sample(value: object, **labels: str) -> dict[str, object]:
    return {"metric": labels, "value": [1.5, value]}


def ask(url: str, promql: str = "up", **more: float) -> str:
    """The sentence with which a query is refused."""
    with pytest.raises(PrometheusError) as refused:
        instant(access(url, **more), promql, time=1.0)
    return str(refused.value)


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, float]]:
    end = time.time()
    text = openmetrics([FleetNode("worker-1", receive=3e6)], end=end)
    with prometheus(tmp_path_factory.mktemp("prometheus"), text) as url:
        yield url, end


def test_a_real_prometheus_answers(real: tuple[str, float]) -> None:
    url, end = real
    result = instant(
        access(url + "/"), "rate(node_network_receive_bytes_total[1m])", time=end
    )
    [series] = result.series
    assert series.labels == {"device": "eth0", "instance": "worker-1:9100"}
    assert series.value == pytest.approx(3e6, rel=1e-3)
    assert series.timestamp == pytest.approx(end, abs=0.01)
    assert result.seconds > 0


def test_a_query_of_any_length_passes(real: tuple[str, float]) -> None:
    url, end = real
    long = " or ".join(f'up{{job="{n:0>200}"}}' for n in range(400))
    assert instant(access(url), long, time=end).series == ()


@pytest.mark.parametrize(
    ("promql", "expected"),
    [
        pytest.param("rate(x)", "refused the query (400)", id="parse error"),
        pytest.param("1", "answered with scalar where a vector", id="scalar"),
        pytest.param('"a"', "answered with string where a vector", id="string"),
        pytest.param(
            "up{} + on(instance) group_right() node_network_receive_bytes_total[5m]",
            "refused the query (400)",
            id="wrong types",
        ),
    ],
)
def test_a_real_prometheus_refuses(
    real: tuple[str, float], promql: str, expected: str
) -> None:
    assert expected in ask(real[0], promql)


def test_a_real_prometheus_under_another_path(real: tuple[str, float]) -> None:
    assert "(404): check the path" in ask(real[0] + "/prefix")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(Reply(b"", 401), "asks for credentials (401)", id="401"),
        pytest.param(Reply(b"", 403), "does not allow the query (403)", id="403"),
        pytest.param(Reply(b"404", 404, TEXT), "check the path", id="404"),
        pytest.param(
            Reply(b"", 302, {"Location": "http://127.0.0.1:1/login"}),
            "redirect, perhaps to a login page",
            id="redirect to a login page",
        ),
        pytest.param(
            Reply(b"<html>Sign in</html>", 200, HTML),
            "an HTML page instead of JSON",
            id="login page",
        ),
        pytest.param(Reply(b"starting", 503, TEXT), "is not ready (503)", id="503"),
        pytest.param(
            Reply(answer()[:-9]), "is cut short or is not", id="cut short, whole length"
        ),
        pytest.param(Reply(answer(), cut=20), "was cut short", id="cut short"),
        pytest.param(Reply(b"[]"), "is not what", id="other JSON"),
        pytest.param(Reply(b'{"x":%s}' % DEEP), "is not what", id="deep"),
        pytest.param(
            Reply(
                b'{"status":"success","data":{"resultType":"vector","result":%s}}'
                % DEEP
            ),
            "is not what",
            id="deep series",
        ),
        pytest.param(
            Reply(b'{"status":"error","error":"two\\nlines"}', 422),
            "two lines",
            id="an error of two lines",
        ),
        pytest.param(
            Reply(answer({"resultType": "vector", "result": [{"metric": 1}]})),
            "of a shape",
            id="other series",
        ),
        pytest.param(
            Reply(b'{"status": "error", "error": "boom"}'),
            "refused the query (200): boom",
            id="error in a 200",
        ),
        pytest.param(
            Reply(b'{"status": "error", "error": "too many samples"}', 422),
            "(422): too many samples",
            id="422",
        ),
        pytest.param(
            Reply(
                b"\x00\x01",
                200,
                {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            ),
            "was cut short",
            id="broken compression",
        ),
    ],
)
def test_a_fault_is_one_sentence_without_secrets(reply: Reply, expected: str) -> None:
    with scripted(reply) as server:
        sentence = ask(server.url)
        assert len(server.seen) == 1, "a query is never repeated"
    assert expected in sentence
    assert SECRET not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        pytest.param(Reply(answer(), delay=30), "is too slow", id="no answer"),
        pytest.param(Reply(answer(), pause=0.05), "is too slow", id="byte by byte"),
    ],
)
def test_a_slow_answer_ends_in_time(reply: Reply, expected: str) -> None:
    started = time.monotonic()
    with scripted(reply) as server:
        sentence = ask(server.url, read_timeout=0.3, connect_timeout=0.2)
        assert time.monotonic() - started < 10  # not the 30 s of the server
    assert expected in sentence


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        pytest.param(
            f"http://127.0.0.1:{free_port()}", "refuses connections", id="port"
        ),
        pytest.param("http://no-such-host.invalid", "cannot be resolved", id="name"),
        pytest.param("ftp://prometheus", "cannot be used", id="scheme"),
        pytest.param("http://[::1", "cannot be used", id="not a URL"),
        pytest.param("http://prometheus:port", "cannot be used", id="port is a word"),
    ],
)
def test_a_wrong_url_is_one_sentence(url: str, expected: str) -> None:
    sentence = ask(url)
    assert expected in sentence
    assert SECRET not in sentence


def test_no_time_left_asks_nothing() -> None:
    with scripted(Reply(answer())) as server:
        with pytest.raises(PrometheusError, match="time of this tick was used up"):
            instant(access(server.url), "up", time=1.0, until=time.monotonic())
        assert server.seen == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param("12.5", 12.5, id="a number"),
        pytest.param("0", 0.0, id="zero is known"),
        pytest.param("NaN", math.nan, id="NaN"),
        pytest.param("+Inf", math.nan, id="infinite"),
        pytest.param("-Inf", math.nan, id="minus infinite"),
        pytest.param("-24565", math.nan, id="negative"),
        pytest.param("many", math.nan, id="a word"),
    ],
)
def test_only_finite_numbers_from_zero_up_are_values(
    value: str, expected: float
) -> None:
    body = answer({"resultType": "vector", "result": [sample(value, node="a")]})
    with scripted(Reply(body)) as server:
        [series] = instant(access(server.url), "up", time=1.0).series
    assert series.value == pytest.approx(expected, nan_ok=True)


def test_a_native_histogram_is_no_value() -> None:
    element = {"metric": {"node": "a"}, "histogram": [1.5, {"count": "1"}]}
    with scripted(
        Reply(answer({"resultType": "vector", "result": [element]}))
    ) as server:
        [series] = instant(access(server.url), "up", time=1.0).series
    assert math.isnan(series.value)


def test_warnings_and_infos_are_kept() -> None:
    body = answer(warnings=["partial response"], infos=["might not be a counter"])
    with scripted(Reply(body)) as server:
        result = instant(access(server.url), "up", time=1.0)
    assert result.warnings == ("partial response", "might not be a counter")


def test_the_request_is_a_form_with_the_url_s_own_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login other password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{free_port()}")

    def compressed(seen: Seen) -> Reply:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        return Reply(gzip.compress(answer()), 200, headers)

    with scripted(compressed) as server:
        instant(access(server.url), 'up{a="b"}', time=12.25)
        instant(PrometheusAccess(server.url), "up", time=1.0)
    first, second = server.seen
    assert (first.method, first.path) == ("POST", "/api/v1/query")
    form = parse_qs(first.body.decode())
    assert (form["query"], form["time"]) == (['up{a="b"}'], ["12.250"])
    assert "gzip" in first.headers["accept-encoding"]
    assert first.headers["authorization"].startswith("Basic ")
    assert "authorization" not in second.headers


def test_the_secret_is_in_no_representation() -> None:
    assert SECRET not in repr(access("http://prometheus:9090"))
    assert access("http://prometheus:9090/x/").shown == "http://prometheus:9090/x"
