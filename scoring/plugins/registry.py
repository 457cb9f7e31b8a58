"""The plugins that Bandmaster runs, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from scoring.framework.plugin import Plugin
from scoring.framework.policy import PluginSpec
from scoring.framework.types import ExtensionPoint
from scoring.plugins.args import ArgField
from scoring.plugins.cpuusage import CPUUsage
from scoring.plugins.helloworld import HelloWorldPlugin
from scoring.plugins.networktraffic import NetworkTraffic


class PluginClass(Protocol):
    """What a plugin's class offers before there is an instance."""

    name: str
    points: frozenset[ExtensionPoint]

    def parse_args(self, raw: Mapping[str, Any]) -> Any:
        """Typed arguments; raises scoring.plugins.args.ArgsError."""

    def describe_args(self) -> tuple[ArgField, ...]:
        """The arguments for forms and documentation."""

    def __call__(self, args: Any) -> Plugin:
        """An instance with parsed arguments."""


PLUGINS: dict[str, PluginClass] = {
    NetworkTraffic.name: NetworkTraffic,
    HelloWorldPlugin.name: HelloWorldPlugin,
    CPUUsage.name: CPUUsage,
}


def build(spec: PluginSpec) -> Plugin:
    """The plugin with its arguments.

    Raises KeyError for a name that we do not run, ArgsError for bad arguments; publish
    has checked both, so here either means a policy from elsewhere.
    """
    plugin = PLUGINS[spec.name]
    return plugin(plugin.parse_args(spec.args))


def inert_filter(spec: PluginSpec) -> bool:
    """Whether the Filter is on but has no threshold, so that it refuses nobody."""
    return spec.filter and build(spec).filter_rule() is None
