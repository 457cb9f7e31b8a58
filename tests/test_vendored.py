"""Files of others are exactly what their lists say, and each has its licence."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("folder", ["static/vendor", "tests/browser/vendor"])
def test_vendored_files_match_their_sums(folder: str) -> None:
    place = ROOT / folder
    listed = {}
    for line in (place / "SHA256SUMS").read_text().splitlines():
        digest, name = line.split()
        listed[name] = digest
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.glob("*.js")
    }
    assert found == listed
    for name in listed:
        package = name.split("-")[0]
        assert (place / f"{package}-LICENSE.txt").stat().st_size > 0
