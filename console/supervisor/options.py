"""What the command line and the environment ask of `up`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from console.supervisor.refusal import Refusal

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "BANDMASTER_"
_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared, not bound


@dataclass(frozen=True, slots=True)
class Options:
    """Where to listen, and where the data lives (absolute)."""

    host: str
    port: int
    extender_port: int
    data_dir: Path

    @property
    def reachable_host(self) -> str:
        """An address of this machine at which `host` answers."""
        return _ANY_ADDRESS.get(self.host, self.host)

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach it under a name we cannot know."""
        return self.host in _ANY_ADDRESS

    @property
    def web_url(self) -> str:
        return f"http://{bracketed(self.reachable_host)}:{self.port}/"

    @property
    def extender_url(self) -> str:
        return f"http://{bracketed(self.reachable_host)}:{self.extender_port}"


def bracketed(host: str) -> str:
    """An IPv6 address as URLs and gunicorn write it."""
    return f"[{host}]" if ":" in host else host


def setting(environ: Mapping[str, str], name: str, default: str = "") -> str:
    """BANDMASTER_<name>, or the content of the file BANDMASTER_<name>_FILE."""
    path = environ.get(f"{PREFIX}{name}_FILE")
    if not path:
        return environ.get(PREFIX + name, "").strip() or default
    try:
        return Path(path).read_text(encoding="utf-8").strip() or default
    except (OSError, UnicodeDecodeError) as exc:
        raise Refusal(
            f"{PREFIX}{name}_FILE cannot be read ({type(exc).__name__}): "
            "name a readable file"
        ) from exc


def parse(argv: Sequence[str], environ: Mapping[str, str]) -> Options:
    """Read the arguments; what they leave out comes from the environment."""
    parser = argparse.ArgumentParser(
        prog="manage.py up",
        description="Start everything: web, extender, worker and, without a "
        "Prometheus and a cluster, the simulator. Ctrl-C ends it.",
    )
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", help="port of the web pages (8000)")
    parser.add_argument("--extender-port", help="port of the extender (8001)")
    given = parser.parse_args(argv)
    data_dir = setting(environ, "DATA_DIR") or str(ROOT / "var")
    options = Options(
        host=given.host or setting(environ, "HOST", "127.0.0.1"),
        port=_port(given.port, "--port", environ, "PORT", 8000),
        extender_port=_port(
            given.extender_port, "--extender-port", environ, "EXTENDER_PORT", 8001
        ),
        data_dir=Path(data_dir).expanduser().absolute(),
    )
    if options.port == options.extender_port:
        raise Refusal(
            f"web and extender cannot share port {options.port}: "
            "choose another with --port or --extender-port"
        )
    return options


def _port(
    argument: str | None,
    flag: str,
    environ: Mapping[str, str],
    name: str,
    default: int,
) -> int:
    raw = argument or setting(environ, name, str(default))
    if raw.isascii() and raw.isdigit() and 1 <= int(raw) <= 65535:
        return int(raw)
    where = flag if argument else PREFIX + name
    raise Refusal(f"{where} is {raw!r}: write a whole number from 1 to 65535")
