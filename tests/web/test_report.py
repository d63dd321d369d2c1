"""Reports in a real browser: alive with scripts, readable without, on paper, by keyboard; and always just the text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mudy import Extractor
from mudy.extraction.explanation import Explanation
from mudy.extraction.render.text_pieces import coloured_pieces
from mudy.extraction.results import ConceptMatch, Coverage, Keyphrase, Result, ScoredOccurrence
from mudy.reading.document import squeeze
from tests import explained, small
from tests.browser import visiting
from tests.explained import HOSTILE, saved
from tests.taggers import english

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TITLE = "</title><script>alert(3)</script>\u202e.txt"
TALL = " ".join(["The ice road closes in early spring, and a ferry crosses."] * 20)


@pytest.fixture(scope="module")
def explanations(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Explanation]:
    """One that attacks, and one of two methods that were really run, on a small random model."""
    model = saved(tmp_path_factory.mktemp("llama"), "llama")
    made = Extractor("mudy", model=str(model), language=english(), mixture=False, sam_layers=(1,), lambda_=2.0)
    real = made.explain(f"{small.TEXT}\n\n{TALL}", ["promptrank", "mudy"], gold=["radar maps"], source="ice.txt")
    return {"hostile": explained.hostile(source=TITLE), "real": real}


@pytest.fixture(scope="module")
def reports(explanations: dict[str, Explanation], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Their addresses."""
    folder = tmp_path_factory.mktemp("reports")
    return {name: _written(folder / f"{name}.html", found) for name, found in explanations.items()}


def _written(path: Path, found: Explanation) -> str:
    path.write_text(found.to_html(), encoding="utf-8")
    return path.as_uri()


def ready(page: Page) -> None:
    page.wait_for_selector("#mudy-view[data-ready]", state="attached")


def texts(page: Page, selector: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(selector, "all => all.map(each => each.textContent)")
    return found


def fits(page: Page) -> bool:
    """Whether nothing makes the page wider than its window."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


# -- Just the text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scripts", [True, False])
def test_what_attacks_is_shown_as_text_and_nothing_is_asked_for(
    browser: Browser, reports: dict[str, str], scripts: bool
) -> None:
    address = reports["hostile"]
    with visiting(browser, address, java_script_enabled=scripts) as visit:
        page, asked, dialogs = visit.page, [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("dialog", lambda dialog: dialogs.append(dialog.message))
        page.reload()
        if scripts:
            ready(page)
        page.wait_for_timeout(200)
        assert (asked, dialogs) == ([address], [])
        assert texts(page, ".mv-text" if scripts else ".report-text") == [HOSTILE] * 2
        assert page.locator("img, iframe, object, embed, link").count() == 0
        assert page.locator("script").count() == 2
        assert texts(page, "h1") == [TITLE]
        assert page.title() == "</title><script>alert(3)</script>\ufffd.txt: keyphrases"


@pytest.mark.parametrize("name", ["hostile", "real"])
def test_the_scripts_cut_and_colour_the_text_as_python_does(
    browser: Browser, reports: dict[str, str], explanations: dict[str, Explanation], name: str
) -> None:
    """Also behind characters that JavaScript counts twice."""
    found = explanations[name]
    with visiting(browser, reports[name]) as visit:
        ready(visit.page)
        for index, method in enumerate(found.methods):
            shown = (
                visit.page.locator(".mv-text")
                .nth(index)
                .evaluate(
                    """text => [...text.querySelectorAll('.mv-occurrence')].map(
                each => [each.textContent, Number(/heat-(\\d)/.exec(each.className)[1])])"""
                )
            )
            cut = [piece for piece in coloured_pieces(found, method.result) if piece.mark]
            expected = [[p.span.of(found.text), p.mark.step] for p in cut if p.mark]
            assert shown == expected


def test_writing_that_turns_around_stays_in_its_box(browser: Browser, reports: dict[str, str]) -> None:
    kept = ("isolate", "isolate-override", "plaintext")
    for scripts, selector in ((True, ".mv-text"), (False, ".report-text")):
        with visiting(browser, reports["hostile"], java_script_enabled=scripts) as visit:
            for box in (selector, "h1 bdi"):
                style = visit.page.locator(box).first.evaluate("each => getComputedStyle(each).unicodeBidi")
                assert style in kept


# -- Alive ------------------------------------------------------------------------------------------------------------


def test_pointing_at_an_occurrence_shows_its_parts_and_marks_its_other_places(
    browser: Browser, reports: dict[str, str], explanations: dict[str, Explanation]
) -> None:
    phrase = next(k for k in explanations["real"].methods[1].result.keyphrases if len(k.occurrences) > 2)
    with visiting(browser, reports["real"]) as visit:
        page = visit.page
        ready(page)
        text = page.locator(".mv-text").nth(1)
        text.locator(".mv-occurrence", has_text=phrase.text).first.hover()
        card = page.locator(".mv-card")
        card.wait_for(state="visible")
        said = squeeze(card.inner_text())
        assert phrase.text in said
        assert "by PromptRank" in said or "PromptRank" in said
        for symbol in ("p", "G", "L", "AS"):
            assert f" {symbol} " in f" {said} "
        assert text.locator(".mv-occurrence.is-highlighted").count() >= len(phrase.occurrences)
        page.mouse.move(0, 0)
        card.wait_for(state="hidden")
        assert page.locator(".is-highlighted").count() == 0


def test_the_keyboard_reaches_every_occurrence_and_escape_leaves(browser: Browser, reports: dict[str, str]) -> None:
    with visiting(browser, reports["real"]) as visit:
        page = visit.page
        ready(page)
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.classList.contains('mv-occurrence')"):
                break
        card = page.locator(".mv-card")
        card.wait_for(state="visible")
        first = page.evaluate("document.activeElement.textContent")
        page.keyboard.press("ArrowRight")
        assert page.evaluate("document.activeElement.textContent") != first
        assert page.evaluate("document.activeElement.getAttribute('aria-label')")
        assert card.is_visible()
        page.keyboard.press("Escape")
        card.wait_for(state="hidden")


def test_another_lambda_changes_the_ranking_as_a_new_run_would(
    browser: Browser, reports: dict[str, str], explanations: dict[str, Explanation]
) -> None:
    by_likelihood = sorted(
        explanations["real"].methods[1].result.keyphrases,
        key=lambda k: max(o.parts["p"] for o in k.occurrences),  # m is 1: there is one section
        reverse=True,
    )
    with visiting(browser, reports["real"]) as visit:
        page = visit.page
        ready(page)
        before = texts(page, ".mv-ranking:last-child .mv-phrase")
        page.get_by_label("λ, weight of attention").fill("0")
        after = texts(page, ".mv-ranking:last-child .mv-phrase")
        assert after != before
        assert after == [k.text for k in by_likelihood[: len(after)]]


# -- For every eye and on paper ---------------------------------------------------------------------------------------


def test_without_scripts_lists_and_parts_are_there(
    browser: Browser, reports: dict[str, str], explanations: dict[str, Explanation]
) -> None:
    result = explanations["real"].methods[1].result
    with visiting(browser, reports["real"], java_script_enabled=False) as visit:
        page = visit.page
        assert page.locator("table").count() == 2
        listed = texts(page, "section:nth-of-type(2) tbody td:nth-child(2)")
        assert listed == [k.text for k in result.keyphrases[:15]]
        title = page.locator("section:nth-of-type(2) mark").first.get_attribute("title") or ""
        assert all(f" {part} " in title for part in ("score", "p", "G", "L", "AS"))
        gold = page.locator("section:nth-of-type(2) .report-text em.gold strong").first
        assert gold.inner_text() == "radar map"
        assert gold.evaluate("e => [getComputedStyle(e).fontStyle, Number(getComputedStyle(e).fontWeight) >= 600]") == [
            "italic",
            True,
        ]


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("width", [320, 390, 800, 1280, 1920])
def test_no_window_is_too_narrow(browser: Browser, reports: dict[str, str], width: int, scripts: bool) -> None:
    for name in ("hostile", "real"):
        with visiting(browser, reports[name], width=width, java_script_enabled=scripts) as visit:
            if scripts:
                ready(visit.page)
            assert fits(visit.page)


CONTRAST = """
all => {
  const channel = (value) => { const c = value / 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\\d.]+/g).map(Number);
    return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  };
  const ground = (each) => {
    for (let at = each; at; at = at.parentElement) {
      const {backgroundColor, backgroundImage} = getComputedStyle(at);
      const found = /rgba?\\([^)]*\\)/.exec(backgroundImage)?.[0] ?? backgroundColor;
      if (!/, 0\\)$|transparent/.test(found)) return found;
    }
    return 'rgb(255, 255, 255)';
  };
  return all.map((each) => {
    const [a, b] = [light(getComputedStyle(each).color), light(ground(each))].sort();
    return [each.textContent.slice(0, 40), (b + 0.05) / (a + 0.05)];
  });
}
"""


@pytest.mark.parametrize("scripts", [True, False])
@pytest.mark.parametrize("dark", [False, True])
def test_all_letters_stand_out_from_their_ground(
    browser: Browser, reports: dict[str, str], dark: bool, scripts: bool
) -> None:
    seen = "h1, header p, mark, td, th, caption, .report-text, .report-legend"
    alive = "h1, h3, header p, .mv-occurrence, .mv-number, .mv-phrase, .mv-moved, .mv-text, .mv-key, .mv-head p"
    with visiting(browser, reports["real"], dark=dark, java_script_enabled=scripts) as visit:
        page = visit.page
        if scripts:
            ready(page)
        found = page.eval_on_selector_all(alive if scripts else seen, CONTRAST)
        assert len(found) > 50
        assert [pair for pair in found if pair[1] < 4.5] == []  # WCAG 2.2, AA


@pytest.mark.parametrize("dark", [False, True])
def test_paper_is_white_and_holds_text_and_lists_without_controls(
    browser: Browser, reports: dict[str, str], dark: bool
) -> None:
    with visiting(browser, reports["real"], dark=dark) as visit:
        page = visit.page
        ready(page)
        page.emulate_media(media="print", color_scheme="dark" if dark else "light")
        for hidden in (".mv-card", ".mv-controls", ".mv-theme"):
            assert not page.locator(hidden).first.is_visible()
        for index in range(2):
            assert page.locator(".mv-text").nth(index).is_visible()
            assert page.locator(".mv-ranking").nth(index).is_visible()
        assert page.locator("h1").evaluate("e => getComputedStyle(e).color") == "rgb(0, 0, 0)"
        assert [pair for pair in page.eval_on_selector_all(".mv-occurrence", CONTRAST) if pair[1] < 4.5] == []
        assert page.pdf().startswith(b"%PDF")


def test_a_theme_can_be_chosen(browser: Browser, reports: dict[str, str]) -> None:
    ground = "getComputedStyle(document.body).backgroundColor"
    with visiting(browser, reports["real"]) as visit:
        page = visit.page
        ready(page)
        light = page.evaluate(ground)
        button = page.get_by_role("button", name="Theme")
        for _ in range(2):
            button.click()
        assert "dark" in button.inner_text()
        assert page.evaluate(ground) != light


@pytest.mark.slow
def test_a_long_text_is_ready_soon_and_can_be_walked_through(browser: Browser, tmp_path: Path) -> None:
    text = "\n\n".join(f"Part {i}. {small.TEXT}" for i in range(1200))
    assert len(text) > 200_000
    found = Extractor("yake", language=english()).explain(text, ["yake", "textrank"], gold=["radar map"])
    address = _written(tmp_path / "long.html", found)
    with visiting(browser, address) as visit:
        page = visit.page
        page.wait_for_selector("#mudy-view[data-ready]", state="attached", timeout=60_000)
        assert texts(page, ".mv-text") == [text] * 2
        row = page.locator(".mv-ranking .mv-row").first
        row.click()
        assert page.locator(".mv-card").is_visible()
        place: dict[str, Any] = page.evaluate(
            """(() => { const box = document.activeElement.getBoundingClientRect();
            return {top: box.top, bottom: box.bottom, height: innerHeight}; })()"""
        )
        assert 0 <= place["top"] < place["bottom"] <= place["height"]
        assert fits(page)


# -- Tags from history ------------------------------------------------------------------------------------------------


def test_a_tag_that_is_not_in_the_text_is_listed_below_the_ranking_and_marks_nothing(
    browser: Browser, tmp_path: Path
) -> None:
    match = ConceptMatch("seafaring", "seafaring", "history")
    phrases = (
        Keyphrase(1, "seafaring", 0.9, (), (), match),
        Keyphrase(2, "ferry", 0.5, (), (ScoredOccurrence(2, 7, 0.5),)),
    )
    result = Result("A ferry leaves.", phrases, Coverage(3, 3, 1), "mudyplus", None)
    address = _written(tmp_path / "history.html", Explanation.of(result))
    with visiting(browser, address) as visit:
        ready(visit.page)
        assert texts(visit.page, ".mv-suggested") == ["From history, not in this text: 1. seafaring 0.9"]
        assert texts(visit.page, ".mv-row .mv-phrase") == ["ferry"]
        assert texts(visit.page, ".mv-row .mv-number") == ["2"]
