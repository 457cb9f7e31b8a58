"""What the children are told: the choices of `up`, and nothing by accident."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from console.supervisor.children import common_environ, simulation
from console.supervisor.options import ROOT, Options

OPTIONS = Options("127.0.0.1", 8100, 8101, Path("/data"))


@pytest.mark.parametrize(
    ("environ", "name", "value"),
    [
        pytest.param({}, "BANDMASTER_DATA_DIR", "/data", id="data"),
        pytest.param({}, "BANDMASTER_PORT", "8100", id="port"),
        pytest.param({"BANDMASTER_PORT": "1"}, "BANDMASTER_PORT", "8100", id="wins"),
        pytest.param(
            {"BANDMASTER_PORT_FILE": "/f"}, "BANDMASTER_PORT_FILE", None, id="its file"
        ),
        pytest.param(
            {}, "BANDMASTER_EXTENDER_URL", "http://127.0.0.1:8101", id="extender"
        ),
        pytest.param(
            {"BANDMASTER_EXTENDER_URL": "http://10.0.0.5:80"},
            "BANDMASTER_EXTENDER_URL",
            "http://10.0.0.5:80",
            id="extender as the cluster sees it",
        ),
        pytest.param(
            {"DJANGO_SETTINGS_MODULE": "x"}, "DJANGO_SETTINGS_MODULE", None, id="django"
        ),
        pytest.param({}, "TMPDIR", "/data/tmp", id="temporary files"),
        pytest.param({"PYTHONPATH": "/p"}, "PYTHONPATH", f"{ROOT}:/p", id="imports"),
        pytest.param({"OTHER": "1"}, "OTHER", "1", id="the rest"),
    ],
)
def test_the_environment_of_children(
    environ: Mapping[str, str], name: str, value: str | None
) -> None:
    assert common_environ(OPTIONS, environ).get(name) == value


@pytest.mark.parametrize(
    ("host", "names"),
    [
        pytest.param("127.0.0.1", "localhost,127.0.0.1,[::1]", id="loopback"),
        pytest.param("10.0.0.5", "localhost,127.0.0.1,[::1],10.0.0.5", id="one"),
        pytest.param("0.0.0.0", "localhost,127.0.0.1,[::1]", id="all"),
    ],
)
def test_pages_answer_to_the_address_they_listen_on(host: str, names: str) -> None:
    options = Options(host, 8100, 8101, Path("/data"))
    assert common_environ(options, {})["BANDMASTER_ALLOWED_HOSTS"] == names


def test_without_a_cluster_one_is_simulated() -> None:
    chosen = simulation(OPTIONS, {})
    assert chosen is not None
    assert chosen.variables == {
        "BANDMASTER_PROMETHEUS_URL": f"http://127.0.0.1:{chosen.port}",
        "BANDMASTER_KUBECONFIG": "/data/simulator/kubeconfig",
        "BANDMASTER_SIMULATED": "true",
    }


@pytest.mark.parametrize("name", ["PROMETHEUS_URL", "KUBECONFIG"])
def test_with_either_named_nothing_is_simulated(name: str) -> None:
    assert simulation(OPTIONS, {f"BANDMASTER_{name}": "somewhere"}) is None
