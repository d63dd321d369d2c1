"""Facts about the documentation site: it builds without a warning, is whole, and asks nothing of other hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

import mudy
from tests.browser import launched, visiting
from tools.llms import DOCS, ROOT, llms, sections

pytest.importorskip("mkdocs")

FETCHING = {"img": "src", "script": "src", "link": "href", "iframe": "src", "source": "src", "video": "src"}


class Fetched(HTMLParser):
    """The addresses that a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        fetched = given.get(FETCHING.get(tag, ""))
        if fetched and given.get("rel") not in ("canonical", "next", "prev"):
            self.addresses.append(fetched)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_of_the_nav_is_built_and_every_page_is_in_the_nav(site: Path) -> None:
    named = {page for _, pages in sections() for _, page in pages}
    assert named == {path.name for path in DOCS.glob("*.md")}
    assert [page for page in named if not (site / page).with_suffix(".html").exists()] == []


def test_no_page_fetches_anything_from_another_host(site: Path) -> None:
    fetched = Fetched()
    for page in site.glob("*.html"):
        fetched.feed(page.read_text(encoding="utf-8"))
    assert len(fetched.addresses) > 100
    assert [address for address in fetched.addresses if re.match(r"(https?:)?//", address)] == []
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//|@import", sheet.read_text(encoding="utf-8")), sheet.name


def test_the_search_index_holds_every_page(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].split("#")[0] for entry in index["docs"]}
    assert {path.name for path in site.glob("*.html")} - {"404.html", "floodplain.html"} <= found


@pytest.mark.parametrize("name", [*mudy.__all__, "extract_many", "explain", "run"])
def test_the_api_page_names_what_a_program_uses(name: str, site: Path) -> None:
    assert re.search(rf'id="mudy\.[\w.]*\b{name}"', (site / "api.html").read_text(encoding="utf-8"))


def test_llms_txt_is_written_from_the_nav_and_served(site: Path) -> None:
    assert (DOCS / "llms.txt").read_text(encoding="utf-8") == llms(), "run python -m tools.llms"
    served = (site / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", served)
    assert len(links) >= 20
    assert [link for link in links if not (site / link).exists()] == []


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where a plain file server offers the site."""
    handler = partial(QuietHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


class QuietHandler(SimpleHTTPRequestHandler):
    """A file server that writes no log."""

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        pass


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_fits_the_window_without_an_error_or_another_host(site: Path, address: str, width: int) -> None:
    with launched() as browser, visiting(browser, f"{address}/index.html", width=width) as visit:
        for page in sorted(site.glob("*.html")):
            visit.page.goto(f"{address}/{page.name}")
            wider = visit.page.evaluate("document.documentElement.scrollWidth > innerWidth")
            broken = visit.page.evaluate("[...document.images].filter(image => !image.naturalWidth).length")
            assert (page.name, wider, broken) == (page.name, False, 0)


@pytest.mark.slow
def test_the_search_finds_a_page(address: str) -> None:
    with launched() as browser, visiting(browser, f"{address}/index.html") as visit:
        # Keys, not `fill`: the search listens to keyup. What is typed before its index is loaded is searched for then,
        # so every beginning of the word may be: "air-" would be an invalid query of lunr's.
        visit.page.locator("input[name=query]").press_sequentially("gapped")
        visit.page.locator(".md-search-result__link[href*='offline.html']").first.wait_for(state="attached")
