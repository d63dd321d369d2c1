"""Going from place to place, by keyboard and with the mouse."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.browser import Visit
from tests.page import SHORT, TEXT, find, finished, in_sight, rows

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.real


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"))


def described(element: Locator, words: str) -> None:
    from playwright.sync_api import expect

    expect(element).to_have_accessible_description(re.compile(words))


def tab_to(page: Page, selector: str) -> None:
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"Tab does not reach {selector}")


def test_all_of_it_works_without_a_mouse(visit: Visit) -> None:
    page = visit.page
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the text"
    page.keyboard.press("Enter")
    tab_to(page, "#text")
    page.keyboard.insert_text(SHORT)
    page.keyboard.press("Control+Enter")
    finished(page)
    tab_to(page, ".mv-row")
    page.keyboard.press("End")
    page.keyboard.press("Home")
    for _ in range(rows(page).index("dams")):
        page.keyboard.press("ArrowDown")
    row = focused(page)
    page.keyboard.press("Enter")
    assert re.fullmatch(r"dams, rank \d+, score −[\d.]+, occurrence 1 of 2", focused(page))
    card = page.locator(".mv-card")
    assert card.get_attribute("role") == "dialog"
    page.keyboard.press("n")
    assert focused(page).endswith("occurrence 2 of 2")
    page.keyboard.press("p")
    assert focused(page).endswith("occurrence 1 of 2")
    page.keyboard.press("Tab")
    assert focused(page) == "Close"
    page.keyboard.press("Escape")
    assert not card.is_visible()
    assert focused(page) == row
    tab_to(page, ".mv-occurrence")
    page.keyboard.press("Home")
    walked = [focused(page)]
    for _ in range(3):
        page.keyboard.press("ArrowRight")
        walked.append(focused(page))
    assert len({label.partition(",")[0] for label in walked}) == 4
    assert card.get_attribute("role") == "tooltip"
    described(page.locator(":focus"), "likelihood of the phrase")
    page.keyboard.press("Escape")
    assert not card.is_visible()
    page.keyboard.press("End")
    assert focused(page).startswith("ponds, rank ")
    page.keyboard.press("Home")
    assert focused(page).startswith("family, rank ")


def test_the_focus_can_be_seen_everywhere(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    find(page, SHORT)
    page.focus("#theme")
    seen = set()
    for _ in range(25):
        page.keyboard.press("Tab")
        name, style, width = page.evaluate(
            """() => { const e = document.activeElement, s = getComputedStyle(e);
            return [e.id || e.className || e.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]; }"""
        )
        if name != "BODY":
            seen.add(name)
            assert (style, width >= 2) == ("solid", True), name
    assert {"method", "top", "run", "edit", "csv"} <= seen


def test_a_phrase_in_the_ranking_leads_through_its_places(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    find(page, TEXT * 6)
    row = page.locator(".mv-row").first
    count = int(re.findall(r"(\d+) occurrences", row.get_attribute("aria-description") or "")[0])
    assert count >= 6
    row.click()
    seen = []
    for number in range(1, count + 1):
        assert page.locator(".mv-places").text_content() == f"occurrence {number} of {count}‹›"
        active = page.locator(".mv-occurrence.is-active").first
        assert in_sight(active, page.locator(".mv-card"))
        seen.append(active.evaluate("e => e.segment.owner.from"))
        assert page.locator(".mv-occurrence.is-highlighted").count() >= count
        page.click("[aria-label='Next occurrence']")
    assert seen == sorted(set(seen))
    assert (page.locator(".mv-places").text_content() or "").startswith("occurrence 1 of")


@pytest.mark.slow
def test_the_card_is_never_cut_off(visit: Visit) -> None:
    page = visit.page
    page.select_option("#compare", "promptrank")
    find(page, TEXT)
    card = page.locator(".mv-card")
    boxes = page.evaluate(
        """[...document.querySelectorAll('.mv-text .mv-occurrence')].map(e => e.getClientRects()[0])
        .filter(r => r.top > 170 && r.bottom < innerHeight - 4).map(r => [r.left + 3, r.top + r.height / 2])"""
    )
    assert len(boxes) > 24
    for x, y in boxes[:: len(boxes) // 12]:
        page.mouse.move(5, 5)
        page.wait_for_timeout(200)
        page.mouse.move(x, y)
        card.wait_for(state="visible")
        assert in_sight(page.locator(".mv-occurrence.is-active").first, card)
