from __future__ import annotations

import pytest

from scoring.bandwidth.devices import counts, has_real_speed


@pytest.mark.parametrize(
    "device",
    ["eth0", "eth1", "ens5", "enp3s0", "eno1", "enP2p1s0f0", "ib0", "hsn0", "em1"],
)
def test_a_wire_counts(device: str) -> None:
    assert counts(device)
    assert has_real_speed(device)


@pytest.mark.parametrize(
    "device",
    [
        *("lo", "veth1a2b", "0123456789abcde", "cali12345", "lxc_health", "cilium_net"),
        *("docker0", "br-1a2b", "br0", "cni0", "podman1", "virbr0", "vnet3"),
        *("flannel.1", "vxlan.calico", "tunl0", "gre0", "wg0", "tun0", "tap1"),
        *("ovs-system", "ovn-k8s-mp0", "antrea-gw0", "azv1", "eni0123456789a"),
        *("bond0", "team0", "vlan100", "eth0.100", "nodelocaldns", ""),
    ],
)
def test_what_repeats_other_bytes_does_not(device: str) -> None:
    assert not counts(device)
    assert not has_real_speed(device)


@pytest.mark.parametrize("device", ["br-ex1", "bridge0", "macvlan0"])
def test_software_has_no_real_speed(device: str) -> None:
    assert not has_real_speed(device)


def test_names_that_only_begin_like_denied_ones_count() -> None:
    assert counts("lom0"), "the list is anchored on both sides"
