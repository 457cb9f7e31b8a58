"""Certificates of a lab: an authority, and what kube-apiserver shows to kubelets."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

OPENSSL_SECONDS = 60
DAYS = "30"


@dataclass(frozen=True, slots=True)
class Authority:
    """The files, below one directory."""

    directory: Path

    @property
    def certificate(self) -> Path:
        return self.directory / "authority.crt"

    @property
    def client_certificate(self) -> Path:
        return self.directory / "kubelet-client.crt"

    @property
    def client_key(self) -> Path:
        return self.directory / "kubelet-client.key"


def make_authority(directory: Path) -> Authority:
    """Writes new keys and certificates."""
    directory.mkdir(parents=True, mode=0o700)
    made = Authority(directory)
    key = str(directory / "authority.key")
    files = ("-keyout", key, "-out", str(made.certificate))
    _openssl(*_request("/CN=lab"), "-x509", *files)
    _openssl(
        *_request("/O=system:masters/CN=kube-apiserver"),
        *("-x509", "-CA", str(made.certificate), "-CAkey", key),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
        *("-addext", "extendedKeyUsage=clientAuth"),
        *("-keyout", str(made.client_key), "-out", str(made.client_certificate)),
    )
    return made


def _request(subject: str) -> tuple[str, ...]:
    key = ("-newkey", "rsa:2048", "-nodes")
    return ("req", "-batch", *key, "-days", DAYS, "-subj", subject)


def _openssl(*arguments: str) -> None:
    subprocess.run(
        ["openssl", *arguments],
        check=True,
        capture_output=True,
        timeout=OPENSSL_SECONDS,
    )
