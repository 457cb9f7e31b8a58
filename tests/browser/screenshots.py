"""Takes the pictures in docs/screenshots: `python -m tests.browser.screenshots`.

The pages are the real ones: a fresh database, a fleet made up by a fixed seed, a live
extender, and Chromium.
"""

from __future__ import annotations

import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PICTURES = Path(__file__).resolve().parents[2] / "docs" / "screenshots"
DESK, PHONE = (1280, 800), (390, 844)
SHOTS = (
    ("overview-light", "/c/default/", "light", DESK),
    ("overview-dark", "/c/default/", "dark", DESK),
    ("nodes-light", "/c/default/nodes?why={second}", "light", DESK),
    ("nodes-dark", "/c/default/nodes?why={second}", "dark", DESK),
    ("nodes-phone", "/c/default/nodes", "light", PHONE),
    ("login-light", "/login", "light", DESK),
)
LARGEST = 200_000  # bytes of one picture
START_SECONDS = 30


def main() -> None:
    with tempfile.TemporaryDirectory() as data:
        port, extender_port = _free_port(), _free_port()
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "console.settings",
            "DJANGO_ALLOW_ASYNC_UNSAFE": "true",
            "BANDMASTER_DATA_DIR": data,
            "BANDMASTER_SECRET_KEY": "only for pictures, and gone with them",
            "BANDMASTER_EXTENDER_KEY": "only-for-pictures",
            "BANDMASTER_EXTENDER_URL": f"http://127.0.0.1:{extender_port}",
            "BANDMASTER_LOG_LEVEL": "WARNING",
        }
        second = _fill()
        web = [sys.executable, "-m", "gunicorn", "console.wsgi", "--log-level=warning"]
        web += ["--threads=4", f"--bind=127.0.0.1:{port}", "--no-control-socket"]
        extender = _extender_command(extender_port)
        with _running(extender, extender_port), _running(web, port):
            _take(f"http://127.0.0.1:{port}", second)


def _fill() -> str:
    """Make the rows; returns the node that is ranked second."""
    import django

    django.setup()
    from django.core.management import call_command

    from scoring.explain.current import policies, rank
    from scoring.models import Cluster
    from tests import rows

    call_command("migrate", verbosity=0)
    call_command("bootstrap", password_file=Path(os.devnull))
    rows.make_user()
    cluster = Cluster.objects.get()
    draft = rows.motley()
    rows.collected(cluster, draft)
    ranking = rank(cluster, policies(cluster)[0], now=time.time())
    assert ranking is not None
    return ranking.snapshot.table.rows[int(ranking.order[1])].name


def _extender_command(port: int) -> list[str]:
    from scoring.extender.serve import granian_argv

    return granian_argv("127.0.0.1", port)


@contextmanager
def _running(command: list[str], port: int) -> Iterator[None]:
    """The command as a child in a group of its own, from its first answer on."""
    child = subprocess.Popen(command, start_new_session=True)
    try:
        _await(child, port)
        yield
    finally:
        os.killpg(child.pid, signal.SIGTERM)
        child.wait(10)


def _await(child: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and child.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", "/livez")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.1)
        finally:
            connection.close()
    raise SystemExit(f"nothing answers on port {port}: read the messages above")


def _take(url: str, second: str) -> None:
    from playwright.sync_api import sync_playwright

    from console.models import User
    from tests.browser.conftest import CHROMIUM, FLAGS
    from tests.browser.sessions import session_of

    PICTURES.mkdir(parents=True, exist_ok=True)
    cookie = session_of(User.objects.get(username="ana"), url)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for name, path, theme, (width, height) in SHOTS:
            context = browser.new_context(
                base_url=url,
                color_scheme="dark" if theme == "dark" else "light",
                viewport={"width": width, "height": height},
            )
            if path != "/login":
                context.add_cookies([cookie])
            page = context.new_page()
            page.goto(path.format(second=second))
            page.wait_for_load_state("networkidle")
            picture = PICTURES / f"{name}.png"
            page.screenshot(path=picture)
            context.close()
            _check(picture)
        browser.close()


def _check(picture: Path) -> None:
    size = picture.stat().st_size
    sys.stdout.write(f"{picture.name}: {size // 1000} KB\n")
    if size > LARGEST:
        raise SystemExit(f"{picture.name} is larger than {LARGEST // 1000} KB")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


if __name__ == "__main__":
    main()
