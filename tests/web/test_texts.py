"""Strange and long texts on the page."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.browser import Visit
from tests.page import EXAMPLE, answer, asked, find, marks, places, rows, slide
from tests.served import Served, until

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.real


HOSTILE = (
    '<script>alert(1)</script> met "><img src=x onerror=alert(2)> near the 🏞️ river park.\n'
    "The \u202eriver park\u202c drew 🦫🦫 beaver families; the river park paid 𝕏 tickets &amp; maps.\n\n"
    "נהר גדול meets the river park, and 東京の公園 lies beside the \u2067beaver families\u2069 there."
)


def test_markup_and_marks_of_direction_are_just_text(visit: Visit, served: Served) -> None:
    page = visit.page
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: dialogs.append(dialog.message))
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    find(page, HOSTILE)
    expected = asked(served, HOSTILE, "textrank", "yake")["methods"]
    for index, method in enumerate(expected):
        text = page.locator(".mv-text").nth(index)
        assert text.evaluate("text => text.textContent") == HOSTILE
        assert text.locator("script, img").count() == 0
        assert sorted(marks(page, index)) == sorted((place["start"], place["end"]) for place in places(method))
        forms = page.locator(".mv-text").nth(index).locator(".mv-occurrence").all_text_contents()
        assert forms.count("river park") >= 3
        assert rows(page, index) == [keyphrase["text"] for keyphrase in method["keyphrases"][:10]]
    for row in page.locator(".mv-ranking").last.locator(".mv-row").all():
        row.click()
    assert dialogs == []
    bidi = page.evaluate(
        "['.mv-text', '.mv-block', '.mv-phrase'].map(s => getComputedStyle(document.querySelector(s)).unicodeBidi)"
    )
    assert bidi == ["isolate", "plaintext", "isolate"]


def test_places_that_overlap_are_all_reached(visit: Visit) -> None:
    page = visit.page
    text = "old flood walls held"
    spans = {"flood": (4, 9, 3.0), "old flood": (0, 9, 2.0), "flood walls": (4, 15, 1.0), "held": (16, 20, 0.5)}
    keyphrases = [
        {"rank": i, "text": phrase, "score": s, "variants": [], "occurrences": [{"start": a, "end": b, "score": s}]}
        for i, (phrase, (a, b, s)) in enumerate(spans.items(), start=1)
    ]
    answer(
        page, [{"method": "yake", "model": None, "keyphrases": keyphrases, "settings": {}, "free": [], "seconds": 1}]
    )
    find(page, text)
    assert page.locator(".mv-text .mv-occurrence").all_text_contents() == ["old ", "flood", " walls", "held"]
    for phrase, (start, end, _) in spans.items():
        page.click(f".mv-row[title='{phrase}']")
        assert page.locator(".mv-card-phrase").text_content() == phrase
        assert "".join(page.locator(".mv-occurrence.is-active").all_text_contents()) == text[start:end]
    page.locator(".mv-row").first.click()
    assert "Also here: old flood (2nd), flood walls (3rd)" in (page.locator(".mv-also").text_content() or "")


@pytest.mark.slow
@pytest.mark.parametrize("between", ["\n\n", " "], ids=["paragraphs", "one-line"])
def test_200_kb_are_shown_whole_and_can_be_walked_through(visit: Visit, between: str) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    paragraphs = [line for line in EXAMPLE.splitlines() if line]
    chosen = random.Random(5).choices(paragraphs, k=480)
    text = between.join(chosen)[:200_000]
    assert len(text) > 190_000
    find(page, text)
    assert page.locator(".mv-text .mv-occurrence").count() > 15_000
    slide(page, "top", 30)
    assert len(rows(page)) == 30
    page.locator(".mv-row").first.click()
    page.click("[aria-label='Next occurrence']")
    page.click("[aria-label='Previous occurrence']")
    page.keyboard.press("End")
    until(lambda: page.evaluate("document.activeElement.getBoundingClientRect().top < innerHeight"))  # it scrolls
    assert page.locator(".mv-text").first.evaluate("text => text.textContent") == text
