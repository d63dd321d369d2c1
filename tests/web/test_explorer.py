"""The explorer of a corpus in a real browser: it finds, shows and links phrases and texts, and trusts none of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mudy.corpus import views
from mudy.corpus.views import _cut
from tests.browser import visiting
from tests.corpora import jsonl, run
from tests.explained import HOSTILE

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TICKETS = Path("examples/tickets.jsonl")
ATTACK = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def ready(page: Page) -> None:
    page.wait_for_selector("html[data-ready]")


def headed(page: Page, words: str) -> None:
    """Wait until the phrase that is shown is this one."""
    page.locator(".ex-detail h2", has_text=words).wait_for()


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The rows of the tickets by YAKE; their page is beside them."""
    folder = tmp_path_factory.mktemp("tickets")
    for _ in range(2):  # the page of an earlier run is replaced
        run(TICKETS, folder / "out.jsonl", explore=folder / "tickets.html", time_column="date")
    found = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
    return [{**found[0], "address": (folder / "tickets.html").as_uri()}, *found[1:]]


@pytest.fixture(scope="module")
def address(rows: list[dict[str, Any]]) -> str:
    return str(rows[0]["address"])


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_windows_of_all_widths(browser: Browser, address: str, width: int, dark: bool) -> None:
    for part in ("", "#0", "#search=battery"):
        with visiting(browser, address + part, width=width, dark=dark) as visit:
            ready(visit.page)
            assert fits(visit.page)
            assert visit.page.locator(".ex-row").first.is_visible() == (width > 700 or not part)
            assert visit.page.locator(".ex-detail").is_visible() == (width > 700 or bool(part))


def test_a_phrase_shows_its_trend_its_neighbours_and_every_place(
    browser: Browser, address: str, rows: list[dict[str, Any]]
) -> None:
    texts = {json.loads(line)["id"]: json.loads(line)["text"] for line in TICKETS.read_text().splitlines()}
    with visiting(browser, address) as visit:
        page = visit.page
        ready(page)
        page.fill("#ex-search", "battery drain")
        page.click(".ex-row")
        headed(page, "battery drain")
        holders = {
            row["id"]: len(phrase["occurrences"])
            for row in rows
            for phrase in row["keyphrases"]
            if phrase["text"].lower() == "battery drain"
        }
        while page.locator(".ex-texts > .ex-more").is_visible():
            page.click(".ex-texts > .ex-more")
        shown = page.eval_on_selector_all(
            ".ex-document",
            "all => all.map(a => [a.querySelector('bdi').textContent, a.querySelector('.ex-text').textContent, "
            "[...a.querySelectorAll('mark')].map(m => m.textContent.toLowerCase())])",
        )
        assert {name: (text, marks) for name, text, marks in shown} == {
            name: (texts[name], ["battery drain"] * count) for name, count in holders.items()
        }
        assert page.locator(".ex-bars.is-rising rect").count() == 8
        assert page.locator(".ex-neighbour").count() > 0


def test_neighbours_and_phrases_in_texts_are_links_and_back_goes_back(browser: Browser, address: str) -> None:
    with visiting(browser, address + "#0", width=390) as visit:
        page = visit.page
        ready(page)
        first = page.text_content(".ex-detail h2") or ""
        name = page.text_content(".ex-neighbour .ex-name") or ""
        page.click(".ex-neighbour")
        headed(page, name)
        page.go_back()
        headed(page, first)
        name = page.locator(".ex-phrase").first.text_content() or ""
        page.click(".ex-phrase")
        headed(page, name[:4])  # perhaps in another form
        page.click(".ex-back")
        page.wait_for_selector(".ex-row", state="visible")


def test_lists_are_ordered_and_texts_are_searched(browser: Browser, address: str) -> None:
    with visiting(browser, address) as visit:
        page = visit.page
        ready(page)
        numbers = [int(text.replace(",", "")) for text in page.locator(".ex-row .ex-documents").all_text_contents()]
        assert numbers == sorted(numbers, reverse=True)
        page.select_option("#ex-order", "rising")
        assert page.locator(".ex-row").first.locator(".is-rising").count() == 1
        page.select_option("#ex-order", "falling")
        assert page.locator(".ex-row").first.locator(".is-falling").count() == 1
        page.fill("#ex-search", "castle")
        page.click(".ex-in-texts")
        headed(page, "“castle”")
        assert set(page.locator(".ex-text mark").all_text_contents()) == {"castle"}


@pytest.mark.parametrize("text", [HOSTILE, ATTACK])
def test_texts_ids_and_phrases_that_attack_are_shown_as_text(browser: Browser, tmp_path: Path, text: str) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"id": ATTACK, "text": text + " The river flood."}] * 3)
    run(source, tmp_path / "out.jsonl", explore=tmp_path / "x.html")
    dialogs: list[str] = []
    with visiting(browser, (tmp_path / "x.html").as_uri()) as visit:
        page = visit.page
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.reload()
        ready(page)
        assert page.text_content(".ex-document bdi") == ATTACK
        assert page.text_content(".ex-text") == text + " The river flood."
        assert page.locator("img, iframe, object, embed, link").count() == 0
        assert page.locator("script").count() == 2
    assert dialogs == []


def test_a_long_text_is_cut_to_sentences_around_its_best_places() -> None:
    text = " ".join(f"Sentence {n:03} has a phrase{n:03} in it." for n in range(200))
    starts = {n: text.index(f"phrase{n:03}") for n in (0, 50, 150)}
    places = [
        (1, n, start, start + 9, score) for (n, start), score in zip(starts.items(), (0.1, 0.5, 0.9), strict=True)
    ]
    shown, spans = _cut(text, places, 100)
    assert len(shown) <= 100 + 3 * len(views._GAP)
    assert [shown[start:end] for _, start, end in spans] == ["phrase050", "phrase150"]
    assert [node for node, _, _ in spans] == [50, 150]
    whole, all_spans = _cut(text, places, 10_000)
    assert whole == text
    assert all_spans == [(n, start, start + 9) for n, start in starts.items()]


def test_a_page_holds_no_more_texts_and_phrases_than_its_limits(
    browser: Browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MOST_TEXTS", 5)
    monkeypatch.setattr(views, "MOST_PHRASES", 2)
    run(TICKETS, tmp_path / "out.jsonl", explore=tmp_path / "x.html")
    with visiting(browser, (tmp_path / "x.html").as_uri()) as visit:
        ready(visit.page)
        assert visit.page.locator(".ex-row").count() == 2
        assert "not in this page" in (visit.page.text_content(".ex-detail") or "")
