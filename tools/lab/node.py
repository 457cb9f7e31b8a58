"""Real nodes: kubelet, containerd and kube-proxy in namespaces, node_exporter beside.

Every node is a network namespace on one bridge. Inside it a PID and mount namespace
holds the node's programs and pods, so that ending its first process ends them all.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.lab import place
from tools.lab.image import NAME as IMAGE_NAME
from tools.lab.place import Node
from tools.lab.processes import Child, LabError, start

COMMAND_SECONDS = 30
INIT = Path(__file__).with_name("node-init.sh")

CONTAINERD = """\
version = 2
root = "{directory}/containerd"
state = "/run/containerd/state"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{image}"
  # a machine without CAP_SYS_RESOURCE may not lower the score of a container
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "{directory}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    # overlays on overlays are refused; the images are small enough to copy
    snapshotter = "native"
"""
KUBELET = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: {address}
healthzPort: 0
readOnlyPort: 0
authentication:
  anonymous: {{enabled: false}}
  webhook: {{enabled: true}}
  x509: {{clientCAFile: {authority}}}
authorization: {{mode: Webhook}}
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
cgroupDriver: cgroupfs
cgroupRoot: /{cgroup}
failSwapOn: false
failCgroupV1: false
enforceNodeAllocatable: [none]
makeIPTablesUtilChains: false
volumePluginDir: {directory}/volume-plugins
resolvConf: ""
clusterDNS: [10.96.0.10]
clusterDomain: cluster.local
# the disk and the memory are those of the whole machine
evictionHard: {{imagefs.available: 1%, nodefs.available: 1%, memory.available: 50Mi}}
"""


@dataclass(frozen=True, slots=True)
class Site:
    """What all nodes of a lab have in common."""

    programs: Path
    kubeconfig: Path
    authority: Path
    image: Path


def run(*command: str) -> str:
    """Runs a short command; returns what it prints.

    Raises:
        LabError: it fails.
    """
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False
    )
    if done.returncode != 0:
        raise LabError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def make_network(nodes: Sequence[Node]) -> None:
    """The bridge, a namespace with a cable to it for each node, and all routes."""
    run("ip", "link", "add", place.BRIDGE, "type", "bridge")
    run("ip", "address", "add", f"{place.BRIDGE_ADDRESS}/24", "dev", place.BRIDGE)
    run("ip", "link", "set", place.BRIDGE, "up")
    for node in nodes:
        _join_network(node, [other for other in nodes if other != node])


def _join_network(node: Node, others: Iterable[Node]) -> None:
    inside = ("ip", "-n", node.netns)
    run("ip", "netns", "add", node.netns)
    cable = ("ip", "link", "add", node.link, "type", "veth")
    run(*cable, "peer", "name", "eth0", "netns", node.netns)
    run("ip", "link", "set", node.link, "master", place.BRIDGE, "up")
    run(*inside, "address", "add", f"{node.address}/24", "dev", "eth0")
    run(*inside, "link", "set", "eth0", "up")
    run(*inside, "link", "set", "lo", "up")
    run(*inside, "route", "add", "default", "via", place.BRIDGE_ADDRESS)
    for other in others:
        run(*inside, "route", "add", other.pods, "via", other.address)
    run("ip", "route", "add", node.pods, "via", node.address)


def make_cgroup(node: Node) -> str:
    """Makes the node's own cgroup in every tree; returns its name."""
    name = f"{place.CGROUP}/{node.name}"
    for root in place.hierarchies():
        directory = root
        for part in name.split("/"):
            directory /= part
            directory.mkdir(exist_ok=True)
            _hand_down(directory)
    return name


def _hand_down(directory: Path) -> None:
    """What a new cgroup does not inherit by itself."""
    for name in ("cpuset.cpus", "cpuset.mems"):  # version 1
        if (directory / name).exists() and not (directory / name).read_text().strip():
            (directory / name).write_text((directory.parent / name).read_text())
    control = directory.parent / "cgroup.subtree_control"  # version 2
    if control.exists():
        wanted = (directory.parent / "cgroup.controllers").read_text().split()
        if wanted:
            control.write_text(" ".join(f"+{name}" for name in wanted))


def start_node(node: Node, site: Site) -> Child:
    """Writes the node's files and starts its first process."""
    directory = node.directory
    (directory / "cni").mkdir(parents=True)
    (directory / "cni" / "10-bridge.conflist").write_text(_cni(node), encoding="utf-8")
    facts = {
        "directory": directory,
        "image": IMAGE_NAME,
        "address": node.address,
        "authority": site.authority,
        "cgroup": make_cgroup(node),
    }
    for name, text in (("containerd.toml", CONTAINERD), ("kubelet.yaml", KUBELET)):
        (directory / name).write_text(text.format(**facts), encoding="utf-8")
    files = (str(directory), str(site.programs), node.name, node.address)
    return start(
        node.name,
        [
            *("nsenter", f"--net={place.NETNS / node.netns}"),
            *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("sh", str(INIT), *files, str(site.kubeconfig), str(site.image)),
        ],
        log=directory / "init.log",
        cwd=directory,
    )


def start_exporter(node: Node) -> Child:
    """node_exporter; only `ip netns exec` shows it the node's own /sys/class/net."""
    collectors = ("netdev", "netclass", "uname", "cpu", "time", "meminfo", "loadavg")
    return start(
        f"node_exporter of {node.name}",
        [
            *("ip", "netns", "exec", node.netns, "prometheus-node-exporter"),
            f"--web.listen-address={node.address}:{place.EXPORTER_PORT}",
            "--collector.disable-defaults",
            *(f"--collector.{name}" for name in collectors),
        ],
        log=node.directory / "node-exporter.log",
        cwd=node.directory,
    )


def _cni(node: Node) -> str:
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "dataDir": str(node.directory / "addresses"),
            "ranges": [[{"subnet": node.pods}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    network = {"cniVersion": "0.4.0", "name": "lab", "plugins": [bridge]}
    return json.dumps(network)
