"""A service with a history: tags of similar texts, without offsets, and marked as such on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import visiting
from tests.page import find, ready, rows, slide
from tests.served import Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.real

NOTES = Path(__file__).parents[2] / "examples" / "tagged_notes.csv"
TEXT = (
    "We planted leeks in the raised bed and covered the kale against pigeons. The compost was dark and full of worms."
)


@pytest.fixture(scope="module")
def remembering(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    options = ("--method", "mudyplus", "--speed", "quick", "--history", str(NOTES))
    with serving(tmp_path_factory.mktemp("served"), *options) as found:
        yield found


def test_tags_from_history_have_no_offsets_and_the_default_style_is_tags(remembering: Served) -> None:
    with remembering.client() as client:
        assert client.get("/v1/service").json()["default_style"] == "tags"
        (result,) = client.post("/v1/extract", json={"text": TEXT}).json()["results"]
    sources = {keyphrase["text"]: keyphrase.get("source", "text") for keyphrase in result["keyphrases"]}
    assert set(sources.values()) == {"text", "history"}
    for keyphrase in result["keyphrases"]:
        assert bool(keyphrase["occurrences"]) == (sources[keyphrase["text"]] == "text")
        assert (keyphrase["text"].lower() in TEXT.lower()) == bool(keyphrase["occurrences"])


def test_the_page_marks_tags_from_history(browser: Browser, remembering: Served) -> None:
    with remembering.client() as client:
        (result,) = client.post("/v1/extract", json={"text": TEXT, "top_n": 6}).json()["results"]
    by_source: dict[str, list[str]] = {"text": [], "history": []}
    for keyphrase in result["keyphrases"]:
        by_source[keyphrase.get("source", "text")].append(keyphrase["text"])
    with visiting(browser, remembering.address) as visit:
        page = visit.page
        ready(page)
        assert page.input_value("#style") == "tags"
        find(page, TEXT)
        slide(page, "top", 6)
        assert rows(page) == by_source["text"]
        told = page.locator(".mv-suggested").text_content() or ""
        assert told.startswith("From history, not in this text: ")
        assert all(f". {tag} " in told for tag in by_source["history"])
        assert told.count(". ") == len(by_source["history"])
