"""Word documents: paragraphs and the cells of tables, in their order, with an empty line between them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from typing import Any

from docx import Document
from docx.table import Table

from mudy.errors import InputError
from mudy.readers.base import Reading

LARGEST = 500_000_000  # bytes that a document may unpack to; more is no document but a trap


def read(data: bytes) -> Reading:
    """The text of a document's body."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        size = sum(entry.file_size for entry in archive.infolist())
    if size > LARGEST:
        raise InputError(f"would unpack to {size:,} bytes; at most {LARGEST:,} are read")
    try:
        paragraphs = [text for text in _paragraphs(Document(io.BytesIO(data))) if text.strip()]
    except Exception as error:  # of whatever kind: a broken document breaks the reader anywhere
        raise InputError("is a broken Word document") from error
    if not paragraphs:
        raise InputError("is a Word document that holds no text")
    return Reading("\n\n".join(paragraphs))


def _paragraphs(holder: Any) -> Iterator[str]:
    """What a document or a cell holds, tables within tables too."""
    for item in holder.iter_inner_content():
        if isinstance(item, Table):
            for row in item.rows:
                seen: set[int] = set()
                for cell in row.cells:  # a merged cell comes once for each column
                    if id(cell._tc) not in seen:
                        seen.add(id(cell._tc))
                        yield from _paragraphs(cell)
        else:
            yield item.text
