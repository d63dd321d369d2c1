"""What the page says when something is wrong."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import Visit, visiting
from tests.page import EXAMPLE, SHORT, find, finished, notice, put, ready
from tests.served import Served, save_small_model, serving, until

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.real


def test_a_text_that_is_too_long_is_told_before_it_is_sent(visit: Visit) -> None:
    page = visit.page
    put(page, "word " * 70_000)
    page.click("#run")
    assert "350,000 characters; the limit is 300,000" in notice(page)
    assert "is-over" in (page.locator("#meter").get_attribute("class") or "")
    find(page, SHORT)
    assert page.locator("#notice").is_hidden()


def test_no_text_at_all_is_told_kindly(visit: Visit) -> None:
    visit.page.click("#run")
    assert "No text" in notice(visit.page)


def test_a_text_without_phrases_says_so(visit: Visit) -> None:
    find(visit.page, "...")
    assert "No keyphrases found" in (visit.page.locator(".mv-list").text_content() or "")


def test_a_busy_service_says_when_to_come_back(visit: Visit) -> None:
    page = visit.page
    problem = {"type": "/problems/queue-full", "title": "Too many requests wait", "status": 503, "detail": "Later."}
    page.route(
        "**/v1/explain",
        lambda route: route.fulfill(
            status=503,
            headers={"Retry-After": "7", "Content-Type": "application/problem+json"},
            body=json.dumps(problem),
        ),
    )
    put(page, SHORT)
    page.click("#run")
    assert "Too many requests wait" in notice(page)
    assert "Try again in 7 seconds" in notice(page)
    assert visit.failed_requests()
    page.unroute("**/v1/explain")
    page.get_by_role("button", name="Try again").click()
    finished(page)
    assert page.locator("#notice").is_hidden()


def test_a_key_is_asked_for_and_a_service_that_stops_is_missed(browser: Browser, tmp_path: Path) -> None:
    model = save_small_model(tmp_path / "model")
    with (
        serving(tmp_path, "--model", model, "--method", "yake", "--api-key", "open-sesame") as guarded,
        visiting(browser, guarded.address) as visit,
    ):
        page = visit.page
        for key in ("wrong", "open-sesame"):
            page.wait_for_selector("#key-dialog[open]")
            page.fill("#key", key)
            page.keyboard.press("Enter")
        ready(page)
        find(page, SHORT)
        assert page.evaluate("[sessionStorage.length, JSON.stringify(localStorage).includes('sesame')]") == [
            1,
            False,
        ]
        assert "sesame" not in page.url
        assert all("401" in told for told in visit.failed_requests())
        guarded.process.send_signal(signal.SIGTERM)
        guarded.ended()
        page.click("#edit")
        page.fill("#text", SHORT + " And more.")
        page.click("#run")
        assert "does not respond" in notice(page)
        assert page.input_value("#text").endswith("And more.")
        assert visit.failed_requests()


def test_a_run_can_be_cancelled(visit: Visit, served: Served) -> None:
    page, gone = visit.page, {"reason": "client-gone"}
    before = served.metric("mudy_cancelled_total", gone)
    put(page, EXAMPLE * 20)
    page.click("#run")
    page.wait_for_function("() => /Working · [1-9]/.test(document.getElementById('progress-text').textContent)")
    page.click("#cancel")
    assert page.locator("#progress").is_hidden()
    assert page.locator("#notice").is_hidden()
    until(lambda: served.metric("mudy_cancelled_total", gone) == before + 1, served)  # it has let go of the long one
    find(page, SHORT)
