from __future__ import annotations

import pytest

from scoring.framework.policy import PluginSpec
from scoring.plugins.args import ArgsError
from scoring.plugins.registry import PLUGINS, build, inert_filter


def test_the_names_that_operators_use() -> None:
    assert sorted(PLUGINS) == ["CPUUsage", "HelloWorldPlugin", "NetworkTraffic"]


@pytest.mark.parametrize("name", PLUGINS)
def test_every_plugin_runs_without_arguments(name: str) -> None:
    assert build(PluginSpec(name)).name == name


@pytest.mark.parametrize("name", PLUGINS)
def test_every_described_default_is_accepted(name: str) -> None:
    """What a form shows as the default is what leaving it out means."""
    for field in PLUGINS[name].describe_args():
        args: object = field.default
        for part in reversed(field.name.split(".")):
            args = {part: args}
        assert isinstance(args, dict)
        written = PLUGINS[name].parse_args(args)
        left_out = PLUGINS[name].parse_args({})
        assert getattr(written, "shared", None) == left_out.shared, field.name
        assert field.help.endswith("."), field.name


def test_a_name_that_we_do_not_run() -> None:
    with pytest.raises(KeyError):
        build(PluginSpec("NodeResourcesFit"))


def test_bad_arguments() -> None:
    with pytest.raises(ArgsError):
        build(PluginSpec("CPUUsage", args={"thresholdPercent": "high"}))


@pytest.mark.parametrize(
    ("spec", "inert"),
    [
        (PluginSpec("CPUUsage", filter=True), True),
        (PluginSpec("CPUUsage", filter=True, args={"thresholdPercent": 90}), False),
        (PluginSpec("CPUUsage", score=True), False),
        (PluginSpec("NetworkTraffic", filter=True), True),
    ],
)
def test_inert_filter(spec: PluginSpec, inert: bool) -> None:
    assert inert_filter(spec) is inert
