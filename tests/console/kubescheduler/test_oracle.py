"""The real kube-scheduler reads what we compile."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from console.kubescheduler.compiler import fill_key
from tests.components import require
from tests.console.kubescheduler.documents import compiled, profile, text

OWN = profile(score={"NetworkTraffic": 3, "CPUUsage": 1}, args={"NetworkTraffic": {}})
SECOND = profile("second", score={"HelloWorldPlugin": 2}, filters=["CPUUsage"])
ARTICLE = profile(
    multiPoint={"enabled": [{"name": "NetworkTraffic", "weight": 2}]},
    score={"HelloWorldPlugin": 1},
)
PLAIN = profile("plain", score={"ImageLocality": 7})


pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def kube_scheduler() -> Path:
    return Path(require("kube-scheduler"))


def start(binary: Path, stock: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Decode, validate and build the scheduler; no API server is asked."""
    source = folder / "stock.yaml"
    source.write_text(fill_key(stock, "S3cr/et %"))
    command: list[str | Path] = [
        binary,
        "--config",
        source,
        "--master",
        "http://127.0.0.1:9",
    ]
    command += ["--write-config-to", folder / "out.yaml", "--secure-port", "0"]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=30, check=False
    )


@pytest.mark.parametrize(
    ("source", "options"),
    [
        pytest.param(text(profiles=[OWN]), {}, id="one profile"),
        pytest.param(text(profiles=[OWN, SECOND, PLAIN]), {}, id="three profiles"),
        pytest.param(text(profiles=[ARTICLE]), {"extended_range": True}, id="extended"),
        pytest.param(
            text(profiles=[SECOND], clientConnection={"kubeconfig": "/etc/none"}),
            {"target": "second-scheduler"},
            id="second scheduler",
        ),
        pytest.param(
            text(profiles=[OWN]), {"extender_url": "https://10.0.0.5:8001"}, id="https"
        ),
        pytest.param(text(), {}, id="nothing of ours"),
    ],
)
def test_compiled_documents_start(
    kube_scheduler: Path, tmp_path: Path, source: str, options: dict[str, object]
) -> None:
    stock = compiled(source, **options).stock
    done = start(kube_scheduler, stock, tmp_path)
    assert done.returncode == 0, done.stderr
    written = (tmp_path / "out.yaml").read_text()
    assert ("/extender/default" in written) is ("extenders" in stock)
    assert "S3cr/et" not in done.stderr


def test_our_names_would_not_start(kube_scheduler: Path, tmp_path: Path) -> None:
    done = start(kube_scheduler, text(profiles=[OWN]), tmp_path)
    assert done.returncode != 0
    assert "NetworkTraffic" in done.stderr
