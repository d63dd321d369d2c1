"""What the card and the notes say of a result, with answers made for the test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.page import answer, find

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

    from tests.browser import Visit

pytestmark = pytest.mark.real

TEXT = "old flood walls held"
EVIDENCE = {"likelihood": 1.25, "attention": 0.5, "position": -0.75, "length": 0.0}
PARTS = [
    *({"name": name, "symbol": name, "words": f"{name} of it", "kind": "contribution"} for name in EVIDENCE),
    {"name": "n", "symbol": "N", "words": "times counted", "kind": "value"},
]


def result(method: str = "yake", **fields: Any) -> dict[str, Any]:
    """A method's answer with one phrase."""
    occurrence = {"start": 4, "end": 15, "score": sum(EVIDENCE.values()), **EVIDENCE, "n": 3}
    keyphrase = {"rank": 1, "text": "flood walls", "score": 1.0, "variants": [], "occurrences": [occurrence]}
    return {
        "method": method, "model": None, "keyphrases": [keyphrase], "settings": {}, "free": [], "seconds": 1, **fields,
    }  # fmt: skip


def describe_yake_by(page: Page, parts: list[dict[str, str]]) -> None:
    """Let the service describe YAKE's score by these parts."""

    def changed(route: Route) -> None:
        methods = route.fetch().json()
        for method in methods["methods"]:
            if method["name"] == "yake":
                method |= {"title": "Yet Another", "parts": parts}
        route.fulfill(json=methods)

    page.route("**/v1/methods", changed)
    page.reload()
    page.wait_for_selector("html[data-ready]")


def test_contributions_are_signed_bars_that_add_up(visit: Visit) -> None:
    page = visit.page
    describe_yake_by(page, PARTS)
    answer(page, [result()])
    page.select_option("#method", label="Yet Another")
    find(page, TEXT)
    page.click(".mv-row")
    assert page.locator(".mv-contributions th").all_text_contents() == [
        "likelihood of it", "position of it", "attention of it", "length of it",
    ]  # fmt: skip
    values = page.locator(".mv-contributions .mv-value").all_text_contents()
    assert values == ["+1.25", "−0.75", "+0.5", "0"]
    boxes = page.eval_on_selector_all(
        ".mv-signed-bar i",
        """all => all.map(bar => { const own = bar.getBoundingClientRect(),
        axis = bar.parentElement.getBoundingClientRect();
        return [(own.left - axis.left) / axis.width, own.width / axis.width]; })""",
    )
    zero = 0.75 / 2  # the axis goes from -0.75 to 1.25
    for (start, width), value in zip(boxes, (1.25, -0.75, 0.5, 0.0), strict=True):
        assert (start, width) == pytest.approx((zero + min(0, value) / 2, abs(value) / 2), abs=0.01)
    assert page.locator(".mv-formula").text_content() == "Sum of 4 contributions: 1"
    assert page.locator(".mv-parts:not(.mv-contributions) th").all_text_contents() == ["N"]
    assert "1st of 1 by Yet Another" in (page.locator(".mv-card-rank").text_content() or "")


def test_language_and_warnings_stand_above_the_text(visit: Visit) -> None:
    page, warning = visit.page, "The text is in French, but was read by the rules of English."
    page.select_option("#method", "yake")
    answer(page, [result(language="fr", read_by="stop words of French", warnings=[warning])])
    find(page, TEXT)
    assert page.locator(".mv-notes").text_content() == f"Language: French, read by stop words of French · {warning}"


def test_the_language_is_chosen_in_the_bar_and_shown_above_the_text(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    assert page.locator("#language").input_value() == "auto"
    text = "Die Wärmepumpe ersetzt in vielen Häusern die alte Gasheizung. Wärmepumpen brauchen wenig Strom im Winter."
    find(page, text)
    assert (page.locator(".mv-notes").text_content() or "").startswith("Language: German, read by stop words of German")
    page.select_option("#language", "nl")
    page.locator(".mv-notes", has_text="Language: Dutch").wait_for()


def test_a_warning_of_one_method_names_it(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    answer(page, [result("textrank", warnings=["Only half was read."]), result("yake")])
    find(page, TEXT)
    assert page.locator(".mv-notes").text_content() == "TextRank: Only half was read."


def test_a_result_without_notes_has_no_line_for_them(visit: Visit) -> None:
    answer(visit.page, [result()])
    visit.page.select_option("#method", "yake")
    find(visit.page, TEXT)
    assert visit.page.locator(".mv-notes").count() == 0
