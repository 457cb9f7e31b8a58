"""The extender's two verbs: bytes in, bytes out, no clock and no I/O.

Answers follow what kube-scheduler does with them: a pod that is not concerned gets an
answer as if we were not there, and a pod that we cannot answer for gets the same
integer on every host, because a host that is left out loses every tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress

import msgspec
import numpy as np

from scoring.extender.names import NodeIndex, is_plain
from scoring.extender.types import Answer, Call, Request, View, decode_request
from scoring.framework.runtime import PreparedPolicy, neutral_priority, priorities
from scoring.framework.types import (
    MAX_EXTENDER_PRIORITY,
    Bools,
    ExtensionPoint,
    Rows,
)

SCORED = "scored"
FILTERED = "filtered"
NOT_CONCERNED = "not_concerned"
EXEMPT = "exempt"
NEUTRAL = "neutral"  # the kill switch
NO_DATA = "no_data"
NOT_LOADED = "not_loaded"
OUTCOMES = (SCORED, FILTERED, NOT_CONCERNED, EXEMPT, NEUTRAL, NO_DATA, NOT_LOADED)

MIDDLE_PRIORITY = MAX_EXTENDER_PRIORITY // 2
NOBODY_SCORED = b"[]"


def prioritize(body: bytes, call: Call, view: View) -> Answer:
    """HostPriorityList for ExtenderArgs. Raises BadRequest."""
    request = decode_request(body)
    if not view.loaded:
        return _same_for_all(request, MIDDLE_PRIORITY, NOT_LOADED)
    policy = view.policy_for(call, request.pod.scheduler_name)
    if policy is None or not policy.scores:
        return Answer(NOBODY_SCORED, NOT_CONCERNED, len(request.names()))
    if policy.exempts(request.pod, ExtensionPoint.SCORE):
        return Answer(NOBODY_SCORED, EXEMPT, len(request.names()))
    weight = call.weight or policy.policy.total_weight
    index = view.index
    cause = _unanswerable(policy, view)
    if cause or index is None:
        return _same_for_all(request, neutral_priority(policy.policy, weight), cause)
    return _scored(request, policy, index, weight)


def filter_(body: bytes, call: Call, view: View) -> Answer:
    """ExtenderFilterResult for ExtenderArgs. Raises BadRequest."""
    request = decode_request(body)
    names = request.names()
    if not view.loaded:
        return _pass_all(request, NOT_LOADED, len(names))
    policy = view.policy_for(call, request.pod.scheduler_name)
    if policy is None or not policy.filters:
        return _pass_all(request, NOT_CONCERNED, len(names))
    if policy.exempts(request.pod, ExtensionPoint.FILTER):
        return _pass_all(request, EXEMPT, len(names))
    index = view.index
    cause = _unanswerable(policy, view)
    if cause or index is None:
        return _pass_all(request, cause, len(names))
    return _filtered(request, names, policy, index)


def _unanswerable(policy: PreparedPolicy, view: View) -> str:
    if view.neutral:
        return NEUTRAL
    index, nodes = view.index, policy.nodes
    # rows of one table must never be read as rows of another
    if index is None or index.table.digest != nodes.digest or not policy.answerable:
        return NO_DATA
    return ""


def _scored(
    request: Request, policy: PreparedPolicy, index: NodeIndex, weight: int
) -> Answer:
    names = request.names()
    rows = index.find(names)
    unknown = _has_unknown(rows, index)
    if unknown is None:  # a host that is listed twice would be counted twice
        names = list(dict.fromkeys(names))
        rows = index.find(names)
        unknown = bool((rows == index.unknown).any())
    points = policy.score_points(rows, request.pod)
    levels = priorities(points, weight).tolist()
    safe = index.plain and not unknown
    body = _encode_priorities(names if safe else _escaped(names), levels)
    return Answer(body, SCORED, len(names))


def _has_unknown(rows: Rows, index: NodeIndex) -> bool | None:
    """Whether some name is not in the table; None when a row comes twice."""
    seen = np.zeros(index.unknown + 1, np.bool_)
    seen[rows] = True
    if int(np.count_nonzero(seen)) < rows.size:
        return None
    return bool(seen[-1])


def _filtered(
    request: Request, names: list[str], policy: PreparedPolicy, index: NodeIndex
) -> Answer:
    pod = request.pod
    nominated = len(names) == 1 and names[0] == pod.nominated_node_name
    outcome = policy.filter(index.find(names), pod, nominated=nominated)
    if outcome.passed.all():
        kept, failed = _all_kept(request), b"{}"
    else:
        kept = _kept(request, names, outcome.passed)
        refused = np.flatnonzero(~outcome.passed).tolist()
        reasons = outcome.reasons.tolist()
        texts = {names[i]: outcome.texts[reasons[i]] for i in refused}
        failed = msgspec.json.encode(texts)
    body = _filter_result(kept, failed)
    return Answer(body, FILTERED, len(names), outcome.floor_used)


def _pass_all(request: Request, outcome: str, candidates: int) -> Answer:
    return Answer(_filter_result(_all_kept(request), b"{}"), outcome, candidates)


def _filter_result(kept: bytes, failed: bytes) -> bytes:
    """Refused nodes go into both maps: schedulers before 1.21 read only the first.

    Where both are read, FailedAndUnresolvableNodes wins: evicting pods does not make
    a busy network free, so preemption must not try.
    """
    return b"".join(
        (
            b"{",
            kept,
            b',"FailedNodes":',
            failed,
            b',"FailedAndUnresolvableNodes":',
            failed,
            b',"Error":""}',
        )
    )


def _all_kept(request: Request) -> bytes:
    if request.items is not None:
        return _nodes(request.items)
    return b'"Nodes":null,"NodeNames":' + (request.raw_names or b"[]")


def _kept(request: Request, names: list[str], passed: Bools) -> bytes:
    """Nodes are answered with nodes, names with names: the other is not read."""
    chosen = passed.tolist()
    if request.items is not None:
        return _nodes(list(compress(request.items, chosen)))
    return b'"Nodes":null,"NodeNames":' + msgspec.json.encode(
        list(compress(names, chosen))
    )


def _nodes(items: Sequence[msgspec.Raw]) -> bytes:
    """The received objects, byte for byte."""
    joined = b",".join(items)
    return b'"Nodes":{"metadata":{},"items":[' + joined + b']},"NodeNames":null'


def _same_for_all(request: Request, priority: int, outcome: str) -> Answer:
    names = list(dict.fromkeys(request.names()))
    safe = names if is_plain(names) else _escaped(names)
    if not names:
        return Answer(NOBODY_SCORED, outcome, 0)
    body = _suffix(priority).join(safe)
    return Answer(
        f'[{{"Host":"{body}","Score":{priority}}}]'.encode(), outcome, len(names)
    )


def _encode_priorities(names: list[str], levels: list[int]) -> bytes:
    """One join over names and shared endings: most of the answer is names."""
    if not names:
        return NOBODY_SCORED
    parts = [""] * (2 * len(names))
    parts[::2] = names
    parts[1::2] = map(_suffix, levels)
    text = "".join(parts)
    return f'[{{"Host":"{text[: -len(_NEXT_HOST)]}]'.encode()


_NEXT_HOST = ',{"Host":"'


@lru_cache(maxsize=4096)
def _suffix(level: int) -> str:
    return f'","Score":{level}}}{_NEXT_HOST}'


def _escaped(names: list[str]) -> list[str]:
    return [msgspec.json.encode(name)[1:-1].decode() for name in names]
