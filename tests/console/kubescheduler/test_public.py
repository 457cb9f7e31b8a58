"""Configurations that others published; read where they are, when they are there."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.kubescheduler.document import decode
from console.kubescheduler.validation import validate

CHECKOUT = Path(__file__).resolve().parents[3]
FOLDER = CHECKOUT.parent / "shared" / "contract" / "configs-public"


def test_public_files_never_raise() -> None:
    files = sorted(FOLDER.glob("[0-9]*")) if FOLDER.is_dir() else []
    if not files:
        pytest.skip("the corpus of public configurations is not here")
    for path in files:
        decoded = decode(path.read_bytes())
        assert decoded.document is not None or decoded.problems, path.name
        if decoded.document is not None:
            validate(decoded.document)
