"""Arguments win over the environment; odd values are refused in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from console.supervisor.options import ROOT, Options, parse, setting
from console.supervisor.refusal import Refusal


def test_nothing_given_means_loopback_and_the_usual_ports() -> None:
    assert parse([], {}) == Options("127.0.0.1", 8000, 8001, ROOT / "var")


def test_an_argument_wins_over_the_environment() -> None:
    environ = {"BANDMASTER_PORT": "9000", "BANDMASTER_EXTENDER_PORT": "9001"}
    options = parse(["--port", "9500"], environ)
    assert (options.port, options.extender_port) == (9500, 9001)


@pytest.mark.parametrize(
    ("argv", "environ", "sentence"),
    [
        pytest.param(
            ["--port", "http"],
            {},
            "--port is 'http': write a whole number from 1 to 65535",
            id="word",
        ),
        pytest.param(
            [],
            {"BANDMASTER_EXTENDER_PORT": "70000"},
            "BANDMASTER_EXTENDER_PORT is '70000': write a whole number",
            id="too large",
        ),
        pytest.param(
            ["--port", "8001"], {}, "web and extender cannot share port 8001", id="same"
        ),
        pytest.param(
            [],
            {"BANDMASTER_PORT_FILE": "/nonexistent/port"},
            "BANDMASTER_PORT_FILE cannot be read (FileNotFoundError): name a readable",
            id="missing file",
        ),
    ],
)
def test_an_odd_value_is_refused(
    argv: list[str], environ: Mapping[str, str], sentence: str
) -> None:
    with pytest.raises(Refusal) as refused:
        parse(argv, environ)
    assert sentence in str(refused.value)


def test_a_setting_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "host"
    path.write_text("10.0.0.5\n", encoding="utf-8")
    assert setting({"BANDMASTER_HOST_FILE": str(path)}, "HOST") == "10.0.0.5"


@pytest.mark.parametrize(
    ("host", "url"),
    [
        pytest.param("127.0.0.1", "http://127.0.0.1:8000/", id="loopback"),
        pytest.param("0.0.0.0", "http://127.0.0.1:8000/", id="any"),
        pytest.param("::", "http://[::1]:8000/", id="any of version 6"),
        pytest.param("10.0.0.5", "http://10.0.0.5:8000/", id="one"),
    ],
)
def test_the_printed_url_can_be_opened_here(host: str, url: str) -> None:
    assert parse(["--host", host], {}).web_url == url
