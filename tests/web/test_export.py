"""Settings in the address, results as JSON and CSV, and files that become the text."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from fpdf import FPDF

from mudy.reading import formats as readers
from tests.browser import Visit, visiting
from tests.page import SHORT, TEXT, answer, asked, find, notice, ready, saved, slide
from tests.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real


def test_settings_are_in_the_address_and_the_text_is_not(browser: Browser, served: Served) -> None:
    with visiting(browser, f"{served.address}/#method=mudy&compare=promptrank&top=7&lambda=0.6&kappa=0.4") as visit:
        page = visit.page
        for _ in range(2):
            ready(page)
            assert page.input_value("#method") == "mudy"
            assert page.input_value("#compare") == "promptrank"
            assert [page.input_value(f"#{name}") for name in ("top", "lambda", "kappa")] == ["7", "0.6", "0.4"]
            find(page, SHORT)
            assert "eaver" not in page.url
            page.reload()
        ready(page)
        page.select_option("#compare", "")
        slide(page, "top", 12)
        page.reload()
        ready(page)
        assert page.input_value("#compare") == ""
        assert page.input_value("#top") == "12"
        assert "compare" not in page.url


def test_json_and_csv_hold_what_is_shown(visit: Visit, served: Served) -> None:
    page = visit.page
    page.select_option("#method", "yake")
    page.select_option("#compare", "textrank")
    find(page, TEXT)
    slide(page, "top", 4)
    expected = asked(served, TEXT, "textrank", "yake", top_n=4, per_section=True)
    found = json.loads(saved(page, "#json"))
    for method in (*found["methods"], *expected["methods"]):
        del method["seconds"]
    assert found == expected
    table = list(csv.DictReader(saved(page, "#csv").splitlines()))
    keyphrases = [(method["method"], keyphrase) for method in expected["methods"] for keyphrase in method["keyphrases"]]
    assert [(row["method"], row["phrase"], float(row["score"])) for row in table] == [
        (method, keyphrase["text"], keyphrase["score"]) for method, keyphrase in keyphrases
    ]
    assert [(int(row["start"]), int(row["end"])) for row in table] == [
        (keyphrase["occurrences"][0]["start"], keyphrase["occurrences"][0]["end"]) for _, keyphrase in keyphrases
    ]


def test_a_spreadsheet_is_given_no_formula(visit: Visit) -> None:
    page = visit.page
    forms = ["=HYPERLINK(1)", "+1", "-2", "@x", 'say "so", then', "plain"]
    text = " ".join(forms)
    keyphrases = [
        {
            "rank": rank,
            "text": form,
            "score": -0.5,
            "variants": [],
            "occurrences": [{"start": 0, "end": 1, "score": -0.5}],
        }
        for rank, form in enumerate(forms, start=1)
    ]
    answer(
        page, [{"method": "yake", "model": None, "keyphrases": keyphrases, "settings": {}, "free": [], "seconds": 1}]
    )
    find(page, text)
    table = list(csv.DictReader(saved(page, "#csv").splitlines()))
    assert [row["phrase"] for row in table] == ["'=HYPERLINK(1)", "'+1", "'-2", "'@x", 'say "so", then', "plain"]
    assert {row["score"] for row in table} == {"-0.5"}


HTML = (
    b"<title>no</title><h1>Beaver dams</h1><script>1</script><p>slow the\n river<br>here</p><img src=http://x.test/a>"
)


def opens(page: Page, path: Path, expected: str) -> None:
    """A file that is chosen becomes the text."""
    page.set_input_files("#file", path)
    page.wait_for_function("text => document.getElementById('text').value === text", arg=expected)


def test_files_are_read_by_the_page_or_by_the_service(visit: Visit, tmp_path: Path) -> None:
    page, made = visit.page, FPDF()
    made.set_font("Helvetica", size=12)
    made.add_page()
    made.multi_cell(0, 6, "River gauges measure the flood.")
    for name, content, expected in (
        ("a.txt", "Größe 🦫".encode(), "Größe 🦫"),
        ("b.txt", "Größe".encode("cp1252"), "Größe"),
        ("b.md", "# Größe".encode(), "Größe"),
        ("c.html", HTML, readers.read(HTML, "c.html").text),
        ("d.pdf", bytes(made.output()), "River gauges measure the flood."),
    ):
        (tmp_path / name).write_bytes(content)
        opens(page, tmp_path / name, expected)
    (tmp_path / "e.xyz").write_bytes(b"\0\1")
    page.set_input_files("#file", tmp_path / "e.xyz")
    assert "e.xyz cannot be read" in notice(page)


def test_a_web_page_is_read_without_a_reader_too(visit: Visit, served: Served, tmp_path: Path) -> None:
    page = visit.page
    info = httpx.get(f"{served.address}/v1/service").json() | {"readers": [".txt", ".md"]}
    page.route("**/v1/service", lambda route: route.fulfill(json=info))
    page.reload()
    page.wait_for_selector("html[data-ready]")
    (tmp_path / "c.html").write_bytes(HTML)
    opens(page, tmp_path / "c.html", "Beaver dams\n\nslow the river\nhere")
