"""Every page, both themes: no violation for axe, no message, nothing cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize

from console.models import User
from scoring.models import Cluster
from tests import rows
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

AXE = Path(__file__).parent / "vendor" / "axe-4.14.1.min.js"
PAGES = {
    "login": "/login",
    "password": "/password",
    "overview": "/c/default/",
    "nodes": "/c/default/nodes?why=node-0003&why=node-0005",
    "nodes, none found": "/c/default/nodes?q=zzz",
    "kill switch": "/c/default/neutral",
    "not found": "/nowhere",
}
PHONE: ViewportSize = {"width": 390, "height": 844}
DESK: ViewportSize = {"width": 1280, "height": 860}


def violations(page: Page) -> list[str]:
    """What axe finds, each with the first element."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("async () => (await axe.run()).violations")
    return [f"{v['id']}: {v['nodes'][0]['html'][:150]}" for v in found]


def overflow(page: Page) -> list[str]:
    """Elements that reach out of the window, or of their panel."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter(element => {
            const box = element.getBoundingClientRect();
            const panel = element.closest(".panel") ?? document.documentElement;
            return box.width > 1 && box.right > panel.getBoundingClientRect().right + 1;
        }).map(element => element.outerHTML.slice(0, 120))"""
    )
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES.values(), ids=PAGES)
def test_axe_and_widths(
    new_page: NewPage, cluster: Cluster, path: str, theme: str
) -> None:
    page = new_page(
        path,
        login=path != "/login",
        color_scheme=theme,
        bypass_csp=True,
        viewport=DESK,
    )
    assert violations(page) == []
    assert overflow(page) == []
    page.set_viewport_size(PHONE)
    assert violations(page) == []
    assert overflow(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_when_things_are_wrong(
    new_page: NewPage, cluster: Cluster, theme: str
) -> None:
    rows.failed_tick(
        cluster, prometheus_error="Prometheus is down", cluster_error="no answer"
    )
    cluster.simulated = cluster.neutral = True
    cluster.neutral_reason, cluster.neutral_by = "wrong numbers since noon", "bo"
    cluster.save()
    page = new_page("/c/default/", color_scheme=theme, bypass_csp=True, viewport=PHONE)
    for path in ("/c/default/", "/c/default/nodes", "/c/default/neutral"):
        page.goto(path)
        assert violations(page) == []
        assert overflow(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_before_the_first_tick(
    new_page: NewPage, emptied: None, theme: str
) -> None:
    rows.make_cluster()
    page = new_page("/c/default/", color_scheme=theme, bypass_csp=True, viewport=PHONE)
    for path in ("/c/default/", "/c/default/nodes"):
        page.goto(path)
        assert violations(page) == []
        assert overflow(page) == []


def test_errors_of_a_form_are_announced(new_page: NewPage, cluster: Cluster) -> None:
    page = new_page("/password", bypass_csp=True)
    page.fill("#id_old_password", "wrong")
    page.fill("#id_new_password1", "12345")
    page.fill("#id_new_password2", "12345")
    page.click("button.primary")
    assert "Nothing was saved." in page.inner_text("#errors")
    assert violations(page) == []


def test_strict_policy_has_nothing_to_complain_about(
    new_page: NewPage, cluster: Cluster, ana: User
) -> None:
    """Without the bypass: the fixture fails on any message in the console."""
    page = new_page("/c/default/")
    for path in (*PAGES.values(), "/admin/", "/admin/scoring/tick/"):
        page.goto(path)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        page.evaluate("new Promise(done => setTimeout(done, 250))")


def test_chosen_theme_wins_over_the_systems(
    new_page: NewPage, cluster: Cluster
) -> None:
    page = new_page("/c/default/", color_scheme="light")
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.click("details.menu.right summary")
    page.click("button[name=theme][value=dark]")
    assert page.url.endswith("/c/default/")
    assert page.evaluate(ground) != light
