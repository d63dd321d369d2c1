"""Files of each kind, made by programs that make such files, and what is read from them."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from fpdf import FPDF
from PIL import Image

from mudy import Extractor, InputError, MissingExtra
from mudy.cli.main import cli
from mudy.reading import formats as readers
from mudy.reading.formats.pdf import mended
from tests.taggers import english

FIRST = "The river Esk floods its meadows. A river gauge measures it."
SECOND = "Home insurance is cheaper now. The river gauge helps."


def pdf(*pages: str, password: str | None = None, picture: bool = False) -> bytes:
    made = FPDF()
    if password is not None:
        made.set_encryption(owner_password="owner", user_password=password)
    made.set_font("Helvetica", size=12)
    for page in pages:
        made.add_page()
        made.multi_cell(0, 6, page)
        if picture:
            made.image(Image.new("L", (40, 40), 128))
    return bytes(made.output())


def docx(fill: Callable[..., None]) -> bytes:
    made = Document()
    fill(made)
    data = io.BytesIO()
    made.save(data)
    return data.getvalue()


def test_a_pdf_is_read_page_by_page_and_its_pages_begin_where_their_text_does() -> None:
    reading = readers.read(pdf(FIRST, "", SECOND), "a.pdf")
    assert [reading.text[start : start + 9] for start in reading.pages] == ["The river", "\n\nHome in", "Home insu"]
    assert reading.text.split() == f"{FIRST} {SECOND}".split()


def test_what_a_file_is_its_bytes_say_and_not_its_name() -> None:
    assert readers.read(pdf(FIRST), "notes.txt").text == FIRST
    assert readers.read(b"<html><body><p>Thin river ice.</p></body></html>").text == "Thin river ice."
    assert readers.read(b"<html> is a tag", "about-tags.txt").text == "<html> is a tag"


def test_words_cut_at_a_line_end_are_mended_as_the_document_writes_them_elsewhere() -> None:
    known = {"management", "well-known", "state"}
    assert mended("manage-\nment of a well-\nknown river", known) == "management of a well-known river"
    assert mended("re\ufffeengineering, inter\u2010\nnational", known) == "reengineering, international"
    assert mended("the 1990-\n2000 decade, Anglo-\nSaxon", known) == "the 1990-\n2000 decade, Anglo-\nSaxon"


def test_occurrences_of_a_pdf_carry_the_page() -> None:
    reading = readers.read(pdf(FIRST, SECOND))
    result = Extractor("yake", language=english()).extract(
        reading.text, candidates=["river", "home insurance"], pages=reading.pages
    )
    pages = {k.text.lower(): sorted(o.page or 0 for o in k.occurrences) for k in result.keyphrases}
    assert pages["river"] == [1, 1, 2]
    assert pages["home insurance"] == [2]
    assert {o["page"] for k in result.to_dict()["keyphrases"] for o in k["occurrences"]} == {1, 2}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pdf(FIRST, password="secret"), "is an encrypted PDF; take its password off first"),
        (pdf("", picture=True), "holds no text on 1 pages: perhaps scans"),
        (pdf(FIRST)[:300], "is a broken PDF"),
        (b"%PDF-1.7\n" + bytes(range(256)), "is a broken PDF"),
        (b"<html><body><script>1</script></body></html>", "is a web page that holds no text"),
        (docx(lambda made: made.add_paragraph(" ")), "is a Word document that holds no text"),
    ],
)
def test_a_file_without_text_says_why(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        readers.read(data)


def test_a_pdf_that_only_forbids_changes_is_read() -> None:
    assert readers.read(pdf(FIRST, password="")).text == FIRST


def test_a_word_document_gives_paragraphs_and_tables_in_their_order() -> None:
    def fill(made: Any) -> None:
        made.add_heading("Flood report")
        table = made.add_table(rows=1, cols=2)
        table.cell(0, 0).text, table.cell(0, 1).text = "River gauge", "Water level"
        made.add_paragraph(SECOND)

    assert readers.read(docx(fill), "a.docx").text == f"Flood report\n\nRiver gauge\n\nWater level\n\n{SECOND}"


def test_a_broken_word_document_is_refused() -> None:
    broken = io.BytesIO()
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("word/document.xml", "<w:document>")
    with pytest.raises(InputError, match="is a broken Word document"):
        readers.read(broken.getvalue())


def test_a_web_page_gives_its_article_without_the_menu() -> None:
    story = "".join(f"<p>{FIRST} {SECOND} Paragraph {i} tells more of the river and its people.</p>" for i in range(8))
    menu = "<nav><a href='/'>Home page</a> <a href='/x'>Log in</a></nav>"
    page = f"<html><body>{menu}<article>{story}</article></body></html>"
    text = readers.read(page.encode(), "a.html").text
    assert text.startswith(FIRST)
    assert "Log in" not in text


def test_a_reader_that_is_not_installed_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers, "find_spec", lambda _: None)
    assert {".txt", ".md", ".docx"} <= set(readers.endings())
    assert not {".pdf", ".html"} & set(readers.endings())
    with pytest.raises(MissingExtra, match=r"is PDF, which needs pypdfium2.*pip install .*pypdfium2"):
        readers.read(pdf(FIRST))


def test_a_bad_file_costs_no_other_its_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.pdf").write_bytes(pdf(FIRST))
    Path("b.pdf").write_bytes(pdf(FIRST, password="secret"))
    Path("c.docx").write_bytes(docx(lambda made: made.add_paragraph(SECOND)))
    with pytest.raises(SystemExit) as stop:
        cli.main(["extract", "a.pdf", "b.pdf", "c.docx", "--method", "yake", "--format", "jsonl"])
    shown = capsys.readouterr()
    assert stop.value.code == 1
    assert len(shown.out.splitlines()) == 2
    assert shown.err == "mudy: b.pdf: is an encrypted PDF; take its password off first\n"


def test_the_texts_that_offsets_refer_to_are_kept_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("one", "two"):
        Path(folder).mkdir()
        Path(folder, "a.pdf").write_bytes(pdf(FIRST, SECOND))
    with pytest.raises(SystemExit):
        cli.main(["extract", "*/a.pdf", "--method", "yake", "--format", "jsonl", "--save-text", "kept"])
    assert sorted(path.name for path in Path("kept").iterdir()) == ["a.pdf-2.txt", "a.pdf.txt"]
    text = Path("kept/a.pdf.txt").read_bytes().decode()
    found = json.loads(capsys.readouterr().out.splitlines()[0])
    for keyphrase in found["keyphrases"]:
        best = keyphrase["occurrences"][0]
        assert text[best["start"] : best["end"]] == keyphrase["text"]
