"""Which network devices count: those that carry a node's own traffic, once.

A bond, a VLAN or a bridge repeats the bytes of its members; a veth repeats those of
one pod. Adding them up reads two to four times the truth.
"""

from __future__ import annotations

import re
from functools import lru_cache

# RE2 and Python syntax alike, anchored on both sides by whoever uses it
DENIED_DEVICES = "|".join(
    (
        "lo|veth.*|[0-9a-f]{15}",  # loopback, ends of pod pairs
        "cali.*|lxc.*|cilium_.*|nodelocaldns|kube-.*|dummy.*",
        r"docker.*|br-.*|br[0-9]+|cni.*|podman.*|nerdctl.*|virbr.*|vnet.*|lxdbr.*",
        r"flannel.*|vxlan.*|genev.*|tunl.*|ip6tnl.*|sit[0-9].*|gre.*|erspan.*",
        r"ip6?_vti.*|wg.*|wireguard.*|tailscale.*|tun.*|tap.*|ppp.*|ifb.*|teql.*",
        r"ovs-.*|ovn-.*|antrea-.*|weave|datapath|azv.*",
        r"eni[0-9a-f]{11}|gke[0-9a-f]{11}",  # host ends of pod pairs in two clouds
        r"vlan.*|.+\.[0-9]+|bond.*|team.*|macvtap.*|nm-.*",  # same bytes as members
    )
)
_denied = re.compile(DENIED_DEVICES)
# these report a made-up 10 Gbit/s
_fictional_speed = re.compile(r"veth.*|br.*|macvlan.*|vxlan.*|virbr.*")


@lru_cache(maxsize=4096)
def counts(device: str) -> bool:
    """Whether a device's bytes are part of its node's load."""
    return device != "" and _denied.fullmatch(device) is None


@lru_cache(maxsize=4096)
def has_real_speed(device: str) -> bool:
    """Whether the link speed that a device reports can be that of a wire."""
    return counts(device) and _fictional_speed.fullmatch(device) is None
