"""Rules of axe-core, contrast, narrow windows and paper."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.browser import Visit, visiting
from tests.page import SHORT, TEXT, find, in_sight, notice, put, ready
from tests.served import Served
from tools.lint_web import ROOT, install

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.real


CONTRASTS = """() => {
  const paint = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const light = colour => { paint.fillStyle = colour; paint.fillRect(0, 0, 1, 1);
    const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((m, n) => n - m);
    return (x + 0.05) / (y + 0.05); };
  const found = {};
  const resolved = (element, value) => { element.style.backgroundColor = value;
    return getComputedStyle(element).backgroundColor; };
  const text = document.querySelector('.mv-text');
  for (const name of ['quiet', 'mark', 'ink']) {
    const probe = document.createElement('i'); text.append(probe);
    found[name] = contrast(resolved(probe, `var(--${name})`), resolved(probe, 'var(--paper)')); probe.remove();
  }
  for (let step = 0; step < 8; step++) {
    const probe = document.createElement('span'); probe.className = `mv-occurrence heat-${step}`;
    document.querySelector('.mv-text').append(probe);
    const ground = resolved(probe, 'var(--heat)'); found[step] = contrast(getComputedStyle(probe).color, ground);
    found[`order ${step}`] = light(ground); probe.remove();
  }
  return found; }"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_words_stand_out_from_every_colour_of_the_scale(browser: Browser, served: Served, dark: bool) -> None:
    with visiting(browser, f"{served.address}/#method=yake", dark=dark) as visit:
        page = visit.page
        ready(page)
        find(page, SHORT)
        found = page.evaluate(CONTRASTS)
        ladder = [found.pop(f"order {step}") for step in range(8)]
        assert min(found.values()) >= 4.5, found
        assert ladder == sorted(ladder, reverse=not dark)
        page.click("#theme")
        page.click("#theme" if not dark else "h1")
        assert page.evaluate("document.documentElement.dataset.theme") == ("light" if dark else "dark")
        other = page.evaluate(CONTRASTS)
        assert min(value for name, value in other.items() if not name.startswith("order")) >= 4.5
        assert other != found


@pytest.mark.parametrize("width", [320, 390, 800])
def test_nothing_needs_sideways_scrolling(browser: Browser, served: Served, width: int) -> None:
    def fits() -> bool:
        return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))

    with visiting(browser, f"{served.address}/#compare=promptrank", width=width, height=844) as visit:
        page = visit.page
        ready(page)
        assert fits()
        find(page, SHORT + " " + "W" * 300)
        assert fits()
        page.locator(".mv-row:visible").first.click()
        page.wait_for_selector(".mv-card:visible")
        assert fits()
        assert in_sight(page.locator(".mv-occurrence.is-active").first, page.locator(".mv-card"))
        if width < 720:
            page.keyboard.press("Escape")
            assert page.locator(".mv-panel:visible h3").text_content() == "MUDY"
            page.get_by_role("button", name="PromptRank", exact=True).click()
            assert page.locator(".mv-panel:visible h3").text_content() == "PromptRank"
        page.click("#edit")
        put(page, "word " * 70_000)
        page.click("#run")
        assert notice(page)
        assert fits()


def test_on_paper_both_methods_are_there_and_no_controls(visit: Visit) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    find(page, SHORT)
    page.emulate_media(media="print")
    assert [page.locator(".mv-panel").nth(index).is_visible() for index in (0, 1)] == [True, True]
    assert [page.locator(name).is_visible() for name in ("#bar", ".actions", "#theme")] == [False, False, False]


VIOLATIONS = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map(
  ({id, help, nodes}) => [id, help, ...nodes.map(({target, failureSummary}) => [target.join(' '), failureSummary])])"""


@pytest.fixture(scope="module")
def axe() -> str:
    install()
    return (ROOT / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_wrong(browser: Browser, served: Served, axe: str, width: int, dark: bool) -> None:
    """In every state of the page, with all rules of axe-core, best practices included."""
    with visiting(browser, f"{served.address}/#method=mudyplus", width=width, dark=dark) as visit:
        page = visit.page
        page.emulate_media(reduced_motion="reduce")  # nothing is half transparent
        ready(page)
        page.evaluate(axe)
        states: dict[str, list[object]] = {}

        def check(state: str) -> None:
            states[state] = page.evaluate(VIOLATIONS)

        check("editor")
        page.click("#run")
        notice(page)
        check("error")
        find(page, f"{TEXT}\n\n## Repairs\n\n{TEXT}")
        check("result")
        page.click("#teach")
        page.fill("#phrase", "zeppelin")
        page.press("#phrase", "Enter")
        page.click("#keep")
        page.click(".mv-sections summary")
        check("teaching")
        page.locator(".mv-row:visible").first.click()
        page.wait_for_selector(".mv-card:visible")
        check("card")
        page.keyboard.press("Escape")
        page.select_option("#compare", "yake")
        page.wait_for_selector(".mv-panel >> nth=1", state="attached")
        page.wait_for_selector("#progress", state="hidden")
        check("comparison")
        page.goto(f"{served.address}/docs")
        page.wait_for_selector("#api h2")
        page.evaluate(axe)
        check("docs")
        wrong = {state: violations for state, violations in states.items() if violations}
        assert wrong == {}, json.dumps(wrong, indent=1)
