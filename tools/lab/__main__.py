"""`python -m tools.lab up` and `down`: a whole cluster with real nodes, and its end."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from types import FrameType

from tools.lab import build, only, place, preflight
from tools.lab.cluster import Lab, running_lab
from tools.lab.image import NAME as IMAGE_NAME
from tools.lab.processes import LabError, wait_until
from tools.lab.sweep import leftovers, sweep

DOWN_SECONDS = 60.0
LOOK_SECONDS = 1.0
RELEASE_SECONDS = 3.0
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
WELCOME = """\

Ready after {seconds:.0f} s: {count} nodes, Kubernetes {version}, Bandmaster in front.

  Bandmaster   http://127.0.0.1:{port}  (admin, {password})
  Prometheus   {prometheus}
  kubectl      export KUBECONFIG={kubeconfig}

To try, as root:
  kubectl get nodes -o wide
  kubectl create deployment web --image={image} --replicas=6 -- sleep 100000
  python -m tools.lab.traffic node-1 node-2 400 40   # 400 MB in 40 s
  ip netns exec {netns} ip -s link show eth0

Ctrl-C here, or `make lab-down` elsewhere, ends it and leaves nothing behind.
"""


def up(count: int) -> int:
    """Runs a lab until Ctrl-C, `down`, or the end of one of its programs."""
    started = time.monotonic()
    preflight.require()
    programs = build.build_version(build.NEWEST, os.environ, with_nodes=True)
    for number in ENDING:
        signal.signal(number, _interrupt)
    try:
        with running_lab(programs, count) as lab:
            _welcome(lab, time.monotonic() - started)
            while True:
                lab.require_alive()
                time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        build.say("lab: ended")
    return 0


def _interrupt(number: int, frame: FrameType | None) -> None:
    # a second one would cut the cleaning short
    for every in ENDING:
        signal.signal(every, signal.SIG_IGN)
    raise KeyboardInterrupt


def _welcome(lab: Lab, seconds: float) -> None:
    text = WELCOME.format(
        seconds=seconds,
        count=len(lab.nodes),
        version=build.NEWEST,
        port=lab.product.port,
        password=lab.product.data / "first-admin-password",
        prometheus=lab.monitoring.url,
        kubeconfig=lab.plane.kubeconfig,
        image=IMAGE_NAME,
        netns=lab.nodes[0].netns,
    )
    build.say(text)


def down() -> int:
    """Ends a running lab, and sweeps after one that was killed."""
    preflight.require()
    running = only.holder()
    if running is None and not leftovers():
        build.say("lab: none is running, nothing is left")
        return 0
    if running is not None:
        os.kill(running, signal.SIGTERM)
        wait_until(
            f"process {running} ends", lambda: only.holder() is None, DOWN_SECONDS
        )
    with only.holding(DOWN_SECONDS):
        left = sweep()
    if left:
        raise LabError(f"could not be taken away: {'; '.join(left)}")
    build.say("lab: ended, nothing is left")
    return 0


def _end(running: int) -> None:
    """Asks it to end; a janitor that is cleaning just now is only waited for."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(running, signal.SIGTERM)
    wait_until(f"process {running} ends", lambda: only.holder() is None, DOWN_SECONDS)


def sweep_after() -> int:
    """Waits until the other end of stdin is gone, then sweeps."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdin.buffer.read()
    # a dying process lets go of stdin before or after the name; when the name stays
    # held a new lab has started, and that has swept already
    with contextlib.suppress(only.TakenError), only.holding(RELEASE_SECONDS):
        sweep()
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.lab", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    starting = commands.add_parser("up", help="start a lab and stay in front of it")
    most = place.MOST_NODES
    starting.add_argument(
        "--nodes", type=int, choices=range(1, most + 1), default=3, metavar=f"1-{most}"
    )
    commands.add_parser("down", help="end it, from anywhere, and clean up")
    commands.add_parser("sweep-after", help="clean up when stdin ends (internal)")
    options = parser.parse_args(argv)
    try:
        if options.command == "up":
            return up(options.nodes)
        return down() if options.command == "down" else sweep_after()
    except (LabError, build.BuildError) as problem:
        print(f"tools/lab: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
