"""What a strict content security policy and plain HTML ask of every template."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))
FORBIDDEN = {
    "inline handler": r"\son[a-z]+=",
    "inline style": r"\sstyle=",
    "htmx that needs eval": r"hx-on|hx-vars|js:|hx-vals",
    "inline script": r"<script(?![^>]*\ssrc=)",
    "another host": r"(?:src|href)=\"https?:",
}


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_need_no_eval_and_nothing_inline(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = [name for name, pattern in FORBIDDEN.items() if re.search(pattern, text)]
    assert found == []


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_what_htmx_gets_is_a_link_first(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    links = re.findall(r"<a [^>]*hx-get=\"([^\"]+)\"[^>]*>", text)
    plain = re.findall(r"<a [^>]*href=\"([^\"#]+)(?:#[^\"]*)?\" hx-get", text)
    assert plain == links


def test_scripts_and_styles_are_light() -> None:
    """With a page of 5 to 14 KB an ordinary visit stays within 35 KB compressed."""
    files = ("app.css", "live.js", "vendor/htmx-4.0.1.min.js")
    sizes = [
        len(gzip.compress((ROOT / "static" / name).read_bytes(), 9)) for name in files
    ]
    assert sum(sizes) < 21_000
