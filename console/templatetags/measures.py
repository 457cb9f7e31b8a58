"""Template filters: measured values with their unit, times in UTC."""

from __future__ import annotations

from datetime import UTC, datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from scoring.framework import units

register = template.Library()


@register.filter
def mbit(bytes_per_second: float) -> str:
    """Bytes/s as "31.2 Mbit/s", the unit smaller than the number."""
    return _small_unit(units.write_megabits(bytes_per_second))


@register.filter
def percent(share: float) -> str:
    """A share of 1 as "45.0 %", the unit smaller than the number."""
    return _small_unit(units.write_percent(share))


def _small_unit(text: str) -> str | SafeString:
    number, space, unit = text.partition(" ")
    if not space:
        return text
    return format_html('{} <span class="unit">{}</span>', number, unit)


@register.filter
def lasting(seconds: float) -> str:
    """Seconds as "18 s", "4 min"."""
    return units.write_seconds(seconds)


@register.filter
def iso(moment: datetime) -> str:
    """For the datetime attribute."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")


@register.filter
def utc(moment: datetime) -> str:
    """As people read it; always UTC, and it says so."""
    return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


@register.filter
def moment(unix_seconds: float) -> str:
    """Unix seconds for the datetime attribute."""
    return iso(datetime.fromtimestamp(unix_seconds, UTC))
