"""docs/configuration.md and console/settings.py name the same variables."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
READ = re.compile(r'env\.\w+\(\s*"(\w+)"')
# these readers know their only variable
OWN_READERS = {"env.database(": "DATABASE_URL", "env.broker(": "BROKER_URL"}


def settings_read() -> set[str]:
    text = (ROOT / "console/settings.py").read_text(encoding="utf-8")
    own = {name for call, name in OWN_READERS.items() if call in text}
    return {*READ.findall(text), *own}


def documented() -> set[str]:
    text = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    return set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE))


def test_every_setting_is_documented_and_nothing_else() -> None:
    assert documented() == settings_read()


def test_the_settings_are_found_at_all() -> None:
    assert len(settings_read()) > 20
