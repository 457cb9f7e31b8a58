"""The part of Prometheus' HTTP interface that the product and its tests use."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from http import HTTPStatus

from scoring.simulation.evaluation import Value
from scoring.simulation.promql import PromqlError
from scoring.simulator.answers import Answer, json_answer, text_answer
from scoring.simulator.cluster import SimulatedCluster

QUERY = "/api/v1/query"
METRIC_NAMES = "/api/v1/label/__name__/values"
_HEALTH = {
    "/": "This is a simulated Prometheus: ask /api/v1/query.",
    "/-/ready": "Prometheus Server is Ready.",
    "/-/healthy": "Prometheus Server is Healthy.",
}


def answer(
    cluster: SimulatedCluster, path: str, form: Mapping[str, str]
) -> Answer | None:
    """The answer to a request, or None when the path is not Prometheus'."""
    if path in _HEALTH:
        return text_answer(_HEALTH[path])
    if path == METRIC_NAMES:
        return json_answer({"status": "success", "data": list(cluster.metrics())})
    if path == QUERY:
        return _query(cluster, form)
    return None


def _query(cluster: SimulatedCluster, form: Mapping[str, str]) -> Answer:
    try:
        at = _moment(form["time"]) if form.get("time") else None
    except ValueError:
        sentence = 'invalid parameter "time": write Unix seconds or RFC 3339'
        return _refused(HTTPStatus.BAD_REQUEST, sentence)
    try:
        moment, value = cluster.evaluate(form.get("query", ""), at)
    except PromqlError as exc:
        return _refused(HTTPStatus.UNPROCESSABLE_ENTITY, str(exc))
    return json_answer({"status": "success", "data": _data(moment, value)})


def _data(moment: float, value: Value) -> dict[str, object]:
    moment = round(moment, 3)
    if isinstance(value, float):
        return {"resultType": "scalar", "result": [moment, _text(value)]}
    result = [
        {"metric": one.labels, "value": [moment, _text(one.value)]} for one in value
    ]
    return {"resultType": "vector", "result": result}


def _refused(status: HTTPStatus, sentence: str) -> Answer:
    bad = status == HTTPStatus.BAD_REQUEST
    kind = "bad_data" if bad else "execution"
    document = {"status": "error", "errorType": kind, "error": sentence}
    return json_answer(document, status)


def _moment(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        return datetime.fromisoformat(text).timestamp()
    if not math.isfinite(seconds):
        raise ValueError(text)
    return seconds


def _text(value: float) -> str:
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return "NaN" if math.isnan(value) else repr(value).removesuffix(".0")
