"""The file that lets clients reach the simulated cluster."""

from __future__ import annotations

import json
import os
from pathlib import Path


def write_kubeconfig(path: Path, *, server: str, token: str) -> None:
    """Write it whole or not at all, for its owner only. Raises OSError."""
    name = "simulated"
    document = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        with os.fdopen(os.open(part, flags, 0o600), "w", encoding="utf-8") as stream:
            # JSON is YAML
            stream.write(json.dumps(document, indent=2) + "\n")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
