"""Where a lab with real nodes lies on its machine. There is one lab a machine."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

STATE = Path("/var/cache/bandmaster-lab")
BRIDGE = "bandmaster0"
BRIDGE_ADDRESS = "10.77.0.1"
CGROUP = "bandmaster-lab"
NETNS = Path("/run/netns")
NETNS_PREFIX = "bandmaster-"
EXPORTER_PORT = 9100
# every process that the lab starts outside of a pod carries it
MARK = "LAB_OF_BANDMASTER"
MOST_NODES = 9


@dataclass(frozen=True, slots=True)
class Node:
    """A node and everything on the machine that has its number."""

    number: int

    @property
    def name(self) -> str:
        return f"node-{self.number}"

    @property
    def address(self) -> str:
        return f"10.77.0.1{self.number}"

    @property
    def pods(self) -> str:
        """The addresses of its pods."""
        return f"10.88.{self.number}.0/24"

    @property
    def netns(self) -> str:
        return f"{NETNS_PREFIX}{self.name}"

    @property
    def link(self) -> str:
        """The bridge's end of its cable."""
        return f"bandmaster-{self.number}"

    @property
    def directory(self) -> Path:
        return STATE / self.name


def nodes(count: int) -> tuple[Node, ...]:
    return tuple(Node(number) for number in range(1, count + 1))


LINK_NAME = re.compile(rf"{BRIDGE}|bandmaster-\d")


def hierarchies() -> tuple[Path, ...]:
    """The cgroup trees: one with version 2, one a controller with version 1."""
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return (root,)
    return tuple(sorted(path for path in root.iterdir() if path.is_dir()))
