"""Files that were damaged at random: each gives a text within the limits or an InputError, and never anything else.

`MUDY_FUZZ_EXAMPLES=20000 pytest tests/readers/test_fuzz_readers.py` tries more of them; a failure names its seed.
"""

import io
import os
import random
import zipfile
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial

import pytest
from docx import Document
from fpdf import FPDF

from mudy import InputError
from mudy.reading import formats as readers
from mudy.reading.formats import Limits, Reading
from mudy.reading.formats.pool import ReaderPool
from tests import hostile

EXAMPLES = int(os.environ.get("MUDY_FUZZ_EXAMPLES", "150"))  # of each kind
LIMITS = Limits(seconds=20, memory=500_000_000, characters=20_000)
WORDS = "The river Esk floods its meadows. A river gauge measures it, wall-\ning the Anglo-Saxon town."
ENCODINGS = (None, "utf-8", "utf-16", "utf-32", "latin-1", "cp1252", "shift_jis", "utf-7", "idna")


# -- Whole files ------------------------------------------------------------------------------------------------------


def pdf(compress: bool) -> bytes:
    made = FPDF()
    made.set_compression(compress)
    made.set_font("Helvetica", size=12)
    for number in range(4):
        made.add_page()
        made.multi_cell(0, 6, f"Head\n{WORDS}\n{number}")
    return bytes(made.output())


def docx() -> bytes:
    made, data = Document(), io.BytesIO()
    made.add_heading("Flood report")
    table = made.add_table(rows=2, cols=2)
    table.cell(0, 0).merge(table.cell(0, 1)).text = WORDS
    made.add_paragraph(WORDS)
    made.save(data)
    return data.getvalue()


def html() -> bytes:
    paragraphs = "".join(f"<p>{WORDS} <b>{number}</b> &amp; <a href='/x'>more</a></p>" for number in range(6))
    return f"<!doctype html><html><body><nav>Menu</nav><article>{paragraphs}</article></body></html>".encode()


# -- Damage -----------------------------------------------------------------------------------------------------------


def damaged(data: bytes, chance: random.Random) -> bytes:
    """The file after a few accidents."""
    found = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 4, 16))):
        place, length = chance.randrange(len(found) + 1), chance.choice((1, 2, 8, 64, 512))
        match chance.randrange(6):
            case 0:
                found[place : place + 1] = bytes([chance.randrange(256)])
            case 1:
                del found[place : place + length]
            case 2:
                found[place:place] = chance.randbytes(length)
            case 3:
                found[place:place] = found[place : place + length] * chance.choice((1, 2, 50))
            case 4:
                found[place : place + length] = chance.choice((b"\0", b"\xff", b"9", b"<", b"(")) * length
            case 5:
                del found[place + chance.randrange(len(found) + 1) :]
    return bytes(found)


def damaged_document(data: bytes, chance: random.Random) -> bytes:
    """A Word document whose archive is sound and whose text is not."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            content = old.read(entry)
            new.writestr(entry.filename, damaged(content, chance) if "document.xml" in entry.filename else content)
    return made.getvalue()


SEEDS: dict[str, list[bytes]] = {
    "a.pdf": [pdf(compress=False), pdf(compress=True), hostile.swelling_pdf(2, 1), hostile.one_word_pdf(1)],
    "a.docx": [docx(), hostile.docx(hostile.wide_cell(10**15)), hostile.docx(hostile.paragraph(WORDS))],
    "a.html": [html(), hostile.nested_lists(50)],
    "a.txt": [WORDS.encode(encoding) for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "latin-1")],
}


def files(name: str) -> Iterator[tuple[int, bytes, random.Random]]:
    for seed in range(EXAMPLES):
        chance = random.Random(f"{name} {seed}")
        whole = chance.choice(SEEDS[name])
        change: Callable[[bytes, random.Random], bytes] = damaged
        if name == "a.docx" and chance.random() < 0.7:
            change = damaged_document
        yield seed, change(whole, chance), chance


def gives_text(name: str, seed: int, longest: int, read: Callable[[], Reading]) -> bool:
    """Whether a text comes of a file; whatever is no text and no InputError names the file."""
    try:
        reading = read()
    except InputError:
        return False
    except Exception as error:
        error.add_note(f"{name}, seed {seed}")
        raise
    assert isinstance(reading.text, str), seed
    assert list(reading.pages) == sorted(reading.pages), seed
    assert len(reading.text) <= longest, seed
    return True


# -- What comes of it -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.pdf", "a.docx", "a.html"])
def test_a_damaged_file_gives_text_within_limits_or_an_input_error(name: str) -> None:
    with closing(ReaderPool(1, LIMITS)) as pool:
        texts = sum(
            gives_text(name, seed, LIMITS.characters, partial(readers.read, data, name, pool=pool))
            for seed, data, _ in files(name)
        )
    assert texts  # else the damage is too great to test anything


def test_damaged_plain_text_gives_text_or_an_input_error() -> None:
    texts = 0
    for seed, data, chance in files("a.txt"):
        texts += gives_text("a.txt", seed, len(data), partial(readers.read, data, "a.txt", chance.choice(ENCODINGS)))
    assert texts
