"""Three real nodes: pods run on them, and their real bytes reach Bandmaster."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from scoring.framework.snapshot import RECEIVE, TRANSMIT
from tests.e2e.product import ROOT
from tests.e2e.reallab import (
    container,
    newest_snapshot,
    programs_or_skip,
    web_deployment,
)
from tools.lab.attach import TICK_SECONDS, WINDOW_SECONDS
from tools.lab.cluster import Lab, is_ready, running_lab
from tools.lab.monitoring import SCRAPE_SECONDS
from tools.lab.processes import wait_until
from tools.lab.traffic import send_between

pytestmark = pytest.mark.e2e_long

RUNNING_SECONDS = 60.0
SENT = 40_000_000
SENDING_SECONDS = 40.0
RATE = SENT / SENDING_SECONDS


@pytest.fixture(scope="module")
def lab() -> Iterator[Lab]:
    with running_lab(programs_or_skip(), 3) as running:
        yield running


def test_all_nodes_are_real_and_ready(lab: Lab) -> None:
    nodes = lab.plane.api.json("GET", "/api/v1/nodes")["items"]
    runtimes = [n["status"]["nodeInfo"]["containerRuntimeVersion"] for n in nodes]
    assert [n["metadata"]["name"] for n in nodes if is_ready(n)] == [
        node.name for node in lab.nodes
    ]
    assert all(runtime.startswith("containerd://") for runtime in runtimes)


def test_pods_run_on_all_nodes_behind_one_service(lab: Lab) -> None:
    api, name = lab.plane.api, "served"
    deployments = "/apis/apps/v1/namespaces/default/deployments"
    api.json("POST", deployments, web_deployment(name, 6))
    service = api.json(
        "POST",
        "/api/v1/namespaces/default/services",
        {
            "metadata": {"name": name},
            "spec": {
                "selector": {"app": name},
                "ports": [{"port": 80, "targetPort": 8080}],
            },
        },
    )

    def running() -> set[str]:
        pods = lab.plane.pods(f"app={name}")
        up = [pod for pod in pods if pod["status"]["phase"] == "Running"]
        return {pod["spec"]["nodeName"] for pod in up} if len(up) == 6 else set()

    seconds = wait_until("6 pods run", lambda: bool(running()), RUNNING_SECONDS)
    print(f"\n6 pods run after {seconds:.1f} s")
    assert running() == {node.name for node in lab.nodes}
    # asked from a pod, as a pod asks: through kube-proxy of its own node
    address = service["spec"]["clusterIP"]
    request = r"printf 'GET / HTTP/1.0\r\n\r\n'"
    ask = f"until {request} | nc {address} 80 | grep {name}; do sleep 0.2; done"
    spec = {**container(ask), "restartPolicy": "Never"}
    lab.plane.create_pod({"metadata": {"name": "asker"}, "spec": spec})
    asker = "/api/v1/namespaces/default/pods/asker"
    wait_until(
        "a pod reaches the service",
        lambda: api.json("GET", asker)["status"]["phase"] == "Succeeded",
        RUNNING_SECONDS,
    )
    # through kube-apiserver and the kubelet, with its certificate
    assert api.text("GET", f"{asker}/log").startswith(f"{name}-")


def test_bytes_between_nodes_show_on_the_right_ones(lab: Lab) -> None:
    first, second, third = lab.nodes
    sending = threading.Thread(
        target=send_between, args=(first, second, SENT, SENDING_SECONDS)
    )
    sending.start()
    # the whole window, as the newest scrape sees it, then holds nothing else
    time.sleep(WINDOW_SECONDS + SCRAPE_SECONDS + TICK_SECONDS + 2)
    lab.product.manage("collect_scores")
    found = newest_snapshot(lab.product)
    sending.join()
    rates = {
        (node.name, way): float(found.column(way)[found.table.index[node.name]])
        for node in lab.nodes
        for way in (RECEIVE, TRANSMIT)
    }
    print(f"\n{rates}")
    assert rates[second.name, RECEIVE] == pytest.approx(RATE, rel=0.01)
    assert rates[first.name, TRANSMIT] == pytest.approx(RATE, rel=0.02)
    assert rates[third.name, RECEIVE] < 0.05 * RATE
    assert rates[first.name, RECEIVE] < 0.05 * RATE


def test_a_second_lab_is_refused(lab: Lab) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.lab", "up"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "make lab-down" in done.stderr
    assert "Traceback" not in done.stderr
    lab.require_alive()
