"""`up` from nothing, again on old data, and the refusals before anything starts."""

from __future__ import annotations

import signal
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.console.supervisor.rig import Up
from tests.servers import free_port, wait_until

Start = Callable[..., Up]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_the_first_start_says_where_everything_is(up: Up) -> None:
    assert up.pages_answer()
    assert up.extender_answers()
    assert f"pages     {up.web_url}/" in up.lines
    password = up.data_dir / "first-admin-password"
    assert f"log in as admin; the one-time password is in {password}" in up.lines


def test_what_a_start_makes_is_private(up: Up) -> None:
    assert mode(up.data_dir) == 0o700
    secret = [up.data_dir / "first-admin-password"]
    secret += (up.data_dir / "secrets").iterdir()
    assert len(secret) == 4
    for path in [*secret, up.data_dir / "bandmaster.sqlite3"]:
        assert mode(path) == 0o600
    for path in secret:
        assert path.read_text(encoding="utf-8").strip() not in up.output


def test_scores_come_without_anything_to_do(up: Up) -> None:
    newest = "select count(*) from scoring_snapshot"
    wait_until(lambda: up.query(newest)[0] != (0,), f"a snapshot\n{up.output}")
    stock = up.data_dir / "simulator" / "stock.yaml"
    assert f"127.0.0.1:{up.extender_port}/extender" in stock.read_text("utf-8")


def test_a_second_up_on_the_same_data_names_the_first(up: Up) -> None:
    second = Up(up.data_dir)
    assert second.wait() == 2
    assert second.output == (
        f"bandmaster: Bandmaster already runs on {up.data_dir} (process "
        f"{up.process.pid}, {up.web_url}/): stop it first, or choose another "
        "data directory with BANDMASTER_DATA_DIR\n"
    )
    assert up.pages_answer()


def test_ctrl_c_ends_everything_and_a_restart_keeps_the_data(start: Start) -> None:
    first = start().wait_ready()
    keys = {p: p.read_text("utf-8") for p in (first.data_dir / "secrets").iterdir()}
    users = first.query("select id, password from console_user")
    revisions = first.query("select id, sha256 from console_revision")
    assert first.stop(signal.SIGINT) == 0
    assert first.lines[-1] == "stopped"
    assert "Traceback" not in first.output
    assert first.all_gone()
    assert not is_open(first.port)
    assert not is_open(first.extender_port)

    again = start(ports=(first.port, first.extender_port)).wait_ready()
    assert not [line for line in again.lines if "password" in line]
    assert again.query("select id, password from console_user") == users
    assert again.query("select id, sha256 from console_revision") == revisions
    assert {p: p.read_text("utf-8") for p in keys} == keys
    assert not (again.data_dir / "backups").exists()  # nothing was migrated


@pytest.mark.parametrize("index", [0, 1], ids=["web", "extender"])
def test_a_busy_port_is_told_before_anything_starts(start: Start, index: int) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        busy = listener.getsockname()[1]
        ports = (busy, free_port()) if index == 0 else (free_port(), busy)
        up = start(ports=ports)
        assert up.wait() == 2
    flag = ("--port", "--extender-port")[index]
    assert up.output == (
        f"bandmaster: port {busy} on 127.0.0.1 is in use: stop what uses it, "
        f"or choose another with {flag}\n"
    )
    assert not (up.data_dir / "bandmaster.sqlite3").exists()


def test_a_wrong_setting_is_one_sentence(start: Start) -> None:
    up = start(environ={"BANDMASTER_TICK_SECONDS": "often"})
    assert up.wait() == 2
    assert "BANDMASTER_TICK_SECONDS is 'often': write a whole number" in up.output
    assert "Traceback" not in up.output


def test_a_request_to_stop_during_the_start_is_heard(start: Start) -> None:
    up = start()
    wait_until(lambda: bool(up.processes()), "a child")
    assert up.stop() == 0
    assert up.all_gone()
