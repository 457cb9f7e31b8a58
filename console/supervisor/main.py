"""`manage.py up`: everything on one machine, under one supervisor.

Plain Python: it outlives and restarts what imports Django, and stays small.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from console.supervisor import children, datadir, keys, ports
from console.supervisor.options import Options, parse, setting
from console.supervisor.process import Inheritance
from console.supervisor.refusal import Refusal
from console.supervisor.supervise import Supervisor
from console.supervisor.wakeup import Wakeup

READY_SECONDS = 60.0
COMMAND_ENVIRON = {"DJANGO_SETTINGS_MODULE": "console.settings"}


class ChildFailed(Exception):
    """A command that prepares the start failed and has said why."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


@dataclass(frozen=True, slots=True)
class FirstAdmin:
    """The first administrator's one-time password, or the file that holds it."""

    password: str = ""
    path: Path | None = None


def main(argv: Sequence[str]) -> int:
    """Run until Ctrl-C or SIGTERM; returns the exit status (2: could not start)."""
    began = time.monotonic()
    os.umask(0o077)  # whatever any child writes is this user's alone
    try:
        options = parse(argv, os.environ)
        return _up(options, dict(os.environ), began)
    except Refusal as refusal:
        sys.stderr.write(f"bandmaster: {refusal}\n")
        return 2
    except ChildFailed as failure:
        return failure.status


def say(line: str) -> None:
    """One event, one line; a reader that went away does not end the supervisor."""
    try:
        sys.stdout.write(f"bandmaster: {line}\n")
        sys.stdout.flush()
    except OSError:
        pass


def _up(options: Options, environ: dict[str, str], began: float) -> int:
    wakeup = Wakeup()
    wakeup.install()
    datadir.make_private(options.data_dir)
    lock = datadir.lock(options.data_dir, options.web_url, say)
    ports.refuse_busy(ports.Address(options.host, options.port, "--port"))
    ports.refuse_busy(
        ports.Address(options.host, options.extender_port, "--extender-port")
    )
    # nobody but this process holds the write end: its end is the end of all children
    lifeline, write_end = os.pipe()
    simulation = children.simulation(options, environ)
    variables = children.common_environ(options, environ)
    variables.update(keys.ensure(options.data_dir, environ))
    variables.update(simulation.variables if simulation else {})
    supervisor = Supervisor(Inheritance(variables, lifeline, lock), wakeup, say)
    try:
        _run(supervisor, options, simulation, began)
    finally:
        supervisor.stop()
        os.close(write_end)
    say("stopped")
    return 0


def _run(
    supervisor: Supervisor,
    options: Options,
    simulation: children.Simulation | None,
    began: float,
) -> None:
    if simulation is not None:
        say("no Prometheus and no cluster are named: simulating one of 40 nodes")
        supervisor.start([children.simulator(options, simulation)])
    _prepare_database(supervisor)
    if supervisor.is_stopping():
        return
    # it imports for seconds, and needs nothing that the bootstrap makes
    supervisor.start([children.web(options)])
    first_admin = _bootstrap(supervisor, options.data_dir)
    try:
        if supervisor.is_stopping():
            return
        supervisor.start([children.extender(options), children.worker()])
        _announce(supervisor, options, began)
    finally:
        _tell_first_admin(first_admin)
    supervisor.run()


def _announce(supervisor: Supervisor, options: Options, began: float) -> None:
    if supervisor.wait_until_ready(READY_SECONDS):
        say(f"ready after {time.monotonic() - began:.1f} s")
        say(f"pages     {options.web_url}")
        say(f"extender  {options.extender_url}/extender/")
        if options.is_public and not setting(os.environ, "ALLOWED_HOSTS"):
            say(
                "browsers elsewhere are refused: name what they call this machine in "
                "BANDMASTER_ALLOWED_HOSTS"
            )
    elif not supervisor.is_stopping():
        names = " and ".join(supervisor.unready())
        say(f"{names}: no answer yet, the messages above say why")


def _prepare_database(supervisor: Supervisor) -> None:
    status, _ = supervisor.run_once(
        children.manage("prepare_database"), COMMAND_ENVIRON
    )
    if status and not supervisor.is_stopping():
        raise ChildFailed(status)


def _bootstrap(supervisor: Supervisor, data_dir: Path) -> FirstAdmin | None:
    """Make what a first start needs; returns the first admin when one was made."""
    path = data_dir / "first-admin-password"
    terminal = sys.stdout.isatty()
    before = _changed_at(path)
    how = ("--print-password",) if terminal else ("--password-file", str(path))
    status, output = supervisor.run_once(
        children.manage("bootstrap", *how), COMMAND_ENVIRON, capture=terminal
    )
    if status and not supervisor.is_stopping():
        raise ChildFailed(status)
    if terminal and output.strip():
        return FirstAdmin(password=output.split()[-1])
    if not terminal and _changed_at(path) != before:
        return FirstAdmin(path=path)
    return None


def _changed_at(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


def _tell_first_admin(first_admin: FirstAdmin | None) -> None:
    if first_admin is None:
        return
    if first_admin.path is not None:
        say(f"log in as admin; the one-time password is in {first_admin.path}")
    else:
        say(f"log in as admin with the one-time password {first_admin.password}")
