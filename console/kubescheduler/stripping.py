"""Takes our plugins out of a document; all else stays as the operator wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from console.kubescheduler.effective import Owns
from console.kubescheduler.registry import STOCK_PLUGINS
from console.kubescheduler.schema import MULTI_POINT


def strip_profile(profile: Mapping[str, Any], owns: Owns) -> dict[str, Any]:
    """The profile without the plugins that `owns` names.

    Empty keys are dropped, also those that were written empty: they mean nothing, and
    a change from `pluginConfig: []` to arguments of ours must leave the same text. A
    plugin that the stock binary enables by default is put into multiPoint's `disabled`.
    """
    mentioned: set[str] = set()
    points = {
        point: _strip_point(plugin_set or {}, owns, mentioned)
        for point, plugin_set in (profile.get("plugins") or {}).items()
    }
    configs = [
        config
        for config in profile.get("pluginConfig") or ()
        if not owns(_name(config))
    ]
    _disable_defaults(points, mentioned)
    changed = {"plugins": _filled(points), "pluginConfig": configs}
    merged = {key: changed.get(key, value) for key, value in profile.items()}
    return {k: v for k, v in (merged | changed).items() if v or k not in changed}


def _strip_point(
    plugin_set: Mapping[str, Any], owns: Owns, mentioned: set[str]
) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for key, listed in plugin_set.items():
        mentioned |= {_name(plugin) for plugin in listed or () if owns(_name(plugin))}
        kept[key] = [plugin for plugin in listed or () if not owns(_name(plugin))]
    return _filled(kept)


def _filled(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value}


def _disable_defaults(points: dict[str, Any], mentioned: set[str]) -> None:
    doubled = sorted(name for name in mentioned if name in STOCK_PLUGINS)
    if doubled:
        everywhere = points.get(MULTI_POINT) or {}
        disabled = everywhere.get("disabled") or []
        disabled = [*disabled, *({"name": name} for name in doubled)]
        points[MULTI_POINT] = everywhere | {"disabled": disabled}


def _name(item: Any) -> str:
    return str((item or {}).get("name") or "")
