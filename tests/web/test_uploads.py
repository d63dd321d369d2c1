"""Files on the page: read with their structure, so that the list is that of `mudy extract FILE`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from docx import Document
from fpdf import FPDF

from mudy.reading import formats as readers
from tests.browser import Visit, visiting
from tests.command_line import run
from tests.page import EXAMPLE, finished, notice, ready, rows
from tests.served import Served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.real

TITLE, *PARAGRAPHS = [paragraph for paragraph in EXAMPLE.split("\n\n") if paragraph.strip()]
HALF = len(PARAGRAPHS) // 2
CODE = "sudo floodctl --gauge harbour restart && gaugelog harbour monitor"
PARTS = [("Floods", PARAGRAPHS[:HALF]), ("Repairs", PARAGRAPHS[HALF:])]


def markdown() -> bytes:
    badge = "[![badge](https://ci.test/badge.svg)](https://ci.test)"
    sections = [part for heading, parts in PARTS for part in (f"## {heading}", *parts)]
    return "\n\n".join([f"# {TITLE}", badge, *sections, f"```\n{CODE}\n```\n"]).encode()


def html() -> bytes:
    sections = "".join(f"<h2>{heading}</h2>{''.join(f'<p>{part}</p>' for part in parts)}" for heading, parts in PARTS)
    return f"<html><body><article><h1>{TITLE}</h1>{sections}<pre>{CODE}</pre></article></body></html>".encode()


def mail() -> bytes:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = TITLE, "Ada Gray <ada@river.test>", "council@river.test"
    message.set_content("\n\n".join(PARAGRAPHS) + "\n\n> Harbour monitors were late.\n-- \nAda Gray, Gauge Office\n")
    return message.as_bytes()


def word() -> bytes:
    document, stream = Document(), BytesIO()
    document.add_heading(TITLE, 0)
    for heading, parts in PARTS:
        document.add_heading(heading, 1)
        for part in parts:
            document.add_paragraph(part)
    document.save(stream)
    return stream.getvalue()


def pdf() -> bytes:
    made = FPDF()
    made.add_page()
    for size, words in [(22, TITLE), *((s, w) for h, ps in PARTS for s, w in [(16, h), *((11, p) for p in ps)])]:
        made.set_font("Helvetica", size=size)
        made.multi_cell(0, size / 2, words, new_x="LMARGIN", new_y="NEXT")
        made.ln(4)
    return bytes(made.output())


FILES: dict[str, Callable[[], bytes]] = {
    "notes.md": markdown,
    "windows.md": lambda: markdown().replace(b"\n", b"\r\n"),
    "page.html": html,
    "letter.eml": mail,
    "report.docx": word,
    "report.pdf": pdf,
}


@pytest.fixture
def visit(browser: Browser, served: Served) -> Iterator[Visit]:
    with visiting(browser, f"{served.address}/#method=mudyplus") as found:
        ready(found.page)
        yield found


def upload(page: Page, path: Path) -> None:
    page.set_input_files("#file", path)
    page.wait_for_function("() => document.getElementById('text').value !== ''")


@pytest.mark.parametrize("name", FILES)
def test_the_list_of_a_file_is_that_of_the_command(visit: Visit, tmp_path: Path, name: str) -> None:
    page, path = visit.page, tmp_path / name
    path.write_bytes(FILES[name]())
    reading = readers.read(path.read_bytes(), name)
    assert reading.blocks
    done = run("extract", path, "--model", "smollm2-135m", "--threads", "1", "--format", "json", "--quiet")
    assert done.exit_code == 0, done.output
    expected = json.loads(done.stdout)["keyphrases"]
    upload(page, path)
    assert page.input_value("#text") == reading.text
    with page.expect_request("**/v1/explain") as request:
        page.click("#run")
    finished(page)
    sent = request.value.post_data_json or {}
    assert len(sent["blocks"]) == len(reading.blocks)
    assert sent["pages"] == list(reading.pages)
    scores = [float(score.replace("−", "-")) for score in page.locator(".mv-score").all_text_contents()]
    assert rows(page) == [keyphrase["text"] for keyphrase in expected]
    assert scores == pytest.approx([keyphrase["score"] for keyphrase in expected], rel=1e-3)


def test_a_text_that_was_changed_has_lost_its_structure(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    (tmp_path / "notes.md").write_bytes(markdown())
    upload(page, tmp_path / "notes.md")
    page.locator("#text").press_sequentially("!")
    with page.expect_request("**/v1/explain") as request:
        page.click("#run")
    finished(page)
    assert "blocks" not in (request.value.post_data_json or {})


def test_every_section_has_its_list_which_leads_to_the_text(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    (tmp_path / "report.pdf").write_bytes(pdf())
    upload(page, tmp_path / "report.pdf")
    page.click("#run")
    finished(page)
    page.click(".mv-sections summary")
    assert page.locator(".mv-sections h4").all_text_contents() == ["Floods", "Repairs"]
    link = page.locator(".mv-sections ul").nth(1).locator("button").first
    phrase = link.text_content() or ""
    link.click()
    assert (page.locator(".mv-card-phrase").text_content() or "").lower() == phrase.lower()
    assert ", page 1" in (page.locator(".mv-places").text_content() or "")


def test_reading_a_file_shows_its_progress_and_can_be_cancelled(visit: Visit, tmp_path: Path) -> None:
    page = visit.page
    (tmp_path / "report.pdf").write_bytes(pdf())
    page.route("**/v1/read?*", lambda _: None)  # no answer comes
    page.set_input_files("#file", tmp_path / "report.pdf")
    page.wait_for_selector("#progress:not([hidden])")
    assert (page.text_content("#progress-text") or "").startswith("Reading report.pdf")
    assert page.text_content("#status") == "Reading report.pdf."
    page.click("#cancel")
    page.wait_for_selector("#progress", state="hidden")
    assert page.text_content("#status") == "Cancelled."
    assert page.is_enabled("#run")
    page.unroute("**/v1/read?*")
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and no more")
    page.set_input_files("#file", tmp_path / "broken.pdf")
    assert "is a broken PDF" in notice(page)
    visit.failed_requests()
