"""The door to a cluster's API server, for reading: the list of nodes.

Answers are decoded straight into the few fields that are needed: the client's typed
models take ten times the time and three times the memory, and one odd object in a
list makes the whole list fail.
"""

from __future__ import annotations

import time as clock
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import urllib3
import yaml
from kubernetes.client.api_client import ApiClient
from kubernetes.client.configuration import Configuration
from kubernetes.client.exceptions import ApiException
from kubernetes.config import ConfigException, load_incluster_config, load_kube_config

from scoring.framework.snapshot import NodeRow

BODY_LIMIT = 256 * 1024 * 1024  # bytes of one page of the list
KUBECONFIG_LIMIT = 1024 * 1024  # bytes
_PAGES_LIMIT = 200
_CHUNK = 256 * 1024
_NODES = "/api/v1/nodes"


class ClusterError(Exception):
    """The API server gave no usable answer; the text is a sentence for the operator."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """How to reach one API server: a kubeconfig's path, or from inside a pod."""

    kubeconfig: str = ""
    in_cluster: bool = False
    connect_timeout: float = 3.0  # seconds
    read_timeout: float = 10.0  # seconds


class _Metadata(msgspec.Struct, gc=False):
    name: str = ""
    labels: dict[str, str] | None = None


class _Spec(msgspec.Struct, gc=False):
    unschedulable: bool | None = None


class _Condition(msgspec.Struct, gc=False):
    type: str = ""
    status: str = ""


class _Address(msgspec.Struct, gc=False):
    type: str = ""
    address: str = ""


class _Status(msgspec.Struct, gc=False):
    conditions: list[_Condition] | None = None
    addresses: list[_Address] | None = None


class _Node(msgspec.Struct, gc=False):
    metadata: _Metadata
    spec: _Spec | None = None
    status: _Status | None = None


class _ListMetadata(msgspec.Struct):
    continue_: str | None = msgspec.field(name="continue", default=None)


class _NodeList(msgspec.Struct):
    items: list[_Node] | None
    metadata: _ListMetadata | None = None


_lists = msgspec.json.Decoder(_NodeList)

_ADDRESS_TYPES = frozenset({"InternalIP", "ExternalIP", "Hostname", "InternalDNS"})
_ZONES = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")
_CONTROL_PLANES = (
    "node-role.kubernetes.io/control-plane",
    "node-role.kubernetes.io/master",
)
_POOLS = (
    "karpenter.sh/nodepool",
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "agentpool",
    "node.kubernetes.io/instance-type",
)


def list_nodes(
    access: ClusterAccess, *, until: float = float("inf")
) -> tuple[NodeRow, ...]:
    """The nodes by name, without capacities: those are measured.

    From the API server's cache (resourceVersion=0), so that a tick costs etcd nothing.
    `until` is a moment of time.monotonic(). Raises ClusterError, also when there is no
    node at all: every cluster has one.
    """
    until = min(until, clock.monotonic() + access.connect_timeout + access.read_timeout)
    rows: dict[str, NodeRow] = {}  # by name: a page that comes twice adds nothing
    with ApiClient(_configuration(access)) as client:
        query = [("resourceVersion", "0")]
        for _ in range(_PAGES_LIMIT):
            page = _page(client, access, query, until)
            rows |= {item.metadata.name: _row(item) for item in page.items or ()}
            token = page.metadata.continue_ if page.metadata else None
            if not token:
                break
            query = [("limit", "500"), ("continue", token)]
    rows.pop("", None)
    if not rows:
        raise ClusterError("the API server lists no node: check its address")
    return tuple(sorted(rows.values(), key=lambda row: row.name))


def _page(
    client: Any, access: ClusterAccess, query: list[tuple[str, str]], until: float
) -> _NodeList:
    at = f"the API server {_shown(client.configuration.host)}"
    request = client.param_serialize(
        "GET",
        _NODES,
        query_params=query,
        header_params={"Accept": "application/json"},
        auth_settings=["BearerToken"],
    )
    remaining = max(0.05, until - clock.monotonic())
    timeout = (
        min(access.connect_timeout, remaining),
        min(access.read_timeout, remaining),
    )
    try:
        response = client.call_api(*request, _request_timeout=timeout).response
        body = _read(response, until, at)
    except (ApiException, urllib3.exceptions.HTTPError) as exc:
        raise ClusterError(_transport_sentence(at, exc)) from exc
    except OSError as exc:  # a certificate or key file that is named but not there
        raise ClusterError(
            f"a certificate or key that the kubeconfig names cannot be read "
            f"({type(exc).__name__}): check its files"
        ) from exc
    except ValueError:  # without its cause: that quotes the token
        raise ClusterError(
            "the token that the kubeconfig names cannot be sent: it must be one line "
            "of plain letters, digits and signs"
        ) from None
    if response.status != 200:
        raise ClusterError(_status_sentence(at, int(response.status)))
    try:
        return _lists.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as exc:
        raise ClusterError(
            f"{at} answered with something that is not a list of nodes: check the "
            "address in the kubeconfig and any proxy in between"
        ) from exc


def _read(response: Any, until: float, at: str) -> bytes:
    body = bytearray()
    try:
        while chunk := response.read1(_CHUNK, decode_content=True):
            body += chunk
            if len(body) > BODY_LIMIT:
                raise ClusterError(f"{at} answered with more than 256 MB of nodes")
            if clock.monotonic() > until:
                raise ClusterError(f"{at} is too slow: no whole list of nodes in time")
    finally:
        response.release_conn()
        response.close()
    return bytes(body)


def _configuration(access: ClusterAccess) -> Any:
    """The client library's settings: no proxy from the environment, no retry."""
    settings = Configuration()
    settings.proxy = None
    settings.retries = False
    try:
        if access.kubeconfig:
            _refuse_programs(access.kubeconfig)
            load_kube_config(  # type: ignore[no-untyped-call] # untyped library
                config_file=access.kubeconfig,
                client_configuration=settings,
                persist_config=False,
            )
        elif access.in_cluster:
            load_incluster_config(  # type: ignore[no-untyped-call] # untyped library
                client_configuration=settings
            )
        else:
            raise ClusterError(
                "no API server is known: set BANDMASTER_KUBECONFIG to the path of a "
                "kubeconfig, or run inside the cluster"
            )
    except ConfigException as exc:
        raise ClusterError(_config_sentence(access)) from exc
    except (OSError, TypeError, ValueError, KeyError, AttributeError) as exc:
        raise ClusterError(_config_sentence(access)) from exc
    _check_address(settings.host)
    return settings


def _check_address(host: str) -> None:
    try:
        parts = urlsplit(host)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname)
        usable = usable and parts.port != 0  # reading it checks that it is a number
    except ValueError:
        usable = False
    if not usable:
        raise ClusterError(
            "the kubeconfig's server is not an address that can be asked: write for "
            "example https://10.0.0.1:6443"
        )


def _config_sentence(access: ClusterAccess) -> str:
    if not access.kubeconfig:
        return (
            "this process is not inside a cluster: set BANDMASTER_KUBECONFIG to the "
            "path of a kubeconfig"
        )
    return (
        f"the kubeconfig {access.kubeconfig} is not complete: it needs a current "
        "context with a cluster and a user, and readable files where it names some"
    )


def _refuse_programs(path: str) -> None:
    """A kubeconfig may name a program to run; ours runs none."""
    for user in _users(path):
        for key in ("exec", "auth-provider"):
            if isinstance(user, dict) and user.get(key):
                raise ClusterError(
                    f"the kubeconfig {path} asks to run a program ({key}), which is "
                    "refused: use one with a token or a client certificate"
                )


def _users(path: str) -> list[Any]:
    try:
        with Path(path).open("rb") as stream:
            text = stream.read(KUBECONFIG_LIMIT + 1)
        if len(text) > KUBECONFIG_LIMIT:
            raise ClusterError(f"the kubeconfig {path} is larger than 1 MB")
        document = yaml.load(text, Loader=yaml.CSafeLoader)
    except (OSError, ValueError) as exc:  # ValueError: no path at all
        raise ClusterError(
            f"the kubeconfig {path} cannot be read ({type(exc).__name__}): "
            "set BANDMASTER_KUBECONFIG to a readable file"
        ) from exc
    except yaml.YAMLError as exc:
        raise ClusterError(f"the kubeconfig {path} is not YAML") from exc
    users = document.get("users") if isinstance(document, dict) else None
    if not isinstance(users, list):
        raise ClusterError(f"the kubeconfig {path} lists no users: is it a kubeconfig?")
    return [item.get("user") for item in users if isinstance(item, dict)]


def _shown(host: str) -> str:
    parts = urlsplit(str(host))
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _transport_sentence(at: str, exc: Exception) -> str:
    kinds = urllib3.exceptions
    # the client library wraps this one alone, and loses its kind
    if isinstance(exc, kinds.SSLError | ApiException):
        return (
            f"{at} cannot be asked over TLS: check that it speaks https, and the CA, "
            "certificate and key in the kubeconfig"
        )
    if isinstance(exc, kinds.NameResolutionError):
        return f"the host name of {at} cannot be resolved: check the kubeconfig"
    if isinstance(exc, kinds.NewConnectionError):
        return f"{at} refuses connections: check the kubeconfig, and that it runs"
    if isinstance(exc, kinds.ConnectTimeoutError):
        return f"{at} does not answer: check the address in the kubeconfig"
    if isinstance(exc, kinds.ReadTimeoutError):
        return f"{at} is too slow: no answer in time"
    return f"{at} closed the connection without a whole answer"


def _status_sentence(at: str, status: int) -> str:
    if status == 401:
        return f"{at} does not accept the credentials (401): renew the kubeconfig"
    if status == 403:
        return f"{at} does not allow listing nodes (403): grant get and list on nodes"
    if 300 <= status < 400:
        return f"{at} answered with a redirect ({status}): check the kubeconfig"
    return f"{at} answered {status} when asked for its nodes"


def _row(item: _Node) -> NodeRow:
    labels = item.metadata.labels or {}
    status = item.status or _Status()
    ready = any(
        c.type == "Ready" and c.status == "True" for c in status.conditions or ()
    )
    return NodeRow(
        name=item.metadata.name,
        zone=_first(labels, _ZONES),
        pool=_first(labels, _POOLS),
        ready=ready,
        cordoned=bool(item.spec and item.spec.unschedulable),
        control_plane=any(label in labels for label in _CONTROL_PLANES),
        addresses=tuple(
            a.address for a in status.addresses or () if a.type in _ADDRESS_TYPES
        ),
    )


def _first(labels: dict[str, str], names: tuple[str, ...]) -> str:
    return next((labels[name] for name in names if labels.get(name)), "")
