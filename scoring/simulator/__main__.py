"""`python -m scoring.simulator`: a Prometheus and a cluster for those who have none."""

from __future__ import annotations

import argparse
import logging
import random
import secrets
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from scoring import lifeline
from scoring.simulator.cluster import SimulatedCluster
from scoring.simulator.kubeconfig import write_kubeconfig
from scoring.simulator.scheduler import DocumentWatch, Scheduler
from scoring.simulator.server import HOST, Server

logger = logging.getLogger("scoring.simulator")

TURN_SECONDS = 0.25  # between two looks for waiting pods
REFUSED = 2  # exit status when it cannot start


def main(arguments: Sequence[str] | None = None) -> int:
    """Run until a signal comes; returns the exit status."""
    options = _options(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    lifeline.watch()
    dice = random.Random(options.seed)  # noqa: S311 - a game, not a secret
    token = secrets.token_urlsafe(32)
    try:
        cluster = SimulatedCluster(options.nodes, dice, clock=time.time)
        server = Server(options.port, cluster, token)
    except ValueError as exc:
        return _refuse(f"{exc}: choose another --nodes")
    except OSError as exc:
        return _refuse(f"port {options.port} of {HOST} cannot be used ({exc.strerror})")
    try:
        write_kubeconfig(options.kubeconfig_out, server=server.url, token=token)
    except OSError as exc:
        server.server_close()
        return _refuse(f"{options.kubeconfig_out} cannot be written ({exc.strerror})")
    scheduler = Scheduler(
        cluster, DocumentWatch(options.stock_document, options.extender_url)
    )
    threading.Thread(target=server.serve_forever, daemon=True).start()
    logger.info("simulating %d nodes at %s", options.nodes, server.url)
    _live(cluster, scheduler, stop)
    server.shutdown()
    server.server_close()
    return 0


def _live(
    cluster: SimulatedCluster, scheduler: Scheduler, stop: threading.Event
) -> None:
    failing = False
    while not stop.wait(TURN_SECONDS):
        try:
            cluster.advance()
            scheduler.turn()
            failing = False
        except Exception:
            # the outermost boundary: a flaw here must not end the whole simulation
            if not failing:
                logger.exception("the simulation stumbled")
            failing = True
    scheduler.close()


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m scoring.simulator",
        description="Serve a simulated cluster: Prometheus' and Kubernetes' HTTP "
        "interfaces on one port of loopback, and a small scheduler.",
    )
    parser.add_argument("--port", type=_port, required=True, help="0 takes a free one")
    parser.add_argument("--nodes", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1, help="the same seed, same nodes")
    parser.add_argument(
        "--extender-url",
        default="",
        type=_url,
        help="where Bandmaster's extender is, whatever the document says",
    )
    parser.add_argument(
        "--stock-document",
        type=Path,
        help="the published document with its key; read again when it changes",
    )
    parser.add_argument("--kubeconfig-out", type=Path, required=True)
    return parser.parse_args(arguments)


def _port(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port from 0 to 65535")
    return int(text)


def _url(text: str) -> str:
    if text and not text.startswith("http://"):
        raise argparse.ArgumentTypeError("write http://HOST:PORT")
    return text


def _refuse(sentence: str) -> int:
    logger.error("the simulator cannot start: %s", sentence)
    return REFUSED


if __name__ == "__main__":
    sys.exit(main())
