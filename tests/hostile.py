"""Files that are made to freeze or fill whatever reads them."""

import io
import zipfile
import zlib

WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
LONGEST_STRING = 32_767  # of a PDF, in characters


def pdf(content: bytes, pages: int = 1) -> bytes:
    """A PDF all of whose pages show the same content."""
    packed = zlib.compress(content, 9)
    font = b"<</F<</Type/Font/Subtype/Type1/BaseFont/Courier>>>>"
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]/Contents 3 0 R/Resources<</Font%s>>>>" % font
    numbers = range(4, 4 + pages)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(b"%d 0 R" % number for number in numbers), pages),
        b"<</Length %d/Filter/FlateDecode>>stream\n%s\nendstream" % (len(packed), packed),
        *[page] * pages,
    ]
    written = b"".join(b"%d 0 obj%s\nendobj\n" % numbered for numbered in enumerate(objects, start=1))
    return b"%PDF-1.4\n" + written + b"trailer<</Root 1 0 R>>"


def one_word_pdf(strings: int) -> bytes:
    """A word of 32,767 letters for each string, packed to a few bytes."""
    return pdf(b"BT/F 1 Tf" + (b"(" + b"a" * LONGEST_STRING + b")Tj ") * strings + b"ET")


def swelling_pdf(pages: int, strings: int = 10) -> bytes:
    """Many characters out of few bytes: every page shows the same long text."""
    return pdf(b"BT/F 1 Tf" + (b"(" + b"ab cd " * (LONGEST_STRING // 6) + b")Tj ") * strings + b"ET", pages)


def docx(body: bytes, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A Word document with a body of any kind."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        archive.writestr(
            "word/document.xml",
            b'<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>' % (WORD.encode(), body),
        )
    return data.getvalue()


def paragraph(text: str) -> bytes:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>".encode()


def wide_cell(columns: int) -> bytes:
    """A table of one cell that says that it spans so many columns."""
    properties = b'<w:tcPr><w:gridSpan w:val="%d"/></w:tcPr>' % columns
    return b"<w:tbl><w:tr><w:tc>%s%s</w:tc></w:tr></w:tbl>" % (properties, paragraph("River gauge"))


def nested_lists(depth: int) -> bytes:
    """A web page of lists within lists."""
    return b"<html><body>" + b"<ul><li>ice " * depth + b"</body></html>"
