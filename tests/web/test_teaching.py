"""Teaching on the page: lists are corrected, weights adapted to them, and the saved file works in the library."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mudy import Extractor
from mudy.extraction.examples import Examples
from tests.browser import Visit, visiting
from tests.command_line import run
from tests.page import SHORT, find, finished, notice, ready, rows, saved
from tests.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real

EXAMPLES = Path(__file__).parents[2] / "examples"
with (EXAMPLES / "tagged_notes.csv").open(encoding="utf-8") as file:
    NOTES = [(row["text"], [tag.strip() for tag in row["tags"].split(",")]) for row in csv.DictReader(file)]


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    with visiting(browser, f"{served.address}/#method=mudyplus") as found:
        ready(found.page)
        yield found


def wanted(page: Page) -> list[str]:
    return page.locator("#wanted button").all_text_contents()


def add(page: Page, phrase: str) -> None:
    page.fill("#phrase", phrase)
    page.press("#phrase", "Enter")


def open_text(page: Page, text: str) -> None:
    if page.is_hidden("#text"):
        page.click("#edit")
    find(page, text)
    if page.is_hidden("#teaching"):
        page.click("#teach")


def teach(page: Page, text: str, phrases: list[str]) -> None:
    open_text(page, text)
    for phrase in wanted(page):
        page.get_by_role("button", name=f"Remove {phrase}", exact=True).click()
    for phrase in phrases:
        add(page, phrase)
    page.click("#keep")


def taught(page: Page) -> str:
    return page.text_content("#taught") or ""


def adapt(page: Page) -> str:
    page.click("#adapt")
    page.wait_for_selector("#adapted:not([hidden])")
    finished(page)
    return page.text_content("#adapted-summary") or ""


def test_phrases_are_removed_from_the_list_and_added_from_the_text(visit: Visit) -> None:
    page = visit.page
    open_text(page, SHORT)
    extracted = rows(page)
    assert wanted(page) == extracted
    page.locator("#wanted button").nth(1).press("Enter")
    assert wanted(page) == [extracted[0], *extracted[2:]]
    assert page.evaluate("document.activeElement.textContent") == extracted[2]  # ready to remove the next one
    add(page, "Three\n DAMS")
    assert wanted(page)[-1] == "three dams"
    add(page, "three dams")
    assert wanted(page).count("three dams") == 1
    add(page, "zeppelin")
    assert page.text_content("#phrase-error") == "This phrase does not occur in the text."
    assert page.input_value("#phrase") == "zeppelin"
    add(page, extracted[1])
    assert extracted[1] in wanted(page)
    assert page.text_content("#phrase-error") == ""


def test_a_selection_becomes_a_phrase_of_whole_words(visit: Visit) -> None:
    page = visit.page
    open_text(page, SHORT)
    page.evaluate(
        """() => { const text = document.querySelector('.mv-text'), walker = document.createTreeWalker(text, 4);
        const at = index => { walker.currentNode = text; let node, rest = index;
          while ((node = walker.nextNode()) && rest > node.data.length) rest -= node.data.length;
          return [node, rest]; };
        const whole = text.textContent, from = whole.indexOf('amily of bea');
        const [a, i] = at(from + 1), [b, j] = at(from + 12);
        getSelection().setBaseAndExtent(a, i - 1, b, j); }"""
    )
    page.wait_for_function("() => document.getElementById('phrase').value === 'family of beavers'")
    page.click("#add button")
    assert wanted(page)[-1] == "family of beavers"
    page.evaluate("getSelection().removeAllRanges()")
    occurrence = page.locator(".mv-text [role=button]").first
    occurrence.click()
    assert page.input_value("#phrase") in page.evaluate("document.querySelector('.mv-text').textContent")


def added(page: Page) -> list[str]:
    return list(page.evaluate("Array.from(CSS.highlights.get('added') ?? [], range => range.toString())"))


def test_phrases_that_were_added_are_marked_in_the_text(visit: Visit) -> None:
    page = visit.page
    open_text(page, SHORT)
    assert added(page) == []
    add(page, "behind the dams")
    add(page, "three dams")
    expected = ["behind the dams", *(["three dams"] if "three dams" not in rows(page) else [])]
    assert added(page) == expected
    page.get_by_role("button", name="Remove behind the dams", exact=True).click()
    assert added(page) == expected[1:]
    add(page, "three dams.\nThe river")
    assert "three dams.\nThe river" in added(page)  # also across lines and blocks
    page.click("#teach")
    assert added(page) == []


def test_the_taught_texts_are_saved_as_examples_for_the_command(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    open_text(page, NOTES[0][0])
    assert page.is_disabled("#save-lessons")
    for text, tags in NOTES[:3]:
        teach(page, text, tags)
    file = tmp_path / "examples.jsonl"
    file.write_text(saved(page, "#save-lessons"), encoding="utf-8")
    records = Examples.of(file).records
    taught_lists = [(record.text, {phrase.lower() for phrase in record.keyphrases}) for record in records]
    assert taught_lists == [(text, set(tags)) for text, tags in NOTES[:3]]
    done = run("fit", file, "--model", "smollm2-135m", "--threads", "1", "--output", tmp_path / "weights.json")
    assert done.exit_code == 0, done.output
    adapted = Extractor(examples=str(file), model="smollm2-135m", threads=1).adaptation
    assert adapted is not None
    assert str(adapted) in " ".join(done.output.split())


def test_weights_are_adapted_used_and_saved_for_the_library(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    for number, (text, tags) in enumerate(NOTES[:3]):
        if number:
            assert taught(page).startswith(f"{number} of 3 texts taught.")
            assert page.is_disabled("#adapt")
        teach(page, text, tags)
        assert page.text_content("#keep") == "Taught"
    flood = (EXAMPLES / "floodplain.txt").read_text(encoding="utf-8")
    open_text(page, flood)
    before = rows(page)
    assert "3 of 3 texts taught" in taught(page)
    summary = adapt(page)
    adapted = rows(page)
    assert page.is_checked("#use-adapted")
    assert page.is_disabled("#style")
    assert adapted != before
    content = saved(page, "#save-weights")
    file = tmp_path / "weights.json"
    file.write_text(content, encoding="utf-8")
    arguments: dict[str, Any] = {"model": "smollm2-135m", "threads": 1}
    assert [keyphrase.text for keyphrase in Extractor(weights=str(file), **arguments).extract(flood, 10)] == adapted
    own = Extractor(examples=NOTES[:3], **arguments)
    assert str(own.adaptation) == summary
    assert own.adaptation is not None
    assert json.loads(content)["fitted_on"] == own.adaptation.weights.to_dict()["fitted_on"]
    page.click("#use-adapted")
    page.wait_for_function("() => !document.getElementById('style').disabled")
    finished(page)
    assert rows(page) == before
    open_text(page, NOTES[0][0])
    assert wanted(page) == NOTES[0][1]
    assert page.evaluate("localStorage.length + sessionStorage.length") == 0
    page.reload()
    ready(page)
    open_text(page, SHORT)
    assert taught(page).startswith("0 of 3 texts taught.")  # nothing was stored


def test_what_does_not_help_is_said_and_not_used(visit: Visit) -> None:
    page = visit.page
    answer = {"weights": {}, "examples": 3, "before": 9.0, "after": 8.0, "helps": False, "changes": [], "notes": []}
    summary = "3 examples do not help, so the weights stay as they were."
    page.route("**/v1/fit", lambda route: route.fulfill(json={**answer, "summary": summary}))
    for text, tags in NOTES[:3]:
        teach(page, text, tags)
    before = rows(page)
    assert adapt(page) == summary
    assert page.is_hidden("#adapted-use")
    assert page.is_enabled("#style")
    assert rows(page) == before
    page.get_by_role("button", name="Forget").first.click()
    assert taught(page).startswith("2 of 3 texts taught.")
    assert page.is_disabled("#adapt")


def test_an_error_of_a_fit_is_shown_and_the_lists_are_kept(visit: Visit) -> None:
    page = visit.page
    for text, tags in NOTES[:3]:
        teach(page, text, tags)
    page.route("**/v1/fit", lambda route: route.abort())
    page.click("#adapt")
    assert "The service does not respond" in notice(page)
    visit.failed_requests()
    page.unroute("**/v1/fit")
    page.click("#notice button")
    page.wait_for_selector("#adapted:not([hidden])")
    finished(page)
    assert "Adapted to 3 examples" in (page.text_content("#adapted-summary") or "")


def test_only_mudyplus_can_be_taught(visit: Visit) -> None:
    page = visit.page
    open_text(page, SHORT)
    page.select_option("#method", "yake")
    page.wait_for_selector(".mv-ranking h3:text('YAKE')", state="attached")
    finished(page)
    assert page.is_hidden("#teach")
    assert page.is_hidden("#teaching")
    assert page.is_hidden("#add")


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_the_panel_fits_and_every_control_has_a_name(browser: Browser, served: Served, width: int, dark: bool) -> None:
    with visiting(browser, f"{served.address}/#method=mudyplus", width=width, dark=dark) as visit:
        page = visit.page
        ready(page)
        teach(page, *NOTES[0])
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        unnamed = "#teaching button, #teaching input, #add button, #add input"
        names = page.locator(unnamed).evaluate_all(
            "all => all.map(e => e.getAttribute('aria-label') || e.textContent.trim() || e.labels?.[0]?.textContent)"
        )
        assert len(names) > 5
        assert all(names)
        assert page.get_attribute("#teach", "aria-expanded") == "true"
        page.click("#teach")
        assert page.is_hidden("#teaching")
        assert page.get_attribute("#teach", "aria-expanded") == "false"
