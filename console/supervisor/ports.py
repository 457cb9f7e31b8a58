"""Ports, tried before anything starts."""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass

from console.supervisor.refusal import Refusal


@dataclass(frozen=True, slots=True)
class Address:
    """A host, a port, and the argument that chooses another port."""

    host: str
    port: int
    flag: str


def refuse_busy(address: Address) -> None:
    """Bind and let go. Raises Refusal with what to do when that fails."""
    try:
        listener = _listen(address.host, address.port)
    except (OSError, UnicodeError) as exc:  # a name that cannot be one is the latter
        raise Refusal(_sentence(address, exc)) from exc
    listener.close()


def free_port(host: str = "127.0.0.1") -> int:
    """A port that nobody uses now."""
    with _listen(host, 0) as listener:
        return int(listener.getsockname()[1])


def _listen(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listener = socket.socket(family, kind, protocol)
    try:
        # as servers do; without SO_REUSEPORT, so that a second listener is found
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)
    except OSError:
        listener.close()
        raise
    return listener


def _sentence(address: Address, exc: OSError | UnicodeError) -> str:
    number = exc.errno if isinstance(exc, OSError) else 0
    if number == errno.EADDRINUSE:
        return (
            f"port {address.port} on {address.host} is in use: stop what uses it, "
            f"or choose another with {address.flag}"
        )
    if number == errno.EACCES:
        return (
            f"port {address.port} may not be used by this user: "
            f"choose one above 1023 with {address.flag}"
        )
    return (
        f"{address.host} is not an address of this machine: write --host 127.0.0.1, "
        "or --host 0.0.0.0 for all its addresses"
    )
