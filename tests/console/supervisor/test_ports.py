"""A port that cannot be had is refused with what to do."""

from __future__ import annotations

import socket

import pytest

from console.supervisor.ports import Address, free_port, refuse_busy
from console.supervisor.refusal import Refusal


def test_a_free_port_passes() -> None:
    refuse_busy(Address("127.0.0.1", free_port(), "--port"))


@pytest.mark.parametrize("option", [None, socket.SO_REUSEPORT], ids=["plain", "shared"])
def test_a_busy_port_is_named(option: int | None) -> None:
    with socket.socket() as listener:
        if option is not None:  # granian listens so: a second one would share
            listener.setsockopt(socket.SOL_SOCKET, option, 1)
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(Refusal) as refused:
            refuse_busy(Address("127.0.0.1", port, "--port"))
    assert str(refused.value) == (
        f"port {port} on 127.0.0.1 is in use: stop what uses it, or choose another "
        "with --port"
    )


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-host.invalid", "x" * 70])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(Refusal, match="is not an address of this machine: write"):
        refuse_busy(Address(host, free_port(), "--port"))
