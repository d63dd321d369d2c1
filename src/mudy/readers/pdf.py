"""PDF documents: the text of every page, in reading order as PDFium finds it, with words mended that a line end cut."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import accumulate
from threading import Lock

import pypdfium2

from mudy.errors import InputError
from mudy.readers.base import Reading

ONE_AT_A_TIME = Lock()  # PDFium is not safe to use from several threads
BETWEEN_PAGES = "\n\n"
# A hyphen at a line's end: written out before the break, or as the mark that PDFium leaves in the place of both.
CUT = re.compile(r"(\w+)(?:[-\u2010\u00ad]\n|[\ufffe\x02])(?=[a-zà-ÿ])(\w+)")
WORD = re.compile(r"\w+(?:-\w+)*")
UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def read(data: bytes) -> Reading:
    """The text of all pages, and where each begins."""
    pages = list(_pages(data))
    if not any(page.strip() for page in pages):
        raise InputError(
            f"holds no text on {len(pages):,} pages: perhaps scans, which an OCR program can make readable"
        )
    known = {word.lower() for page in pages for word in WORD.findall(page)}
    whole = [UNWANTED.sub(" ", mended(page, known)).rstrip() + BETWEEN_PAGES for page in pages]
    starts = accumulate(map(len, whole[:-1]), initial=0)
    return Reading("".join(whole).rstrip(), tuple(starts))


def _pages(data: bytes) -> Iterator[str]:
    with ONE_AT_A_TIME:
        try:
            document = pypdfium2.PdfDocument(data)
        except pypdfium2.PdfiumError as error:
            raise InputError(_reason(error)) from None
        try:
            for number in range(len(document)):
                yield _text(document, number)
        finally:
            document.close()


def _text(document: pypdfium2.PdfDocument, number: int) -> str:
    """The text of one page; none of one that is broken."""
    try:
        return str(document[number].get_textpage().get_text_range()).replace("\r\n", "\n").replace("\r", "\n")
    except pypdfium2.PdfiumError:
        return ""


def _reason(error: Exception) -> str:
    if "password" in str(error).lower():
        return "is an encrypted PDF; take its password off first"
    return "is a broken PDF, or none"


def mended(page: str, known: set[str]) -> str:
    """A page with its cut words whole: with their hyphen if the document writes them so elsewhere, else without."""

    def whole(match: re.Match[str]) -> str:
        left, right = match[1], match[2]
        joined, hyphened = left + right, f"{left}-{right}"
        return hyphened if hyphened.lower() in known and joined.lower() not in known else joined

    return CUT.sub(whole, page)
