"""What kube-scheduler sends, what it gets, and the state that answers it.

Wire spelling lives here alone. Bodies hold pod environments, so nothing of a body may
reach a log or an error text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, cast

import msgspec

from scoring.extender.names import NodeIndex
from scoring.framework.runtime import PreparedPolicy
from scoring.framework.snapshot import Snapshot
from scoring.framework.types import DEFAULT_SCHEDULER_NAME, PodInfo

Policies = Mapping[tuple[str, int], Mapping[str, PreparedPolicy]]


class BadRequest(Exception):
    """The body is not ExtenderArgs; the text is a sentence without its content."""


@dataclass(frozen=True, slots=True)
class Call:
    """The query of one call; None where it does not say."""

    configuration: str | None = None
    revision: int | None = None
    weight: int | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A JSON body, and for the metrics what came of the call."""

    body: bytes
    outcome: str
    candidates: int
    floor_used: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """All that answers depend on, frozen; a newer one replaces it as a whole.

    The prepared policies, `snapshot` and `index` belong to the same node table.
    """

    snapshot: Snapshot | None = None
    policies: Policies = field(default_factory=lambda: MappingProxyType({}))
    newest: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    neutral: bool = False
    index: NodeIndex | None = None
    loaded: bool = False

    def policy_for(self, call: Call, scheduler_name: str) -> PreparedPolicy | None:
        """The rules of the call's own revision, or of the newest if that is unknown.

        A call without a configuration gets the only one there is, if there is one.
        """
        configuration = call.configuration
        if configuration is None and len(self.newest) == 1:
            configuration = next(iter(self.newest))
        if configuration is None:
            return None
        found = self.policies.get((configuration, call.revision or 0))
        if found is None:
            newest = self.newest.get(configuration, 0)
            found = self.policies.get((configuration, newest))
        return None if found is None else found.get(scheduler_name)


class _Owner(msgspec.Struct):
    kind: str | None = None


class _Metadata(msgspec.Struct):
    name: str | None = None
    namespace: str | None = None
    uid: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    ownerReferences: list[_Owner] | None = None


class _Spec(msgspec.Struct):
    schedulerName: str | None = None
    priorityClassName: str | None = None


class _Status(msgspec.Struct):
    nominatedNodeName: str | None = None


class _Pod(msgspec.Struct):
    metadata: _Metadata | None = None
    spec: _Spec | None = None
    status: _Status | None = None


class _NodeList(msgspec.Struct):
    items: list[msgspec.Raw] | None = None


class _ExtenderArgs(msgspec.Struct):
    Pod: _Pod | msgspec.UnsetType | None = msgspec.UNSET
    Nodes: _NodeList | msgspec.UnsetType | None = msgspec.UNSET
    NodeNames: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


class _NodeMetadata(msgspec.Struct):
    name: str | None = None


class _Node(msgspec.Struct):
    metadata: _NodeMetadata | None = None


@dataclass(frozen=True, slots=True)
class Request:
    """A decoded call: `raw_names` as sent, or `items` when whole nodes were sent."""

    pod: PodInfo
    raw_names: bytes | None
    items: list[msgspec.Raw] | None

    def names(self) -> list[str]:
        """Node names in the order of the request."""
        if self.raw_names is not None:
            return cast(list[str], _decode(_name_decoder, self.raw_names))
        return [node_name(item) for item in self.items or ()]

    def escaped(self) -> bool:
        """Whether some name may need escaping in JSON: then it came escaped."""
        if self.raw_names is not None:
            return b"\\" in self.raw_names
        return any(b"\\" in bytes(memoryview(i)[:_NODE_HEAD]) for i in self.items or ())


_args_decoder = msgspec.json.Decoder(_ExtenderArgs)
_keys_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_name_decoder = msgspec.json.Decoder(list[str])
_node_decoder = msgspec.json.Decoder(_Node)
_FIELDS = {name.lower(): name for name in _ExtenderArgs.__struct_fields__}
_NODE_PREFIX = b'{"metadata":{"name":"'
_NODE_HEAD = len(_NODE_PREFIX) + 254  # the longest name and its quote


def decode_request(body: bytes) -> Request:
    """Read ExtenderArgs; keys match in any case, as Go's do. Raises BadRequest."""
    args = _decode(_args_decoder, body)
    if _incomplete(args):
        args = _decode(_args_decoder, _with_known_spelling(body))
    raw_names = None
    if args.NodeNames is not msgspec.UNSET and bytes(args.NodeNames) != b"null":
        raw_names = bytes(args.NodeNames)
    nodes = args.Nodes or None
    items = nodes.items if nodes is not None and raw_names is None else None
    return Request(_pod_info(args.Pod or None), raw_names, items)


def node_name(item: msgspec.Raw) -> str:
    """The name of one raw Node. Raises BadRequest."""
    head = bytes(memoryview(item)[:_NODE_HEAD])
    start = len(_NODE_PREFIX)
    end = head.find(b'"', start)
    if head.startswith(_NODE_PREFIX) and end > 0:  # Go writes the name first
        name = head[start:end]
        if b"\\" not in name and name.isascii():
            return name.decode()
    node = _decode(_node_decoder, item)
    return (node.metadata.name if node.metadata else None) or ""


def _incomplete(args: _ExtenderArgs) -> bool:
    """kube-scheduler always sends all three keys; a missing one may be spelt oddly."""
    unset = msgspec.UNSET
    return args.Pod is unset or args.Nodes is unset or args.NodeNames is unset


def _with_known_spelling(body: bytes) -> bytes:
    keys = _decode(_keys_decoder, body)
    known = {_FIELDS.get(key.lower(), key): value for key, value in keys.items()}
    return msgspec.json.encode(known)


def _decode(decoder: msgspec.json.Decoder[Any], data: bytes | msgspec.Raw) -> Any:
    try:
        return decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        # the cause may quote the body: say what was expected, not what was found
        raise BadRequest(
            "The body is not ExtenderArgs: send the JSON that kube-scheduler sends."
        ) from exc


def _pod_info(pod: _Pod | None) -> PodInfo:
    metadata = (pod and pod.metadata) or _NO_METADATA
    spec = (pod and pod.spec) or _NO_SPEC
    status = (pod and pod.status) or _NO_STATUS
    return PodInfo(
        metadata.namespace or "",
        metadata.name or "",
        metadata.uid or "",
        spec.schedulerName or DEFAULT_SCHEDULER_NAME,
        spec.priorityClassName or "",
        status.nominatedNodeName or "",
        metadata.labels or {},
        metadata.annotations or {},
        tuple(owner.kind or "" for owner in metadata.ownerReferences or ()),
    )


_NO_METADATA = _Metadata()
_NO_SPEC = _Spec()
_NO_STATUS = _Status()
