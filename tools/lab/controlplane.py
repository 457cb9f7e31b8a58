"""A real control plane on loopback: etcd, kube-apiserver and kube-scheduler.

On its own it has no kubelet: nodes are objects, and a bound pod never runs. All state
lies in one directory, every port is a free one, and nothing outlives the caller.
"""

from __future__ import annotations

import base64
import secrets
import subprocess
import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType

from tools.lab.api import Api, ApiError, Json
from tools.lab.objects import BareNode
from tools.lab.processes import Child, LabError, free_port, start, wait_until

START_SECONDS = 60.0
PODS = "/api/v1/namespaces/{}/pods"


class Scheduler:
    """A started kube-scheduler."""

    def __init__(self, child: Child, api: Api) -> None:
        self.child = child
        self.api = api

    def metrics(self) -> str:
        return self.api.text("GET", "/metrics")

    def stop(self) -> None:
        self.api.close()
        self.child.stop()


class ControlPlane:
    """etcd and kube-apiserver; use as a context manager."""

    def __init__(
        self,
        programs: Path,
        directory: Path,
        *,
        address: str = "127.0.0.1",
        options: Mapping[str, str | None] | None = None,
    ) -> None:
        """`options` are laid over those of kube-apiserver; None takes one away."""
        self.programs = programs
        self.address = address
        self._options = dict(options or {})
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self.port = free_port()
        self._token = secrets.token_hex(16)
        self._children: list[Child] = []
        self._schedulers: list[Scheduler] = []
        self.api = Api(self.port, self._token, host=address)

    def __enter__(self) -> ControlPlane:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ends everything, the newest first; a scheduler never sees its API go."""
        self.api.close()
        for scheduler in self._schedulers:
            scheduler.api.close()
        while self._children:
            self._children.pop().stop(gently=False)

    def _start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        clients = f"http://127.0.0.1:{free_port()}"
        self._write_credentials()
        self.spawn("etcd", _etcd_arguments(self.directory, clients))
        self.spawn("kube-apiserver", self._apiserver_arguments(clients))
        self.wait("kube-apiserver", lambda: self.api.answers("/readyz"))
        # made by the server itself, a moment after it is ready
        namespace = "/api/v1/namespaces/default"
        self.wait("kube-apiserver", lambda: self.api.answers(namespace))
        certificate = self.directory / "certs" / "apiserver.crt"
        self._write_kubeconfig(certificate.read_bytes())

    def spawn(self, name: str, arguments: Iterable[str]) -> Child:
        """Starts one more of the built programs; it ends with the control plane."""
        command = [str(self.programs / name), *arguments]
        log = self.directory / "logs" / f"{name}-{len(self._children)}.log"
        child = start(name, command, log=log, cwd=self.directory)
        self._children.append(child)
        return child

    def require_alive(self) -> None:
        """Raises LabError, with the log's last lines, when a program has ended."""
        for child in self._children:
            child.require_alive()

    def wait(self, name: str, holds: Callable[[], bool]) -> None:
        """Waits while every program lives.

        Raises:
            LabError: one has ended, or it did not become true in time.
        """

        def alive_and_holds() -> bool:
            self.require_alive()
            return holds()

        wait_until(
            f"{name} ({self.directory / 'logs'})", alive_and_holds, START_SECONDS
        )

    def _write_credentials(self) -> None:
        key = self.directory / "service-account.key"
        subprocess.run(
            ["openssl", "genrsa", "-out", str(key), "2048"],
            check=True,
            capture_output=True,
            timeout=30,
        )
        tokens = self.directory / "tokens.csv"
        tokens.write_text(f'{self._token},lab,1,"system:masters"\n', encoding="utf-8")
        tokens.chmod(0o600)

    def _apiserver_arguments(self, etcd: str) -> list[str]:
        key = str(self.directory / "service-account.key")
        options: dict[str, str | None] = {
            "etcd-servers": etcd,
            "bind-address": self.address,
            "advertise-address": self.address,
            "secure-port": str(self.port),
            "cert-dir": str(self.directory / "certs"),
            "token-auth-file": str(self.directory / "tokens.csv"),
            "authorization-mode": "RBAC",
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": key,
            "service-account-signing-key-file": key,
            "service-cluster-ip-range": "10.96.0.0/16",
            # both need controllers that do not run here
            "disable-admission-plugins": "ServiceAccount,TaintNodesByCondition",
            "enable-priority-and-fairness": "false",
            # a Service of an apiserver on loopback is refused as an endpoint
            "endpoint-reconciler-type": "none",
        }
        options |= self._options
        return [f"--{k}={v}" for k, v in options.items() if v is not None]

    def _write_kubeconfig(self, certificate: bytes) -> None:
        authority = base64.b64encode(certificate).decode()
        self.kubeconfig.write_text(
            "apiVersion: v1\n"
            "kind: Config\n"
            "clusters:\n"
            "- name: lab\n"
            "  cluster:\n"
            f"    server: https://{self.address}:{self.port}\n"
            f"    certificate-authority-data: {authority}\n"
            "users:\n"
            f"- {{name: lab, user: {{token: {self._token}}}}}\n"
            "contexts:\n"
            "- {name: lab, context: {cluster: lab, user: lab}}\n"
            "current-context: lab\n",
            encoding="utf-8",
        )
        self.kubeconfig.chmod(0o600)

    def start_scheduler(self, config: Path, *flags: str) -> Scheduler:
        """Starts kube-scheduler with that file and waits until it is ready.

        Raises:
            LabError: it ended (its log's last lines are in the text) or is not ready.
        """
        port = free_port()
        kubeconfig = str(self.kubeconfig)
        child = self.spawn(
            "kube-scheduler",
            [
                f"--config={config}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--bind-address=127.0.0.1",
                f"--secure-port={port}",
                "--v=2",
                *flags,
            ],
        )
        api = Api(port, self._token)
        try:
            self.wait("kube-scheduler", lambda: api.answers("/readyz"))
        except LabError:
            api.close()
            self._children.remove(child)
            child.stop(gently=False)
            raise
        self._schedulers.append(Scheduler(child, api))
        return self._schedulers[-1]

    def stop_scheduler(self, scheduler: Scheduler) -> None:
        scheduler.stop()
        self._schedulers.remove(scheduler)
        self._children.remove(scheduler.child)

    def create_nodes(self, nodes: Iterable[BareNode]) -> None:
        for node in nodes:
            self.api.json("POST", "/api/v1/nodes", node.manifest())

    def create_pod(self, manifest: Json, *, namespace: str = "default") -> None:
        self.api.json("POST", PODS.format(namespace), manifest)

    def create_namespace(self, name: str) -> None:
        self.api.json("POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def pods(self, selector: str = "", *, namespace: str = "default") -> list[Json]:
        query = urllib.parse.urlencode({"labelSelector": selector})
        listed = self.api.json("GET", f"{PODS.format(namespace)}?{query}")
        items: list[Json] = listed["items"]
        return items

    def delete_pods(self, *, namespace: str = "default") -> None:
        """Deletes every pod of a namespace at once."""
        path = PODS.format(namespace) + "?gracePeriodSeconds=0"
        self.api.json("DELETE", path)

    def delete_node(self, name: str) -> None:
        try:
            self.api.json("DELETE", f"/api/v1/nodes/{name}")
        except ApiError as exc:
            if exc.status != 404:
                raise

    def events(self, pod: str, *, namespace: str = "default") -> list[str]:
        """The messages of a pod's events."""
        query = urllib.parse.urlencode({"fieldSelector": f"regarding.name={pod}"})
        path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events?{query}"
        return [
            str(event.get("note", "")) for event in self.api.json("GET", path)["items"]
        ]


def _etcd_arguments(directory: Path, clients: str) -> list[str]:
    peers = f"http://127.0.0.1:{free_port()}"
    return [
        f"--data-dir={directory / 'etcd'}",
        f"--listen-client-urls={clients}",
        f"--advertise-client-urls={clients}",
        f"--listen-peer-urls={peers}",
        f"--initial-advertise-peer-urls={peers}",
        f"--initial-cluster=default={peers}",
        # a lab that crashes starts anew: nothing has to reach the disk
        "--unsafe-no-fsync",
        "--log-level=error",
    ]
