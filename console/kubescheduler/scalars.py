"""Scalars as kube-scheduler reads them: YAML 1.1 words, Go numbers and durations."""

from __future__ import annotations

import re

from console.kubescheduler.tree import JsonScalar

TRUE_WORDS = frozenset(
    [
        "y",
        "Y",
        "yes",
        "Yes",
        "YES",
        "true",
        "True",
        "TRUE",
        "on",
        "On",
        "ON",
    ]
)
FALSE_WORDS = frozenset(
    [
        "n",
        "N",
        "no",
        "No",
        "NO",
        "false",
        "False",
        "FALSE",
        "off",
        "Off",
        "OFF",
    ]
)
NULL_WORDS = frozenset(["", "~", "null", "Null", "NULL"])
NOT_A_NUMBER_WORDS = frozenset(
    [
        ".inf",
        ".Inf",
        ".INF",
        "+.inf",
        "+.Inf",
        "+.INF",
        "-.inf",
        "-.Inf",
        "-.INF",
        ".nan",
        ".NaN",
        ".NAN",
    ]
)
MAX_INT_DIGITS = 64

_INT = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DURATION_PART = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)")
_DURATION = re.compile(rf"[-+]?({_DURATION_PART.pattern})+")
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}


class NotJson(ValueError):
    """A number that JSON has no text for, such as .inf."""


def resolve_plain(text: str) -> JsonScalar:
    """The value of an unquoted scalar; raises NotJson for infinities."""
    if text in NULL_WORDS:
        return None
    if text in TRUE_WORDS or text in FALSE_WORDS:
        return text in TRUE_WORDS
    if text in NOT_A_NUMBER_WORDS:
        raise NotJson(text)
    number = _number(text)
    return text if number is None else number


def _number(text: str) -> int | float | None:
    if not text[0].isdigit() and text[0] not in "+-.":
        return None
    digits = text.replace("_", "")
    if _INT.fullmatch(digits) and len(digits) <= MAX_INT_DIGITS:
        return _go_int(digits)
    if not _FLOAT.fullmatch(digits):
        return None
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise NotJson(text)
    return value


def _go_int(digits: str) -> int:
    """strconv.ParseInt with base 0: a leading 0 means octal."""
    body = digits.lstrip("+-")
    if len(body) > 1 and body[0] == "0" and body[1].isdigit():
        body = "0o" + body[1:]
    elif body in ("0o", "0O"):
        body = "0"
    value = int(body, 0)
    return -value if digits.startswith("-") else value


def parse_duration(text: str) -> int | None:
    """Nanoseconds of a Go duration such as `1m30s` or `-5s`; None if it is not one."""
    if text in ("0", "+0", "-0"):
        return 0
    if len(text) > MAX_INT_DIGITS or not _DURATION.fullmatch(text):
        return None
    total = sum(
        int(float(number) * _NANOSECONDS[unit])
        for number, unit in _DURATION_PART.findall(text)
    )
    return -total if text.startswith("-") else total
