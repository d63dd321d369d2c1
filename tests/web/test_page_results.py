"""Finding phrases, comparing methods and moving sliders, in a real browser with the real service behind the page."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.browser import Visit
from tests.page import SHORT, TEXT, answer, asked, colours, find, finished, marks, rows, saved, slide
from tests.served import Served

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.real


def test_a_text_becomes_a_ranking_and_coloured_places_as_the_service_gives_them(visit: Visit, served: Served) -> None:
    page = visit.page
    find(page, TEXT)
    (expected,) = asked(served, TEXT, "mudy")["methods"]
    assert rows(page) == [keyphrase["text"] for keyphrase in expected["keyphrases"][:10]]
    assert page.locator(".mv-text").evaluate("text => text.textContent") == TEXT
    assert marks(page) == colours(expected, 10)


def test_every_row_shows_the_score_of_its_phrase(visit: Visit) -> None:
    page = visit.page
    occurrences = [{"start": 2, "end": 5, "score": 0.0571}, {"start": 9, "end": 13, "score": 0.1911}]
    keyphrase = {"rank": 1, "text": "dam", "score": 0.1911, "variants": ["dams"], "occurrences": occurrences}
    answer(page, [{"method": "yake", "model": None, "keyphrases": [keyphrase], "settings": {}, "free": []}])
    find(page, "A dam and dams.")
    assert page.locator(".mv-row .mv-score").all_text_contents() == ["0.1911"]
    row = page.get_by_role("button", name="1 dam 0.1911", exact=True)
    assert row.get_attribute("aria-description") == "2 occurrences"


def test_the_page_says_what_each_model_read(visit: Visit) -> None:
    page = visit.page
    read = [
        {"model": "encoder", "share": 0.3297, "spans": [{"start": 0, "end": 5}]},
        {"model": "language_model", "share": 0.999, "spans": [{"start": 0, "end": 5}, {"start": 6, "end": 9}]},
    ]
    coverage = {"words": 4, "words_read": 4, "share": 1.0, "sections": 1, "models": read}
    answer(
        page,
        [{"method": "yake", "model": None, "keyphrases": [], "settings": {}, "free": [], "coverage": coverage}],
    )
    find(page, "A dam and dams.")
    said = (page.locator(".mv-head p").text_content() or "").replace("\u00a0", " ")
    assert said.endswith("encoder read the first 32 % · language model read 99 %")


def test_a_style_is_offered_for_the_method_that_has_styles_and_sent_with_it(visit: Visit) -> None:
    page = visit.page
    assert not page.locator("#style").is_visible()
    page.select_option("#method", "mudyplus")
    page.select_option("#style", "terms")
    assert page.locator("#style-help").text_content() == "terms: every technical term that an indexer would mark"
    assert "style=terms" in page.url
    occurrence = {"start": 2, "end": 5, "score": 0.5}
    keyphrase = {"rank": 1, "text": "dam", "score": 0.5, "variants": [], "occurrences": [occurrence]}
    answer(page, [{"method": "mudyplus", "model": None, "keyphrases": [keyphrase], "settings": {}, "free": []}])
    with page.expect_request("**/v1/explain") as request:
        find(page, "A dam and dams.")
    assert json.loads(request.value.post_data or "")["settings"] == {"mudyplus": {"style": "terms"}}


def test_two_methods_stand_side_by_side_line_by_line(visit: Visit, served: Served) -> None:
    page = visit.page
    page.select_option("#compare", "promptrank")
    find(page, TEXT)
    expected = asked(served, TEXT, "promptrank", "mudy")["methods"]
    for index, method in enumerate(expected):
        assert rows(page, index) == [keyphrase["text"] for keyphrase in method["keyphrases"][:10]]
        assert marks(page, index) == colours(method, 10)
    tops = "text => [...text.querySelectorAll('.mv-occurrence')].map(o => Math.round(o.getBoundingClientRect().top))"
    left, right = (page.locator(".mv-text").nth(index).evaluate(tops) for index in (0, 1))
    assert left == right
    ranks = [{k["text"]: k["rank"] for k in method["keyphrases"]} for method in expected]
    phrase = next(text for text in rows(page, 1) if text in ranks[0] and ranks[0][text] != ranks[1][text])
    page.locator(".mv-ranking").nth(1).get_by_text(phrase, exact=True).click()
    said = page.locator(".mv-change").first.text_content() or ""
    here, there = (int(rank) for rank in re.findall(r"(\d+)(?:st|nd|rd|th)", said))
    assert (here, there) == (ranks[1][phrase], ranks[0][phrase])
    assert said.endswith(f"{there - here} higher" if here < there else f"{here - there} lower")


def test_comparing_asks_only_for_what_is_not_known_yet(visit: Visit) -> None:
    page = visit.page
    find(page, SHORT)
    with page.expect_request("**/v1/explain") as request:
        page.select_option("#compare", "textrank")
    assert (request.value.post_data_json or {})["methods"] == ["textrank"]
    page.wait_for_selector(".mv-panel >> nth=1")
    finished(page)
    page.select_option("#compare", "")
    page.wait_for_selector(".mv-panel >> nth=1", state="detached")


def test_lambda_moves_the_ranking_exactly_as_a_new_run_would(visit: Visit, served: Served) -> None:
    page = visit.page
    find(page, TEXT)
    before = rows(page)
    page.evaluate(
        "() => { window.asked = 0; const old = fetch; window.fetch = (...a) => { asked += 1; return old(...a); }; }"
    )
    for value in (4.75, 0.0):
        slide(page, "lambda", value)
        (expected,) = asked(served, TEXT, "mudy", settings={"mudy": {"lambda_": value}})["methods"]
        assert rows(page) == [keyphrase["text"] for keyphrase in expected["keyphrases"][:10]]
        assert marks(page) == colours(expected, 10)
        slide(page, "top", 40)
        (found,) = json.loads(saved(page, "#json"))["methods"]
        slide(page, "top", 10)
        for own, other in zip(found["keyphrases"], expected["keyphrases"], strict=False):
            assert (own["rank"], own["text"], own["variants"]) == (other["rank"], other["text"], other["variants"])
            assert own["occurrences"] == [pytest.approx(place, rel=1e-12) for place in other["occurrences"]]
        assert found["settings"] == expected["settings"]
    assert rows(page) != before
    assert page.evaluate("asked") == 0
    assert {"↑", "↓"} & {text[0] for text in page.locator(".mv-moved").all_text_contents() if text}
    page.click("#reset")
    assert rows(page) == before
    assert not any(page.locator(".mv-moved").all_text_contents())


def test_kappa_asks_the_model_again_when_it_is_let_go(visit: Visit, served: Served) -> None:
    page = visit.page
    find(page, SHORT)
    slide(page, "kappa", 0.9, release=False)
    with page.expect_response("**/v1/explain") as response:
        slide(page, "kappa", 0.9)
    assert (response.value.request.post_data_json or {})["settings"] == {"mudy": {"kappa": 0.9}}
    page.wait_for_selector("#progress", state="hidden")
    expected = asked(served, SHORT, "mudy", settings={"mudy": {"kappa": 0.9}})["methods"][0]
    page.wait_for_function(
        "text => document.querySelector('.mv-phrase').textContent === text", arg=expected["keyphrases"][0]["text"]
    )
    assert (
        json.loads(saved(page, "#json"))["methods"][0]["keyphrases"][0]["score"] == expected["keyphrases"][0]["score"]
    )


def test_top_n_lengthens_the_ranking_and_the_underlines(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    find(page, TEXT)
    for n in (1, 3, 25):
        slide(page, "top", n)
        assert len(rows(page)) == n
        assert page.locator(".mv-text .is-best").count() == n
    assert "top=25" in page.url


def test_gold_phrases_are_bold_and_slanted_where_they_stand(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.click("summary")
    page.fill("#gold", "flood wall\ncoral reef\n")
    find(page, TEXT)
    gold = page.locator(".mv-text em.gold")
    assert set(gold.all_text_contents()) == {"flood walls"}
    assert gold.first.evaluate("e => [getComputedStyle(e).fontStyle, getComputedStyle(e).fontWeight]") == [
        "italic",
        "700",
    ]
    assert "coral reef" in (page.locator(".mv-legend").text_content() or "")
    assert page.locator(".mv-ranking em.gold").all_text_contents() == ["flood walls"]
