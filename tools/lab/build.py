"""Builds etcd, kube-apiserver and kube-scheduler from their Go modules.

With `--lab` also what a cluster with real nodes needs: kube-controller-manager,
kube-proxy and kubelet. They are a module of their own, so that a change to it does
not make a control plane build again.

Run it as a program (`python tools/lab/build.py`), from any Python 3.11 or newer: it
needs the standard library and Go. What it makes lies outside the tree, in
`$BANDMASTER_CACHE/kube/VERSION`, and is made again only when a module changes.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

LAB = Path(__file__).resolve().parent
NEWEST = "1.37.2"
# taken when the newest cannot be built: its modules need a newer Go
VERSIONS = (NEWEST, "1.36.3")
BUILD_SECONDS = 1800
UNREACHABLE = (
    "dial tcp",
    "no such host",
    "proxyconnect",
    "i/o timeout",
    "TLS handshake",
)


class BuildError(Exception):
    """A program could not be built; the text is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Program:
    """One program and the module that it is built from."""

    name: str
    module: Path
    modfile: str
    package: str
    gitversion: str = ""

    def stamp(self) -> str:
        """Changes whenever the built program would."""
        digest = hashlib.sha256(self.gitversion.encode())
        sums = Path(self.modfile).with_suffix(".sum")
        for name in (self.modfile, str(sums), f"{self.package}/main.go"):
            digest.update((self.module / name).read_bytes())
        return digest.hexdigest()


def programs(version: str) -> tuple[Program, ...]:
    """What makes a control plane of that Kubernetes version, quickest first."""
    modfile = "go.mod" if version == NEWEST else f"kubernetes-{version}.mod"
    module = LAB / "kubernetes"
    return (
        Program("etcd", LAB / "etcd", "go.mod", "."),
        *(
            Program(name, module, modfile, f"./{name}", f"v{version}")
            for name in ("kube-scheduler", "kube-apiserver")
        ),
    )


def node_programs(version: str) -> tuple[Program, ...]:
    """What real nodes need on top of `programs`; nothing where no module has it."""
    if version != NEWEST:
        return ()
    return tuple(
        Program(name, LAB / "nodes", "go.mod", f"./{name}", f"v{version}")
        for name in ("kube-proxy", "kubelet", "kube-controller-manager")
    )


def cache_directory(environ: Mapping[str, str]) -> Path:
    """Where built programs live; it outlasts a checkout."""
    chosen = environ.get("BANDMASTER_CACHE")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "bandmaster"


def program_directory(version: str, environ: Mapping[str, str]) -> Path:
    return cache_directory(environ) / "kube" / version


def is_built(program: Program, directory: Path) -> bool:
    stamp = directory / f"{program.name}.stamp"
    return (
        (directory / program.name).is_file()
        and stamp.is_file()
        and stamp.read_text(encoding="utf-8") == program.stamp()
    )


def newest_built(environ: Mapping[str, str]) -> str | None:
    """The newest version of which every program is built."""
    for version in VERSIONS:
        directory = program_directory(version, environ)
        if all(is_built(program, directory) for program in programs(version)):
            return version
    return None


def find_go(environ: Mapping[str, str]) -> str:
    """The go command.

    Raises:
        BuildError: there is none.
    """
    # a fresh login shell often lacks the directory that Go's own tarball uses
    path = f"{environ.get('PATH', '')}{os.pathsep}/usr/local/go/bin"
    found = shutil.which("go", path=path)
    if found is None:
        raise BuildError(
            "Go is missing: install Go 1.26 or newer and put its bin directory on PATH"
        )
    return found


def build_version(
    version: str, environ: Mapping[str, str], *, with_nodes: bool = False
) -> Path:
    """Builds what is missing; returns the directory with the programs.

    Raises:
        BuildError: Go is missing, a module cannot be fetched or does not compile.
    """
    directory = program_directory(version, environ)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as exc:
        raise BuildError(
            f"{directory} cannot be made ({exc.strerror}): "
            "set BANDMASTER_CACHE to a directory that can be written"
        ) from exc
    with _one_builder(directory):
        nodes = node_programs(version) if with_nodes else ()
        for program in (*programs(version), *nodes):
            if is_built(program, directory):
                say(f"{program.name} {version}: built already")
            else:
                _build(program, directory, environ)
    return directory


@contextmanager
def _one_builder(directory: Path) -> Iterator[None]:
    """Waits for a build that is already going on in the same cache."""
    with (directory / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(program: Program, directory: Path, environ: Mapping[str, str]) -> None:
    go = find_go(environ)
    say(f"{program.name}: building (minutes when nothing is cached)")
    started = time.monotonic()
    target = directory / f".{program.name}.new"
    flags = "-s -w"
    if program.gitversion:
        # without it kube-apiserver answers v0.0.0-master and clients refuse it
        variable = "k8s.io/component-base/version.gitVersion"
        flags += f" -X {variable}={program.gitversion}"
    command = [go, "build", f"-modfile={program.modfile}", "-mod=readonly"]
    command += ["-trimpath", "-ldflags", flags, "-o", str(target), program.package]
    _run_go(command, program, {**environ, "CGO_ENABLED": "0", "GOFLAGS": ""})
    target.replace(directory / program.name)
    stamp = directory / f"{program.name}.stamp"
    stamp.write_text(program.stamp(), encoding="utf-8")
    size = (directory / program.name).stat().st_size / 1e6
    say(f"{program.name}: {time.monotonic() - started:.0f} s, {size:.0f} MB")


def _run_go(
    command: Sequence[str], program: Program, environ: Mapping[str, str]
) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=program.module,
            env=dict(environ),
            capture_output=True,
            text=True,
            timeout=BUILD_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise BuildError(
            f"{program.name} took more than {BUILD_SECONDS // 60} minutes: run it "
            "again, what is compiled so far is kept"
        ) from exc
    if done.returncode == 0:
        return
    if any(sign in done.stderr for sign in UNREACHABLE):
        raise BuildError(
            f"{program.name}: the Go module proxy cannot be reached: check the "
            "network, or set GOPROXY to one that can be"
        )
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    raise BuildError(f"{program.name} does not build: {' / '.join(lines[-3:])[:400]}")


def say(line: str) -> None:
    print(line, flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kubernetes",
        choices=VERSIONS,
        help=f"only that version; else {NEWEST}, or {VERSIONS[1]} when that fails",
    )
    parser.add_argument(
        "--lab", action="store_true", help=f"also the nodes' programs; {NEWEST} only"
    )
    arguments = parser.parse_args(argv)
    chosen = NEWEST if arguments.lab else arguments.kubernetes
    try:
        find_go(os.environ)
    except BuildError as problem:
        print(f"tools/lab: {problem}", file=sys.stderr)
        return 1
    for version in (chosen,) if chosen else VERSIONS:
        try:
            directory = build_version(version, os.environ, with_nodes=arguments.lab)
        except BuildError as problem:
            print(f"tools/lab: Kubernetes {version}: {problem}", file=sys.stderr)
            continue
        say(f"Kubernetes {version}: {directory}")
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
