"""What the page says of the service, and that nothing on it is cut off or framed without need."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mudy.methods import descriptions_of, method_class
from tests.browser import visiting
from tests.served import Served, save_small_model, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

TEXT = (Path(__file__).parents[2] / "examples" / "floodplain.txt").read_text()
CUT = """[...document.querySelectorAll('.mv-phrase')]
  .filter(e => e.scrollHeight > e.clientHeight || e.scrollWidth > e.clientWidth).map(e => e.textContent)"""


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, "--model", save_small_model(folder / "model"), "--speed", "fast") as found:
        yield found


def find(page: Page) -> None:
    """Find the example's phrases as someone does who types: with the keyboard."""
    page.wait_for_selector("html[data-ready]")
    page.fill("#text", TEXT)
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#view[data-ready]", state="attached", timeout=60_000)


def test_the_page_says_at_which_speed_the_service_runs(browser: Browser, served: Served) -> None:
    with visiting(browser, served.address) as visit:
        visit.page.wait_for_selector("html[data-ready]")
        assert "speed: fast" in str(visit.page.text_content("#service"))
        assert "8-bit" in str(visit.page.get_attribute("#service", "title"))


def test_a_slider_explains_its_setting_and_the_choice_its_method(browser: Browser, served: Served) -> None:
    with visiting(browser, served.address) as visit:
        page = visit.page
        page.wait_for_selector("html[data-ready]")
        for slider, setting in (("lambda", "lambda_"), ("kappa", "kappa")):
            title = page.locator("label", has=page.locator(f"#{slider}")).get_attribute("title")
            assert str(title).startswith(descriptions_of("mudy")[setting])
        assert page.get_attribute("#method", "title") == method_class("mudy").summary()


@pytest.mark.parametrize("width", [800, 1280])
def test_after_a_run_from_the_keyboard_no_box_stands_around_the_heading(
    browser: Browser, served: Served, width: int
) -> None:
    with visiting(browser, f"{served.address}/#method=yake", width=width) as visit:
        find(visit.page)
        title = visit.page.locator("#result-title")
        assert visit.page.evaluate("document.activeElement.id") == "result-title"  # where a screen reader goes on
        box = title.bounding_box()
        assert box is not None
        assert max(box["width"], box["height"]) <= 1


@pytest.mark.parametrize("width", [800, 1100, 1280, 1600])
@pytest.mark.parametrize("compare", ["", "&compare=textrank"], ids=["one", "two"])
def test_no_phrase_of_a_ranking_is_cut_off(browser: Browser, served: Served, width: int, compare: str) -> None:
    with visiting(browser, f"{served.address}/#method=yake&top=30{compare}", width=width) as visit:
        find(visit.page)
        assert visit.page.locator(".mv-phrase").count() >= 30
        assert visit.page.evaluate(CUT) == []
