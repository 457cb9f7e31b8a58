"""Why `up` does not start."""

from __future__ import annotations


class Refusal(Exception):
    """`up` cannot start; the text is one sentence that says what to do."""
