"""The description of the API, in a real browser under the service's own policy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.browser import visiting
from tests.served import Served, save_small_model, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

KEY = "correct-horse-battery-staple"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    model = save_small_model(tmp_path_factory.mktemp("model"))
    folder = tmp_path_factory.mktemp("served")
    with serving(folder, "--model", model, environment={"MUDY_API_KEY": KEY}) as found:
        yield found


@pytest.mark.slow
def test_the_api_is_described_offline_once_the_key_is_given(browser: Browser, guarded: Served) -> None:
    with visiting(browser, f"{guarded.address}/docs") as visit:
        page = visit.page
        page.wait_for_selector("#key-needed", state="visible")
        assert visit.failed_requests()  # 401
        page.fill("#key", KEY)
        page.click("#key-given")
        page.wait_for_selector("html[data-ready]")
        titles = page.locator("#api h3").all_inner_texts()
        assert {"POST /v1/extract", "GET /v1/methods", "ExtractRequest", "ProblemDetails"} <= set(titles)
        fields = page.locator("#ExtractRequest code").all_inner_texts()
        assert {"text", "texts", "top_n", "candidates"} <= set(fields)
        command = page.locator("section", has_text="POST /v1/extract").first.locator("pre").inner_text()
        assert command.startswith(f"curl {guarded.address}/v1/extract")
        assert "-H 'Content-Type: application/json'" in command
        page.locator("#api a", has_text="ExtractRequest").first.click()
        assert page.url.endswith("#ExtractRequest")
