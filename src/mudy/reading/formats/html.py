"""Web pages: the text of the article, without menus and other furniture; all of the text where there is no article."""

from __future__ import annotations

import trafilatura

from mudy.errors import InputError
from mudy.reading.formats.reading import Limits, Reading


def read_html(data: bytes, limits: Limits) -> Reading:  # noqa: ARG001 (those of the process are enough)
    """The main text of a page."""
    text = trafilatura.extract(data, output_format="txt", include_comments=False, favor_recall=True)
    text = (text or trafilatura.html2txt(data) or "").strip()
    if not text:
        raise InputError("is a web page that holds no text")
    return Reading(text)
