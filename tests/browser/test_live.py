"""A page that is open while things change, with and without JavaScript."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Page, expect

from console.models import User
from scoring.models import Cluster
from tests import rows
from tests.browser.conftest import NewPage

pytestmark = pytest.mark.browser

NODES = "/c/default/nodes"


def look_now(page: Page) -> None:
    """What happens each five seconds, at once."""
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def settle(page: Page) -> None:
    """Long enough for a swap that must not come."""
    page.evaluate("new Promise(done => setTimeout(done, 250))")


def focused(page: Page) -> str:
    found: str = page.evaluate("document.activeElement.id")
    return found


def order(page: Page) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        "tr[id^=n-]", "rows => rows.map(row => row.id)"
    )
    return found


def test_a_tick_keeps_open_row_and_focus(new_page: NewPage, cluster: Cluster) -> None:
    page = new_page(NODES)
    page.focus("#why-node-0003")
    page.keyboard.press("Enter")
    expect(page.locator("#w-node-0003")).to_be_visible()
    assert focused(page) == "why-node-0003"
    before = order(page)
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(40)), seed=8))
    look_now(page)
    expect(page.locator("#n-node-0005 .chip.bad")).to_have_count(0)
    assert order(page) != before
    expect(page.locator("#w-node-0003")).to_be_visible()
    assert focused(page) == "why-node-0003"
    assert page.locator("#n-node-0003 + #w-node-0003").count() == 1
    # what came by the morph is alive
    page.keyboard.press("Enter")
    expect(page.locator("#w-node-0003")).to_have_count(0)
    assert focused(page) == "why-node-0003"


def test_the_kill_switch_shows_on_open_pages(
    new_page: NewPage, cluster: Cluster
) -> None:
    page = new_page(NODES)
    cluster.neutral, cluster.neutral_reason = True, "drill at noon"
    cluster.save()
    look_now(page)
    expect(page.locator("#notices")).to_contain_text("drill at noon")


def test_pause_holds_and_resume_catches_up(new_page: NewPage, cluster: Cluster) -> None:
    page = new_page(NODES)
    page.click("#pause")
    before = order(page)
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(3))))
    with page.expect_response("**/version*"):
        look_now(page)
    settle(page)
    assert order(page) == before
    page.click("#pause")
    expect(page.locator("tr[id^=n-]")).to_have_count(3)


def test_selected_text_is_not_taken_away(new_page: NewPage, cluster: Cluster) -> None:
    page = new_page(NODES)
    page.evaluate(
        "document.getSelection().selectAllChildren(document.querySelector('h1'))"
    )
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(3))))
    with page.expect_response("**/version*"):
        look_now(page)
    settle(page)
    assert len(order(page)) == 40
    page.evaluate("document.getSelection().removeAllRanges()")
    look_now(page)
    expect(page.locator("tr[id^=n-]")).to_have_count(3)


def test_scores_grow_old_on_an_open_page(new_page: NewPage, cluster: Cluster) -> None:
    """No server is needed for a number to be called stale."""
    page = new_page("/c/default/")
    page.clock.install()
    page.goto(NODES)
    expect(page.locator("#freshness")).not_to_have_class(re.compile("is-stale"))
    page.route("**/version*", lambda route: route.abort())
    page.clock.run_for(60_000)
    expect(page.locator("#freshness")).to_have_class(re.compile("is-stale"))
    expect(page.locator("#live")).to_have_class(re.compile("is-stale"))
    expect(page.locator("#announce")).to_have_text(re.compile("stale|No answer"))


def test_an_error_does_not_wipe_the_page(new_page: NewPage, cluster: Cluster) -> None:
    page = new_page(NODES)
    page.route("**/nodes", lambda route: route.fulfill(status=502, body="<p>no</p>"))
    rows.collected(cluster, rows.draft(tuple(rows.node(i) for i in range(3))))
    look_now(page)
    expect(page.locator("#connection")).to_contain_text("brought up to date (502)")
    assert len(order(page)) == 40
    page.unroute("**/nodes")
    look_now(page)
    expect(page.locator("tr[id^=n-]")).to_have_count(3)
    expect(page.locator("#connection")).to_be_hidden()


def test_logged_out_elsewhere_stops_the_page(
    new_page: NewPage, cluster: Cluster
) -> None:
    page = new_page(NODES)
    page.context.clear_cookies()
    look_now(page)
    expect(page.locator("#connection")).to_contain_text("You are logged out")
    link = page.get_attribute("#connection a", "href") or ""
    assert link == "/login?next=%2Fc%2Fdefault%2Fnodes"
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    look_now(page)
    settle(page)
    assert asked == []


def test_sort_and_open_by_keyboard_alone(
    new_page: NewPage, cluster: Cluster, ana: User
) -> None:
    page = new_page("/login", login=False)
    expect(page.locator("#id_username")).to_be_focused()
    page.keyboard.type(ana.username)
    page.keyboard.press("Tab")
    page.keyboard.type(rows.PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url("**/c/default/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    page.goto(NODES)
    page.focus("#sort-use")
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort=descending] #sort-use")).to_have_count(1)
    assert focused(page) == "sort-use"
    assert "sort=-use" in (page.get_attribute("#export", "href") or "")
    assert page.input_value("#f-sort") == "-use"
    assert "sort=-use" in page.url
    page.focus(f"#{order(page)[0].replace('n-', 'why-', 1)}")
    page.keyboard.press("Enter")
    expect(page.locator("tr.why")).to_have_count(1)
    page.reload()
    expect(page.locator("tr.why")).to_have_count(1)  # the URL holds it


def test_everything_works_without_javascript(
    new_page: NewPage, cluster: Cluster
) -> None:
    page = new_page(NODES, java_script_enabled=False)
    assert not page.locator("#pause").is_visible()
    page.click("#sort-receive")
    assert "sort=-receive" in page.url
    page.fill("#f-q", "node-0003")
    page.click(".filters button")
    assert page.locator("tr[id^=n-]").count() == 1
    page.click("#why-node-0003")
    assert page.locator("#w-node-0003").is_visible()
    page.goto("/c/default/neutral")
    page.fill("#id_reason", "without scripts")
    page.click("button.danger")
    assert "without scripts" in page.inner_text("#notices")
    page.click("details.menu.right summary")
    page.click("text=Log out")
    assert page.url.endswith("/login")
