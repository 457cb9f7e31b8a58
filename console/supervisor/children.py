"""The programs that `up` runs: their arguments, environment and probes."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from console.supervisor.options import PREFIX, ROOT, Options, bracketed, setting
from console.supervisor.ports import free_port
from scoring.extender.serve import GRANIAN_ENV, granian_argv

# Celery's fear is pickle, which is off; in a container root is usual
ROOT_WARNING = "You're running the worker with superuser privileges"
WORKER_CODE = (
    "from console.celery import EMBEDDED_WORKER_ARGV, app; "
    "app.start(EMBEDDED_WORKER_ARGV)"
)


@dataclass(frozen=True, slots=True)
class Probe:
    """A GET that answers below 500 once the child is ready."""

    host: str
    port: int
    path: str


@dataclass(frozen=True, slots=True)
class Child:
    """A program to keep running; it is stopped in the order of `stop_rank`."""

    name: str
    argv: tuple[str, ...]
    probe: Probe | None
    stop_rank: int
    stop_seconds: float  # from the request to stop to SIGKILL
    environ: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Simulation:
    """The simulated cluster, chosen when nobody names a real one."""

    port: int
    directory: Path

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def variables(self) -> dict[str, str]:
        return {
            PREFIX + "PROMETHEUS_URL": f"http://127.0.0.1:{self.port}",
            PREFIX + "KUBECONFIG": str(self.kubeconfig),
            PREFIX + "SIMULATED": "true",
        }


def simulation(options: Options, environ: Mapping[str, str]) -> Simulation | None:
    """None when the environment names a Prometheus or a cluster."""
    if setting(environ, "PROMETHEUS_URL") or setting(environ, "KUBECONFIG"):
        return None
    return Simulation(port=free_port(), directory=options.data_dir / "simulator")


def common_environ(options: Options, environ: Mapping[str, str]) -> dict[str, str]:
    """What every child gets: the choices of `up`, written out."""
    # the extender has settings of its own, so nothing may be inherited here
    result = {k: v for k, v in environ.items() if k != "DJANGO_SETTINGS_MODULE"}
    result[PREFIX + "DATA_DIR"] = str(options.data_dir)
    result[PREFIX + "HOST"] = options.host
    result[PREFIX + "PORT"] = str(options.port)
    result[PREFIX + "EXTENDER_PORT"] = str(options.extender_port)
    for name in ("DATA_DIR", "HOST", "PORT", "EXTENDER_PORT"):
        result.pop(f"{PREFIX}{name}_FILE", None)
    if not setting(environ, "EXTENDER_URL"):
        result[PREFIX + "EXTENDER_URL"] = options.extender_url
    if not setting(environ, "ALLOWED_HOSTS"):
        names = ["localhost", "127.0.0.1", "[::1]", bracketed(options.reachable_host)]
        result[PREFIX + "ALLOWED_HOSTS"] = ",".join(dict.fromkeys(names))
    # the working directory stays the operator's: relative paths keep their meaning
    paths = [str(ROOT), environ.get("PYTHONPATH", "")]
    result["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    result["PYTHONUNBUFFERED"] = "1"
    result["TMPDIR"] = str(options.data_dir / "tmp")
    return result


def manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, str(ROOT / "manage.py"), *arguments)


def web(options: Options) -> Child:
    return Child(
        name="web",
        argv=(
            *(sys.executable, "-m", "gunicorn"),
            *("--config", "python:console.supervisor.gunicorn_conf"),
            *("--no-control-socket",),
            *("--bind", f"{bracketed(options.host)}:{options.port}"),
            "console.wsgi:application",
        ),
        probe=Probe(options.reachable_host, options.port, "/login"),
        stop_rank=2,
        stop_seconds=4.0,
        environ={"DJANGO_SETTINGS_MODULE": "console.settings"},
    )


def extender(options: Options) -> Child:
    return Child(
        name="extender",
        argv=tuple(granian_argv(options.host, options.extender_port)),
        probe=Probe(options.reachable_host, options.extender_port, "/livez"),
        stop_rank=3,  # last: kube-scheduler may be asking
        stop_seconds=4.0,
        environ={"DJANGO_SETTINGS_MODULE": "console.settings_extender", **GRANIAN_ENV},
    )


def worker() -> Child:
    return Child(
        name="worker",
        argv=(sys.executable, "-W", f"ignore:{ROOT_WARNING}", "-c", WORKER_CODE),
        probe=None,
        stop_rank=1,
        stop_seconds=6.0,
        environ={"DJANGO_SETTINGS_MODULE": "console.settings"},
    )


def simulator(options: Options, chosen: Simulation) -> Child:
    return Child(
        name="simulator",
        argv=(
            *(sys.executable, "-m", "scoring.simulator"),
            *("--port", str(chosen.port)),
            *("--nodes", "40"),
            *("--extender-url", options.extender_url),
            *("--kubeconfig-out", str(chosen.kubeconfig)),
            *("--stock-document", str(chosen.directory / "stock.yaml")),
        ),
        probe=Probe("127.0.0.1", chosen.port, "/readyz"),
        stop_rank=2,  # after the worker, whose last tick it answers
        stop_seconds=4.0,
    )
