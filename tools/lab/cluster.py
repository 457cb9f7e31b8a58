"""A whole Kubernetes with real nodes, its Prometheus, and Bandmaster attached."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.lab import node as realnode
from tools.lab import only, place, preflight
from tools.lab.api import Json
from tools.lab.attach import Attached
from tools.lab.authority import Authority, make_authority
from tools.lab.controlplane import ControlPlane
from tools.lab.image import write_image
from tools.lab.monitoring import Monitoring
from tools.lab.node import Site
from tools.lab.place import Node
from tools.lab.processes import Child, LabError, free_port, wait_until
from tools.lab.sweep import sweep

NODES_SECONDS = 90.0
ENDING_SECONDS = 20.0
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Lab:
    """Everything that runs."""

    plane: ControlPlane
    nodes: tuple[Node, ...]
    children: tuple[Child, ...]
    monitoring: Monitoring
    product: Attached

    def require_alive(self) -> None:
        """Raises LabError when a program of the lab has ended by itself."""
        self.plane.require_alive()
        for child in (*self.children, self.monitoring.child, self.product.child):
            child.require_alive()


@contextmanager
def running_lab(programs: Path, count: int) -> Iterator[Lab]:
    """Starts a lab; nothing of it is left afterwards, whatever happens to us.

    Raises:
        LabError: this machine cannot have one, has one already, or a part of it does
            not come up.
    """
    preflight.require()
    with ExitStack() as stack:
        try:
            stack.enter_context(only.holding(ENDING_SECONDS / 4))
        except only.TakenError as exc:
            raise LabError(
                f"a lab runs on this machine already (process {only.holder()}): "
                "end it with `make lab-down`"
            ) from exc
        stack.enter_context(_janitor())
        stack.callback(sweep)
        sweep()
        place.STATE.mkdir(parents=True, mode=0o700)
        stack.enter_context(_marked_environment())
        try:
            lab = _start(stack, programs, place.nodes(count))
        except LabError as exc:
            said = " ".join(str(exc).split())
            raise LabError(f"{said} (logs are kept in {_keep_logs()})") from exc
        yield lab


@contextmanager
def _marked_environment() -> Iterator[None]:
    """What is started from now on can be told from everything else."""
    before = dict(os.environ)
    os.environ[place.MARK] = "1"
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        for spelled in (name, name.upper()):
            # containerd and kubelet would ask it for the way to the API server
            os.environ.pop(spelled, None)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _janitor() -> Iterator[None]:
    """A process that sweeps once we are gone, even by `kill -9`."""
    janitor = subprocess.Popen(
        [sys.executable, "-m", "tools.lab", "sweep-after"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
        start_new_session=True,
    )
    try:
        yield
    finally:
        # everything is swept: nothing is left for it to do
        janitor.kill()
        janitor.wait(ENDING_SECONDS)
        if janitor.stdin is not None:
            janitor.stdin.close()


def _start(stack: ExitStack, programs: Path, nodes: tuple[Node, ...]) -> Lab:
    realnode.make_network(nodes)
    plane, site = _start_plane(stack, programs)
    children = []
    for node in nodes:
        children.append(realnode.start_node(node, site))
        stack.callback(children[-1].stop, gently=False)
        children.append(realnode.start_exporter(node))
        stack.callback(children[-1].stop, gently=False)
    monitoring = Monitoring(place.STATE / "prometheus", nodes)
    stack.callback(monitoring.child.stop)
    product = Attached(
        place.STATE / "bandmaster",
        prometheus_url=monitoring.url,
        kubeconfig=plane.kubeconfig,
    )
    stack.callback(product.child.stop)
    lab = Lab(plane, nodes, tuple(children), monitoring, product)
    _wait_for_nodes(lab)
    monitoring.wait()
    product.wait()
    plane.start_scheduler(product.publish())
    return lab


def _start_plane(stack: ExitStack, programs: Path) -> tuple[ControlPlane, Site]:
    authority = make_authority(place.STATE / "authority")
    plane = ControlPlane(
        programs,
        place.STATE / "plane",
        address=place.BRIDGE_ADDRESS,
        options=_apiserver_options(authority),
    )
    stack.enter_context(plane)
    _start_controllers(plane)
    image = place.STATE / "image.tar"
    write_image(image)
    return plane, Site(programs, plane.kubeconfig, authority.certificate, image)


def _apiserver_options(authority: Authority) -> dict[str, str | None]:
    certificate = str(authority.certificate)
    return {
        # what a control plane without controllers and nodes had to do without
        "disable-admission-plugins": None,
        "endpoint-reconciler-type": None,
        "enable-priority-and-fairness": None,
        "allow-privileged": "true",
        "client-ca-file": certificate,
        "kubelet-client-certificate": str(authority.client_certificate),
        "kubelet-client-key": str(authority.client_key),
        "kubelet-preferred-address-types": "InternalIP",
        # without these the ConfigMap that extension servers read is not made
        "requestheader-client-ca-file": certificate,
        "requestheader-allowed-names": "front-proxy",
        "requestheader-username-headers": "X-Remote-User",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
    }


def _start_controllers(plane: ControlPlane) -> None:
    options = {
        "kubeconfig": plane.kubeconfig,
        "service-account-private-key-file": plane.directory / "service-account.key",
        "root-ca-file": plane.directory / "certs" / "apiserver.crt",
        "leader-elect": "false",
        "bind-address": "127.0.0.1",
        "secure-port": free_port(),
        # else it makes the directory of the default in the machine's /usr
        "flex-volume-plugin-dir": plane.directory / "volume-plugins",
        # a dead node shall show within a test's patience
        "node-monitor-grace-period": "20s",
    }
    flags = [f"--{name}={value}" for name, value in options.items()]
    plane.spawn("kube-controller-manager", flags)


def _wait_for_nodes(lab: Lab) -> None:
    def all_ready() -> bool:
        lab.require_alive()
        listed = lab.plane.api.json("GET", "/api/v1/nodes")["items"]
        return sum(is_ready(node) for node in listed) == len(lab.nodes)

    wait_until(f"{len(lab.nodes)} nodes are ready", all_ready, NODES_SECONDS)


def is_ready(node: Json) -> bool:
    """Whether a Node says that it is Ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)


def _keep_logs() -> Path:
    """Copies the logs out of a lab that is about to be swept away."""
    kept = Path(tempfile.mkdtemp(prefix="bandmaster-lab-logs-"))
    patterns = ("node-*/*.log", "plane/logs/*", "bandmaster/*.log", "prometheus/*.log")
    for log in (log for pattern in patterns for log in place.STATE.glob(pattern)):
        copy = kept / log.relative_to(place.STATE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(log, copy)
    return kept
