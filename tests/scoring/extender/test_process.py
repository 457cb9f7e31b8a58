"""The extender in granian's processes, with a database of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from scoring import neutral
from scoring.extender.refresher import POLL_SECONDS, SWITCH_SECONDS
from scoring.extender.serve import granian_argv
from scoring.extender.wsgi import LARGEST_BODY
from tests.scoring.extender import granian, material
from tests.scoring.extender.granian import ROOT, Extender
from tests.scoring.extender.material import FILTER
from tests.servers import wait_until

NAMES = list(material.USE)
BUSY = 10.0  # seconds that a busy machine may take for what is due within one
SPREAD = {"node-a": 10, "node-b": 5, "node-c": 0}
LINUX = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Extender]:
    extender = granian.new(tmp_path_factory.mktemp("data"))
    with extender.running():
        extender.wait_loaded()
        yield extender


def differs(extender: Extender) -> bool:
    return len(set(extender.scores(NAMES).values())) > 1


def test_it_answers_from_what_the_database_holds(shared: Extender) -> None:
    assert shared.scores(NAMES) == SPREAD
    connection = shared.connect()
    body = material.extender_args(NAMES)
    assert granian.post(connection, body, FILTER)["NodeNames"] == NAMES
    connection.close()


def test_one_connection_serves_all_calls(shared: Extender) -> None:
    connection = shared.connect()
    connection.connect()
    port = connection.sock.getsockname()[1]
    for _ in range(100):
        granian.post(connection, material.extender_args(NAMES))
    assert connection.sock.getsockname()[1] == port
    connection.close()


def test_a_refused_body_leaves_no_traceback(shared: Extender) -> None:
    connection = shared.connect()
    connection.putrequest("POST", FILTER)
    connection.putheader("Authorization", material.AUTHORIZATION)
    connection.putheader("Content-Length", str(LARGEST_BODY + 1))
    connection.endheaders()
    assert connection.getresponse().status == 413
    connection.close()
    assert "Traceback" not in shared.log


def test_a_body_in_chunks_is_read_like_any_other(shared: Extender) -> None:
    connection = shared.connect()
    body = material.extender_args(NAMES)
    chunks = iter([body[:40], body[40:]])
    headers = {"Authorization": material.AUTHORIZATION, "Transfer-Encoding": "chunked"}
    connection.request("POST", FILTER, chunks, headers, encode_chunked=True)
    response = connection.getresponse()
    assert response.status == 200
    assert json.loads(response.read())["NodeNames"] == NAMES
    connection.close()


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_head_has_the_headers_of_get_and_no_body(shared: Extender, path: str) -> None:
    connection = shared.connect()
    for _ in range(2):  # a body that was sent all the same would spoil the second
        connection.request("HEAD", path)
        response = connection.getresponse()
        assert response.status == 200
        assert response.read() == b""
    connection.close()


def test_the_rows_and_the_file_are_looked_at_often_enough_for_a_second() -> None:
    assert 1.5 * POLL_SECONDS <= 1
    assert 1.5 * SWITCH_SECONDS <= 1


def test_a_publish_is_seen_within_a_second(shared: Extender) -> None:
    shared.seed("policy", "2")
    wait_until(
        lambda: shared.get("/readyz")["policies"][0]["revision"] == 2,
        "revision 2",
        BUSY,
    )


def test_the_row_turns_neutral_answers_on_and_off_within_a_second(
    shared: Extender,
) -> None:
    shared.seed("neutral", "repair")
    wait_until(lambda: not differs(shared), "neutral", BUSY)
    shared.seed("neutral")
    wait_until(lambda: differs(shared), "scores", BUSY)


def test_the_file_turns_neutral_answers_on_and_off_within_a_second(
    shared: Extender,
) -> None:
    neutral.write_neutral_file(shared.data_dir, "repair")
    wait_until(lambda: not differs(shared), "neutral", BUSY)
    neutral.remove_neutral_file(shared.data_dir)
    wait_until(lambda: differs(shared), "scores", BUSY)


def test_health_and_metrics_are_served(shared: Extender) -> None:
    assert shared.get("/livez") == b"ok\n"
    assert shared.get("/readyz")["detail"] == []
    assert b'bandmaster_nodes{age="fresh"' in shared.get("/metrics")


@pytest.fixture
def own(tmp_path: Path) -> Extender:
    return granian.new(tmp_path / "data")


def test_a_restart_with_a_dead_database_goes_on_from_the_state_file(
    own: Extender,
) -> None:
    with own.running():
        own.wait_loaded()
        state = own.data_dir / "extender.state"
        wait_until(state.exists, "the state file", 30)
    for path in own.data_dir.glob("bandmaster.sqlite3*"):
        path.unlink()
    (own.data_dir / "bandmaster.sqlite3").mkdir()  # cannot be opened at all
    with own.running():
        assert own.scores(NAMES) == SPREAD
        wait_until(
            lambda: any("database" in s for s in own.get("/readyz")["detail"]),
            "a sentence on the database",
            20,
        )
        assert own.get("/livez") == b"ok\n"
    assert "Traceback" not in own.log


def test_the_environment_makes_it_neutral(own: Extender) -> None:
    with own.running(environ={"BANDMASTER_NEUTRAL": "audit"}):
        own.wait_loaded()
        assert not differs(own)
        assert own.get("/readyz")["neutral"] == "audit"


@LINUX
def test_the_worker_ends_when_the_main_process_is_killed(own: Extender) -> None:
    with own.running() as main:
        (worker,) = granian.children(main.pid)
        main.send_signal(signal.SIGKILL)
        main.wait(20)
        wait_until(lambda: not granian.alive(worker), "the worker has ended", 20)


@LINUX
def test_both_end_when_the_supervisor_is_gone(own: Extender) -> None:
    reading, writing = os.pipe()
    with own.running(
        environ={"BANDMASTER_LIFELINE_FD": str(reading)}, pass_fds=[reading]
    ) as main:
        os.close(reading)
        (worker,) = granian.children(main.pid)
        time.sleep(0.5)
        assert granian.alive(worker)
        os.close(writing)
        wait_until(lambda: main.poll() is not None, "the main process ends", 20)
        wait_until(lambda: not granian.alive(worker), "the worker has ended", 20)


@LINUX
def test_it_ends_at_once_when_asked_even_with_a_connection_open(own: Extender) -> None:
    with own.running() as main:
        own.wait_loaded()
        (worker,) = granian.children(main.pid)
        connection = own.connect()
        granian.post(connection, material.extender_args(NAMES))
        main.terminate()
        assert main.wait(20) == 0
        assert not granian.alive(worker)
        connection.close()


@LINUX
def test_it_ends_at_once_when_asked_while_it_still_starts(own: Extender) -> None:
    main = subprocess.Popen(
        granian_argv("127.0.0.1", own.port),
        env=own.environ,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        wait_until(lambda: bool(granian.children(main.pid)), "the worker is there", 30)
        main.terminate()
        said, _ = main.communicate(timeout=30)
    finally:
        main.kill()
        main.wait(10)
    assert main.returncode == 0
    assert said == ""  # not that its worker had to be killed


FORBIDDEN = (
    *("rest_framework", "django.contrib.admin", "drf_spectacular", "axes", "celery"),
    *("kubernetes", "prometheus_api_client", "requests", "urllib3", "yaml"),
    *("console.views", "console.urls", "console.models", "console.services"),
    *("console.kubescheduler", "console.admin", "console.api"),
)


def test_the_process_loads_nothing_of_the_console(tmp_path: Path) -> None:
    code = "import json, sys, console.extender; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=Extender(tmp_path, 0).environ,
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=60,
    )
    loaded = json.loads(done.stdout)
    found = [
        name
        for name in loaded
        if any(name == bad or name.startswith(f"{bad}.") for bad in FORBIDDEN)
    ]
    assert found == []
    assert "scoring.extender.wsgi" in loaded
