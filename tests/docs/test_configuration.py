"""docs/configuration.md and console/settings.py name the same variables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = re.compile(
    r'env\.(?:text|secret|flag|whole|words|choice|http_url|zone|directory)\(\s*"(\w+)"'
)
DATABASE = "DATABASE_URL"


def settings_read() -> set[str]:
    text = (ROOT / "console/settings.py").read_text(encoding="utf-8")
    return {*READ.findall(text), DATABASE}


def documented() -> set[str]:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE))


def test_every_setting_is_documented_and_nothing_else() -> None:
    assert documented() == settings_read()


def test_the_settings_are_found_at_all() -> None:
    assert len(settings_read()) > 20
