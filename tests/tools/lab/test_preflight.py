"""What a machine lacks for real nodes is said in one sentence."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tools.lab import preflight
from tools.lab.processes import LabError


@pytest.mark.parametrize(
    ("missing", "line"),
    [
        pytest.param({"containerd", "ctr"}, "containerd", id="one package, two files"),
        pytest.param(
            {"/usr/lib/cni/bridge", "runc", "busybox"},
            "busybox-static containernetworking-plugins runc",
            id="several packages, a file among them",
        ),
    ],
)
def test_the_apt_line_brings_what_is_missing(missing: set[str], line: str) -> None:
    present: Callable[[str], bool] = lambda what: what not in missing  # noqa: E731
    with pytest.raises(LabError) as caught:
        preflight.require(user=0, present=present)
    assert str(caught.value).endswith(f"apt-get install --no-install-recommends {line}")


def test_without_root_only_that_is_said() -> None:
    with pytest.raises(LabError, match="run it again with sudo"):
        preflight.require(user=1000, present=lambda _: False)


def test_programs_are_found_on_path_and_files_where_they_are() -> None:
    assert preflight.has("sh")
    assert preflight.has("/bin/sh")
    assert not preflight.has("no-such-program-of-a-node")
    assert not preflight.has("/no/such/file")
