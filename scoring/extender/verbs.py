"""The extender's two verbs: bytes in, bytes out, no clock and no I/O.

Answers follow what kube-scheduler does with them: a pod that is not concerned gets an
answer as if we were not there, and a pod that we cannot answer for gets the same
integer on every host, because a host that is left out loses every tie.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import compress

import msgspec
import numpy as np

from scoring.extender.names import NodeIndex
from scoring.extender.rawnames import MOST_LEVEL
from scoring.extender.types import Answer, Call, Request, View, decode_request
from scoring.framework.runtime import (
    FilterOutcome,
    PreparedPolicy,
    neutral_priority,
    priorities,
)
from scoring.framework.types import (
    MAX_EXTENDER_PRIORITY,
    MAX_NODE_SCORE,
    Bools,
    ExtensionPoint,
    Ints,
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

Buffer = bytes | msgspec.Raw
_NAMES = b'"Nodes":null,"NodeNames":'

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
    if not view.loaded:
        return _pass_all(request, NOT_LOADED)
    policy = view.policy_for(call, request.pod.scheduler_name)
    if policy is None or not policy.filters:
        return _pass_all(request, NOT_CONCERNED)
    if policy.exempts(request.pod, ExtensionPoint.FILTER):
        return _pass_all(request, EXEMPT)
    index = view.index
    cause = _unanswerable(policy, view)
    if cause or index is None:
        return _pass_all(request, cause)
    return _filtered(request, policy, index)


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
    rows, names = index.match(request.raw_names), None
    if rows is None:
        names = request.names()
        rows = index.find(names)
    if _comes_twice(rows, index):  # a host that is listed twice would be counted twice
        names = list(dict.fromkeys(request.names()))
        rows = index.find(names)
    levels = priorities(policy.score_points(rows, request.pod), weight)
    if names is None and index.raw and _highest(policy, weight) <= MOST_LEVEL:
        return Answer(index.raw.encode(rows, levels), SCORED, rows.size)
    body = _encode_priorities(_plain(request, names or request.names()), levels)
    return Answer(body, SCORED, rows.size)


def _comes_twice(rows: Rows, index: NodeIndex) -> bool:
    """Whether a row comes twice; two names that are not known may be the same."""
    seen = np.zeros(index.unknown + 1, np.bool_)
    seen[rows] = True
    return int(np.count_nonzero(seen)) < rows.size


def _highest(policy: PreparedPolicy, weight: int) -> int:
    points = MAX_NODE_SCORE * policy.policy.score_weight
    return (points + 5 * weight) // (10 * weight)


def _filtered(request: Request, policy: PreparedPolicy, index: NodeIndex) -> Answer:
    rows, names = index.match(request.raw_names), None
    if rows is None:
        names = request.names()
        rows = index.find(names)
    nominated = rows.size == 1 and _is_nominated(request)
    outcome = policy.filter(rows, request.pod, nominated=nominated)
    passed = outcome.passed
    if passed.all():
        kept, failed = _all_kept(request), b"{}"
    elif names is None and index.raw:
        kept = [_NAMES, index.raw.encode_names(rows[passed])]
        failed = _failed(outcome, [index.table.rows[i].name for i in rows[~passed]])
    else:
        names = names or request.names()
        kept = _kept(request, names, passed)
        failed = _failed(outcome, list(compress(names, (~passed).tolist())))
    body = _filter_result(kept, failed)
    return Answer(body, FILTERED, rows.size, outcome.floor_used)


def _failed(outcome: FilterOutcome, refused: list[str]) -> bytes:
    """The reason of each refused name; `refused` in the order of the candidates."""
    reasons = outcome.reasons[~outcome.passed].tolist()
    texts = {n: outcome.texts[i] for n, i in zip(refused, reasons, strict=True)}
    return msgspec.json.encode(texts)


def _is_nominated(request: Request) -> bool:
    """Of the only candidate. Others may already have been evicted for this pod."""
    return request.names() == [request.pod.nominated_node_name]


def _pass_all(request: Request, outcome: str) -> Answer:
    candidates = len(request.names())  # reads them: what is no list is refused
    body = _filter_result(_all_kept(request), b"{}")
    return Answer(body, outcome, candidates)


def _filter_result(kept: list[Buffer], failed: bytes) -> bytes:
    """Refused nodes go into both maps: schedulers before 1.21 read only the first.

    Where both are read, FailedAndUnresolvableNodes wins: evicting pods does not make
    a busy network free, so preemption must not try.
    """
    unresolvable = b',"FailedAndUnresolvableNodes":'
    maps = (b',"FailedNodes":', failed, unresolvable, failed, b',"Error":""}')
    return b"".join((b"{", *kept, *maps))


def _all_kept(request: Request) -> list[Buffer]:
    if request.items is not None:
        return _nodes(request.items)
    return [_NAMES, request.raw_names or b"[]"]


def _kept(request: Request, names: list[str], passed: Bools) -> list[Buffer]:
    """Nodes are answered with nodes, names with names: the other is not read."""
    chosen = passed.tolist()
    if request.items is not None:
        return _nodes(list(compress(request.items, chosen)))
    left = msgspec.json.encode(list(compress(names, chosen)))
    return [_NAMES, left]


def _nodes(items: list[msgspec.Raw]) -> list[Buffer]:
    """The received objects, byte for byte; joined once, as they are large."""
    parts: list[Buffer] = [b","] * (2 * len(items) + 1)
    parts[0] = b'"Nodes":{"metadata":{},"items":['
    parts[1::2] = items
    ending = b']},"NodeNames":null'
    return [*parts[:-1], ending] if items else [*parts, ending]


def _same_for_all(request: Request, priority: int, outcome: str) -> Answer:
    names = request.names()
    if len(set(names)) < len(names):
        names = list(dict.fromkeys(names))
    if not names:
        return Answer(NOBODY_SCORED, outcome, 0)
    body = _suffix(priority).join(_plain(request, names))
    text = f'[{{"Host":"{body}","Score":{priority}}}]'
    return Answer(text.encode(), outcome, len(names))


def _encode_priorities(names: list[str], levels: Ints) -> bytes:
    """One join over names and shared endings: most of the answer is names."""
    if not names:
        return NOBODY_SCORED
    parts = [""] * (2 * len(names))
    parts[::2] = names
    parts[1::2] = map(_suffix, levels.tolist())
    text = "".join(parts)
    return f'[{{"Host":"{text[: -len(_NEXT_HOST)]}]'.encode()


_NEXT_HOST = ',{"Host":"'


@lru_cache(maxsize=4096)
def _suffix(level: int) -> str:
    return f'","Score":{level}}}{_NEXT_HOST}'


def _plain(request: Request, names: list[str]) -> list[str]:
    """The names as they may stand between quotes in JSON."""
    if not request.escaped():
        return names
    return [msgspec.json.encode(name)[1:-1].decode() for name in names]
