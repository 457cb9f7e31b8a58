"""What a profile really runs: points, multiPoint and defaults, merged."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from console.kubescheduler.registry import DEFAULT_SCORE_WEIGHTS, STOCK_PLUGINS
from console.kubescheduler.schema import MULTI_POINT
from scoring.framework.types import ExtensionPoint
from scoring.plugins.registry import PLUGINS

EVERY_PLUGIN = "*"
Owns = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class OwnPlugin:
    """An own plugin of a profile, where it is on. `weight` is w_i, 0 without Score."""

    name: str
    score: bool
    filter: bool
    weight: int


def plugin_set(profile: Mapping[str, Any], point: str) -> Mapping[str, Any]:
    """The enabled and disabled lists of a point; empty when it is not written."""
    found: Mapping[str, Any] = (profile.get("plugins") or {}).get(point) or {}
    return found


def listed(
    profile: Mapping[str, Any], point: str, key: str
) -> Iterator[tuple[int, str, int]]:
    """(index, name, weight) of what `key` (enabled or disabled) of a point names."""
    for i, plugin in enumerate(plugin_set(profile, point).get(key) or ()):
        plugin = plugin or {}
        yield i, str(plugin.get("name") or ""), int(plugin.get("weight") or 0)


def names(profile: Mapping[str, Any], point: str, key: str) -> dict[str, int]:
    """Name -> weight (0 when not written) of what `key` of a point names."""
    found: dict[str, int] = {}
    for _, name, weight in listed(profile, point, key):
        found.setdefault(name, weight)
    return found


def is_own(name: str) -> bool:
    """Whether Bandmaster runs `name` unasked: the stock binary does not have it."""
    return name in PLUGINS and name not in STOCK_PLUGINS


def own_plugins(profile: Mapping[str, Any], owns: Owns) -> tuple[OwnPlugin, ...]:
    """The profile's plugins that Bandmaster runs and that are on, as first named."""
    order: dict[str, None] = {}
    for point in (MULTI_POINT, ExtensionPoint.FILTER, ExtensionPoint.SCORE):
        order |= dict.fromkeys(filter(owns, names(profile, point, "enabled")))
    plugins = (_own_plugin(profile, name) for name in order)
    return tuple(plugin for plugin in plugins if plugin.score or plugin.filter)


def _own_plugin(profile: Mapping[str, Any], name: str) -> OwnPlugin:
    weight = _weight_at(profile, name, ExtensionPoint.SCORE)
    filters = _weight_at(profile, name, ExtensionPoint.FILTER) is not None
    return OwnPlugin(name, weight is not None, filters, weight or 0)


def _weight_at(
    profile: Mapping[str, Any], name: str, point: ExtensionPoint
) -> int | None:
    """The plugin's weight at the point (missing is 1), or None where it is off."""
    if point not in PLUGINS[name].points:
        return None
    enabled = names(profile, point, "enabled")
    if name in enabled:
        # also when disabled names it: enabled wins, and its weight beats multiPoint's
        return enabled[name] or 1
    disabled = names(profile, point, "disabled")
    if EVERY_PLUGIN in disabled or name in disabled:
        return None
    everywhere = names(profile, MULTI_POINT, "enabled")
    return everywhere[name] or 1 if name in everywhere else None


def stock_score_weights(profile: Mapping[str, Any], owns: Owns) -> dict[str, int]:
    """Score weights of the plugins that stay in the binary, defaults merged in."""
    weights = dict(DEFAULT_SCORE_WEIGHTS)
    _disable(weights, names(profile, MULTI_POINT, "disabled"))
    for name, weight in names(profile, MULTI_POINT, "enabled").items():
        if not owns(name) and "score" in STOCK_PLUGINS.get(name, {"score"}):
            weights[name] = weight or 1
    _disable(weights, names(profile, "score", "disabled"))
    for name, weight in names(profile, "score", "enabled").items():
        weights[name] = weight or 1
    return {name: weight for name, weight in weights.items() if not owns(name)}


def _disable(weights: dict[str, int], disabled: Mapping[str, int]) -> None:
    if EVERY_PLUGIN in disabled:
        weights.clear()
    for name in disabled:
        weights.pop(name, None)
