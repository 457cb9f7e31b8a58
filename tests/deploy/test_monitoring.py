"""deploy/monitoring: rules that Prometheus takes, about metrics that exist."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from scoring.bandwidth.devices import DENIED_DEVICES
from scoring.bandwidth.queries import tick_queries
from tests.components import require
from tests.deploy import manifests

MONITORING = manifests.DEPLOY / "monitoring"
RULES = ("recording-rules.yaml", "alerts.yaml")
METRIC = re.compile(r"\bbandmaster_[a-z_]+")
SUFFIX = re.compile(r"_(?:count|sum|bucket)$")


def groups() -> list[dict[str, Any]]:
    return [
        group for name in RULES for group in manifests.load(MONITORING / name)["groups"]
    ]


def alerts() -> list[dict[str, Any]]:
    return [rule for group in groups() for rule in group["rules"] if "alert" in rule]


def dashboard() -> dict[str, Any]:
    text = (MONITORING / "dashboard.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def shown() -> list[str]:
    return [
        target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]
    ]


def served() -> set[str]:
    """The names of metrics in the source of both processes."""
    root = manifests.ROOT
    extender = (root / "scoring/extender/metrics.py").read_text(encoding="utf-8")
    web = (root / "console/views/health.py").read_text(encoding="utf-8")
    own = re.findall(r'_gauge\(\s*"(\w+)"', web)
    return {*re.findall(r'"(bandmaster_\w+)"', extender)} | {
        f"bandmaster_{name}" for name in own
    }


def _promtool(*arguments: str, cwd: Path) -> None:
    done = subprocess.run(
        [require("promtool"), *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_prometheus_takes_the_rules() -> None:
    _promtool("check", "rules", *RULES, cwd=MONITORING)


def test_the_rules_tell_trouble_from_health(tmp_path: Path) -> None:
    for name in RULES:
        shutil.copy(MONITORING / name, tmp_path)
    tests = Path(__file__).with_name("rules.test.yaml")
    shutil.copy(tests, tmp_path / "rules.test.yaml")
    _promtool("test", "rules", "rules.test.yaml", cwd=tmp_path)


def test_every_alert_is_seen_to_fire() -> None:
    tested = Path(__file__).with_name("rules.test.yaml").read_text(encoding="utf-8")
    for alert in alerts():
        assert f'alertname="{alert["alert"]}"' in tested


def test_the_operators_rules_are_the_plain_ones() -> None:
    rules = manifests.load(MONITORING / "prometheusrule.yaml")
    assert rules["spec"]["groups"] == groups()


@pytest.mark.parametrize("alert", alerts(), ids=lambda alert: alert["alert"])
def test_every_alert_says_what_to_do(alert: dict[str, Any]) -> None:
    assert alert["labels"]["severity"] in {"info", "warning"}
    assert len(alert["annotations"]["summary"]) > 20
    assert len(alert["annotations"]["runbook"]) > 40
    assert alert["for"]


def test_rules_and_dashboard_name_metrics_that_are_served() -> None:
    expressions = [*shown(), *(alert["expr"] for alert in alerts())]
    named = {
        SUFFIX.sub("", name) for text in expressions for name in METRIC.findall(text)
    }
    assert "bandmaster_neutral" in named
    assert named <= served()


def test_everything_served_about_the_cluster_is_on_the_dashboard() -> None:
    named = {SUFFIX.sub("", name) for text in shown() for name in METRIC.findall(text)}
    assert named == served()


def test_recorded_devices_are_the_ones_that_a_tick_counts() -> None:
    denied = DENIED_DEVICES.replace("\\", "\\\\")
    ticks = tick_queries("", 120)
    recorded = [rule["expr"] for rule in groups()[0]["rules"]]
    assert len(recorded) == 3
    for expression in recorded:
        assert f'device!~"{denied}"' in expression
    assert recorded[0].replace("\n", "").replace(" ", "") == (
        ticks["receive"].replace("[120s]", "[2m]").replace(" ", "")
    )


def test_the_monitor_finds_both_services() -> None:
    spec = manifests.load(MONITORING / "servicemonitor.yaml")["spec"]
    (expression,) = spec["selector"]["matchExpressions"]
    services = manifests.of_kind("Service", manifests.BASE)
    assert set(expression["values"]) == set(services)
    for service in services.values():
        labels = service["metadata"]["labels"]
        assert labels[expression["key"]] in expression["values"]
        ports = {port["name"] for port in service["spec"]["ports"]}
        assert spec["endpoints"][0]["port"] in ports


def test_panels_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
