"""Children come back, leave nobody behind, and end in order."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from console.supervisor import process
from console.supervisor.children import Child, Probe
from console.supervisor.ports import free_port
from console.supervisor.process import Inheritance, Supervised, describe_exit
from console.supervisor.refusal import Refusal
from console.supervisor.supervise import Supervisor
from console.supervisor.wakeup import Wakeup
from tests.servers import wait_until

NOTE = "import os, sys, time; open(sys.argv[1], 'a').write(f'{os.getpid()}\\n');"
SLEEP = NOTE + "time.sleep(60)"
FAIL = NOTE + "sys.exit(3)"
STUBBORN = (
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + NOTE
) + "time.sleep(60)"
# a main process with a child of its own, as granian has; both note their ids
FORKING = "import os; os.fork();" + SLEEP
FOLLOWING = (
    "from scoring import lifeline; lifeline.watch();"
    "import signal; signal.signal(signal.SIGTERM, signal.SIG_DFL);"
) + SLEEP


class Fixture:
    """A supervisor of this process, and what it said."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.said: list[str] = []
        self.wakeup = Wakeup()
        self.reader, self.writer = os.pipe()
        environ = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        self.inheritance = Inheritance(environ, self.reader, self.reader)
        self.supervisor = Supervisor(self.inheritance, self.wakeup, self.said.append)

    def child(
        self, name: str, code: str, *, rank: int = 1, seconds: float = 3
    ) -> Child:
        argv = (sys.executable, "-c", code, str(self.directory / name))
        return Child(name, argv, None, rank, seconds)

    def pids(self, name: str) -> list[int]:
        path = self.directory / name
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def wait_for(self, name: str, count: int) -> list[int]:
        def enough() -> bool:
            self.supervisor.wait_until_ready(0.05)
            return len(self.pids(name)) >= count

        wait_until(enough, f"{count} starts of {name}", 60)
        return self.pids(name)

    def close_lifeline(self) -> None:
        if self.writer >= 0:
            os.close(self.writer)
            self.writer = -1


@pytest.fixture
def fixture(tmp_path: Path) -> Iterator[Fixture]:
    made = Fixture(tmp_path)
    yield made
    made.supervisor.stop()
    made.close_lifeline()
    os.close(made.reader)


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"  # dead; whoever inherited it has not looked yet


def all_gone(pids: list[int]) -> Callable[[], bool]:
    return lambda: all(is_gone(pid) for pid in pids)


def test_a_killed_child_comes_back(fixture: Fixture) -> None:
    fixture.supervisor.start([fixture.child("one", SLEEP)])
    (pid,) = fixture.wait_for("one", 1)
    os.kill(pid, signal.SIGKILL)
    assert len(fixture.wait_for("one", 2)) == 2
    assert fixture.said == ["one ended (killed by SIGKILL): starting it again in 0.5 s"]


def test_what_a_dead_child_left_is_killed_before_it_comes_back(
    fixture: Fixture,
) -> None:
    fixture.supervisor.start([fixture.child("one", FORKING)])
    first = fixture.wait_for("one", 2)
    main = next(pid for pid in first if os.getpgid(pid) == pid)
    os.kill(main, signal.SIGKILL)
    fixture.wait_for("one", 4)
    assert all_gone(first)()


def test_a_child_that_cannot_start_is_tried_ever_more_rarely(
    fixture: Fixture,
) -> None:
    fixture.supervisor.start([fixture.child("one", FAIL)])
    fixture.wait_for("one", 3)
    assert fixture.said[:2] == [
        "one ended (exit status 3): starting it again in 0.5 s",
        "one ended (exit status 3): starting it again in 1 s",
    ]


def test_the_back_off_has_an_end_and_forgets_after_a_steady_time(
    fixture: Fixture,
) -> None:
    one = Supervised(fixture.child("one", FAIL), fixture.inheritance)
    now = 0.0
    waits = []
    for _ in range(9):
        one.step(now)
        assert one.process is not None
        one.process.wait()
        one.step(now)
        waits.append(one.due_at - now)
        now = one.due_at
    assert waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    one.step(now)
    assert one.process is not None
    one.process.wait()
    one.step(now + process.STEADY_SECONDS)
    assert one.due_at == now + process.STEADY_SECONDS + 0.5


def test_a_program_that_is_missing_is_one_sentence(fixture: Fixture) -> None:
    fixture.supervisor.start([Child("one", ("/nonexistent/python",), None, 1, 1.0)])
    fixture.supervisor.wait_until_ready(0)
    assert fixture.said == [
        "one cannot be started (No such file or directory): starting it again in 0.5 s"
    ]


def test_a_command_that_cannot_be_run_is_refused(fixture: Fixture) -> None:
    with pytest.raises(Refusal, match=r"/nonexistent cannot be started .No such file"):
        fixture.supervisor.run_once(["/nonexistent"], {})


def test_children_end_in_order(fixture: Fixture) -> None:
    code = (
        "import signal, sys, time;"
        "open(sys.argv[1], 'a').write('1\\n');"
        "signal.signal(signal.SIGTERM, lambda *_: (open(sys.argv[1] + '.end', 'w')"
        ".write(str(time.time())), sys.exit(0)));"
        "time.sleep(60)"
    )
    names = ["late", "early", "middle"]
    ranks = {"early": 1, "middle": 2, "late": 3}
    fixture.supervisor.start(
        [fixture.child(name, code, rank=ranks[name]) for name in names]
    )
    for name in names:
        fixture.wait_for(name, 1)
    time.sleep(0.2)  # the handler is set a moment after the note
    fixture.supervisor.stop()
    ends = {n: float((fixture.directory / f"{n}.end").read_text()) for n in names}
    assert sorted(names, key=lambda name: ends[name]) == ["early", "middle", "late"]


def test_a_child_that_does_not_stop_is_killed(fixture: Fixture) -> None:
    fixture.supervisor.start([fixture.child("one", STUBBORN, seconds=0.3)])
    pids = fixture.wait_for("one", 1)
    fixture.supervisor.stop()
    assert all_gone(pids)()
    assert fixture.said == ["one did not stop in time: killed it"]


def test_a_second_request_hurries(fixture: Fixture) -> None:
    fixture.supervisor.start([fixture.child("one", STUBBORN, seconds=30)])
    fixture.wait_for("one", 1)

    def ask_again() -> None:
        fixture.wakeup.stop_requests += 1

    timer = threading.Timer(0.3, ask_again)
    timer.start()
    began = time.monotonic()
    fixture.supervisor.stop()
    timer.join()
    assert time.monotonic() - began < 5


def test_the_end_of_the_lifeline_ends_a_child(fixture: Fixture) -> None:
    fixture.supervisor.start([fixture.child("one", FOLLOWING)])
    pids = fixture.wait_for("one", 1)
    fixture.close_lifeline()  # what a kill -9 of the supervisor does
    wait_until(all_gone(pids), "the end of the child", 30)


def test_a_child_is_ready_when_it_answers(fixture: Fixture) -> None:
    port = free_port()
    code = (
        "import http.server, sys; http.server.HTTPServer(('127.0.0.1', "
        f"{port}), http.server.SimpleHTTPRequestHandler).serve_forever()"
    )
    argv = (sys.executable, "-c", code)
    child = Child("one", argv, Probe("127.0.0.1", port, "/no-such-file"), 1, 1.0)
    fixture.supervisor.start([child])
    assert fixture.supervisor.unready() == ["one"]
    assert fixture.supervisor.wait_until_ready(15)
    assert fixture.supervisor.unready() == []


@pytest.mark.parametrize(
    ("code", "words"),
    [
        pytest.param(0, "exit status 0", id="zero"),
        pytest.param(-9, "killed by SIGKILL", id="signal"),
        pytest.param(-120, "killed by signal 120", id="no such signal"),
    ],
)
def test_an_exit_is_told_in_words(code: int, words: str) -> None:
    assert describe_exit(code) == words
