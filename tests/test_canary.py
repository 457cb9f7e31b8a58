"""Secrets that are planted in a running system, and looked for wherever it speaks."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
import requests

from tests.console.supervisor.rig import ROOT, Up, clean_environ
from tests.servers import free_port, wait_until

PASSWORD = "canary pass phrase 71c0"
EXTENDER_KEY = "canary-extender/key 8b2e"
PLANTED = {
    "extender key": EXTENDER_KEY,
    "extender key in a URL": quote(EXTENDER_KEY, safe=""),
    "extender key in a header": b64encode(f"bandmaster:{EXTENDER_KEY}".encode())
    .decode()
    .rstrip("="),
    "secret key": "canary-secret-9f31-0123456789-0123456789-0123456789",
    "encryption key": "canary-encryption-4c7d-0123456789-0123456789",
    "Prometheus password": "canary-prometheus-a9d4",
    "API server token": "canary-token-52b7",
    "admin's password": PASSWORD,
}
PAGES = (
    *("/c/default/", "/c/default/nodes", "/c/default/nodes.csv", "/c/default/neutral"),
    *("/readyz", "/livez", "/metrics", "/c/nowhere/", "/password"),
    *("/api/v1/schema", "/api/v1/clusters", "/api/v1/clusters/default"),
    *("/api/v1/clusters/default/nodes", "/api/v1/nope"),
)
KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: {token}}}}}]
"""


def found(text: str) -> list[str]:
    return [name for name, secret in PLANTED.items() if secret in text]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Up, Path]]:
    """Runs with sources that refuse, so that errors are told everywhere."""
    directory = tmp_path_factory.mktemp("canary")
    kubeconfig = directory / "kubeconfig"
    token = PLANTED["API server token"]
    kubeconfig.write_text(KUBECONFIG.format(port=free_port(), token=token))
    password = directory / "password"
    password.write_text(PASSWORD + "\n")
    prometheus = PLANTED["Prometheus password"]
    started = Up(
        directory / "var",
        environ={
            "BANDMASTER_EXTENDER_KEY": EXTENDER_KEY,
            "BANDMASTER_SECRET_KEY": PLANTED["secret key"],
            "BANDMASTER_ENCRYPTION_KEY": PLANTED["encryption key"],
            "BANDMASTER_PROMETHEUS_URL": f"http://ana:{prometheus}@127.0.0.1:{free_port()}",
            "BANDMASTER_KUBECONFIG": str(kubeconfig),
            "BANDMASTER_ADMIN_PASSWORD_FILE": str(password),
            "BANDMASTER_TICK_SECONDS": "1",
            "BANDMASTER_LOG_LEVEL": "DEBUG",
        },
    )
    try:
        started.wait_ready()
        failed = "select count(*) from scoring_tick where outcome = 'failed'"
        wait_until(lambda: started.query(failed)[0] != (0,), "a failed tick", 30)
        yield started, directory
    finally:
        started.close()


@pytest.fixture(scope="module")
def visitor(planted: tuple[Up, Path]) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        url = planted[0].web_url + "/login"
        session.get(url, timeout=15)
        form = {
            "username": "admin",
            "password": PASSWORD,
            "csrfmiddlewaretoken": session.cookies["csrftoken"],
        }
        assert "Overview" in session.post(url, form, timeout=15).text
        yield session


@pytest.mark.parametrize("path", PAGES)
def test_pages(planted: tuple[Up, Path], visitor: requests.Session, path: str) -> None:
    assert found(visitor.get(planted[0].web_url + path, timeout=15).text) == []


def test_every_page_of_the_admin(
    planted: tuple[Up, Path], visitor: requests.Session
) -> None:
    waiting, seen = ["/admin/"], set[str]()
    while waiting and len(seen) < 80:
        path = waiting.pop(0)
        seen.add(path)
        text = visitor.get(planted[0].web_url + path, timeout=15).text
        assert found(text) == [], path
        links = re.findall(r'href="(/admin/[^"?#]+)"', text)
        fresh = [p for p in links if "logout" not in p and "password" not in p]
        waiting += [p for p in dict.fromkeys(fresh) if p not in {*seen, *waiting}]
    assert any("/scoring/cluster/" in path for path in seen), sorted(seen)
    assert any("/console/auditentry/" in path for path in seen)


@pytest.mark.parametrize(
    ("method", "path", "auth"),
    [
        ("GET", "/livez", None),
        ("GET", "/readyz", None),
        ("GET", "/metrics", None),
        ("POST", "/extender/default/filter", None),
        ("POST", "/extender/default/filter", ("bandmaster", "wrong")),
        ("POST", "/extender/default/filter", ("bandmaster", EXTENDER_KEY)),
        ("POST", "/nope", ("bandmaster", EXTENDER_KEY)),
    ],
)
def test_the_extender(
    planted: tuple[Up, Path], method: str, path: str, auth: tuple[str, str] | None
) -> None:
    url = planted[0].extender_url + path
    answer = requests.request(method, url, auth=auth, data=b"{", timeout=15)
    assert found(answer.text + str(answer.headers)) == []


def manage(directory: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), *argv],
        env=clean_environ()
        | {
            "BANDMASTER_DATA_DIR": str(directory / "var"),
            "BANDMASTER_ENCRYPTION_KEY": PLANTED["encryption key"],
        },
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "argv",
    [
        ("compile_configuration",),
        ("export_configuration", "main"),
        ("explain_node", "node-1"),
        (
            *("publish_configuration", os.devnull, "--configuration", "main"),
            *("--as", "admin", "--message", "m"),
        ),
    ],
    ids=lambda argv: argv[0],
)
def test_commands(planted: tuple[Up, Path], argv: tuple[str, ...]) -> None:
    done = manage(planted[1], *argv)
    assert found(done.stdout + done.stderr) == []


def test_only_with_key_is_the_key_told(planted: tuple[Up, Path]) -> None:
    done = manage(planted[1], "compile_configuration", "--with-key")
    assert found(done.stdout) == ["extender key in a URL"]
    assert found(done.stderr) == []


def test_the_log_and_what_is_written(planted: tuple[Up, Path]) -> None:
    up, _ = planted
    up_log = up.output
    assert "outcome=failed" in up_log
    assert found(up_log) == []
    for path in up.data_dir.rglob("*"):
        if path.is_file():
            held = found(path.read_bytes().decode("utf-8", "replace"))
            assert held == [], path.relative_to(up.data_dir)


def test_command_lines(planted: tuple[Up, Path]) -> None:
    for command in planted[0].processes().values():
        assert found(command) == []
