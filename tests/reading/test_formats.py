"""Every format of marked-up text: what is read of it, without its mark-up, and its blocks."""

import io
import json
import zipfile

import pytest
from docx import Document
from fpdf import FPDF

from mudy import InputError
from mudy.reading import formats
from mudy.reading.formats import Reading, kind_of

RIVER = "River ice is thin in spring, and the village warns of it each year."


def read(source: str | bytes, name: str) -> Reading:
    return formats.read(source.encode() if isinstance(source, str) else source, name)


def blocks(reading: Reading) -> list[tuple[str, str]]:
    assert reading.blocks is not None
    return [(block.kind, block.span.of(reading.text)) for block in reading.blocks]


MARKDOWN = f"""---
tags: [ice]
---
[![Build](https://ci.example.org/badge.svg)](https://ci.example.org)

# River ice

<!-- nobody reads this -->
{RIVER} See [the map](https://example.org/map) and `icecat`.[^1]

- [Melting](#melting)

## Melting

```sh
icecat --melt
```

* It **melts**.

| river | ice |
|---|---|
| Esk | thin |
"""
RST = f"""
.. _river-ice:

=========
River ice
=========

:Author: Ada

{RIVER} See :ref:`the map <map>`, :class:`~ice.Sheet` and ``icecat`` [#f]_::

    icecat --melt

.. note:: Walkers beware of
   thin ice.

.. unknown-directive:: yes
   :option: no

   Snow is read.

.. code-block:: python

   import ice

Melting
-------

* It *melts*.

====  ====
Esk   thin
====  ====
"""
ASCIIDOC = f"""= River ice
:url-map: https://example.org/map
// nobody reads this

{RIVER} See {{url-map}}[the map] and `icecat`.

[source,sh]
----
icecat --melt
----

== Melting

* It *melts*.
"""
LATEX = rf"""\documentclass{{article}}
\title{{River ice}} % nobody reads this
\begin{{document}}
\maketitle
\section{{Melting}}
{RIVER} \citep{{ada}} See \emph{{the map}} and $x^2$.
\begin{{verbatim}}
icecat --melt
\end{{verbatim}}
\begin{{itemize}}
\item It melts.
\end{{itemize}}
\end{{document}}
"""
WIKITEXT = f"""{{{{Infobox ice|name={{{{lang|en|x}}}}}}}}
'''River ice''' is [[thin ice|thin]].<ref>{{{{cite|title=Nobody}}}}</ref> {RIVER}
[[File:Ice.jpg|thumb|An [[icy]] river]]
== Melting ==
* It [https://example.org melts].
"""
DOCBOOK = f"""<?xml version="1.0"?>
<!DOCTYPE book [<!ENTITY river "River">]>
<book><bookinfo><title>&river; ice</title><author><surname>Nobody</surname></author></bookinfo>
<chapter><title>Melting</title><para>{RIVER} See &themap; and <literal>icecat</literal>.</para>
<screen>icecat --melt</screen><itemizedlist><listitem><para>It melts.</para></listitem></itemizedlist></chapter></book>
"""
HTML = f"""<html><head><title>River ice - Ice weekly</title></head><body><nav><a href="/">Nobody</a></nav>
<article><h1>River ice<a href="#x">¶</a></h1>
<p>{RIVER} {RIVER} See <a href="/map">the map</a> and <code>icecat</code>.</p>
<h2>Melting</h2><pre>icecat --melt</pre>
<ul><li>It melts, and it melts every year, {RIVER}</li></ul></article></body></html>
"""


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (MARKDOWN, "a.md"),
        (RST, "a.rst"),
        (ASCIIDOC, "a.adoc"),
        (LATEX, "a.tex"),
        (DOCBOOK, "a.docbook"),
        (HTML, "a.html"),
    ],
)
def test_mark_up_is_removed_and_structure_kept(source: str, name: str) -> None:
    reading = read(source, name)
    assert ("title", "River ice") in blocks(reading)
    assert ("heading", "Melting") in blocks(reading)
    assert ("code", "icecat --melt") in blocks(reading)
    assert any(kind == "list" and "It melts" in text for kind, text in blocks(reading))
    assert RIVER in reading.text
    assert "the" in reading.text
    assert not any(mark in reading.text for mark in ("Nobody", "nobody", "badge", "https", "**", "``", "{", "¶"))


def test_wikitext_loses_templates_references_and_pictures() -> None:
    reading = read(WIKITEXT, "a.wiki")
    assert reading.text.startswith(f"River ice is thin. {RIVER}")
    assert blocks(reading) == [("title", "Melting"), ("list", "- It melts.")]


def test_markdown_keeps_inline_code_and_cells_and_marks_links_within_it() -> None:
    reading = read(MARKDOWN, "a.md")
    assert f"{RIVER} See the map and icecat." in reading.text
    assert ("boilerplate", "Melting") in blocks(reading)
    assert ("table", "river | ice\nEsk | thin") in blocks(reading)


def test_front_matter_gives_a_title() -> None:
    assert blocks(read('+++\ntitle = "River ice"\n+++\n\nIt is thin.', "a.md")) == [("title", "River ice")]
    assert read("---\nno end of it", "a.md").text == "no end of it"


def test_restructured_text_reads_directives_that_nobody_knows() -> None:
    text = read(RST, "a.rst").text
    assert "Walkers beware of\nthin ice." in text
    assert "Snow is read." in text
    assert f"{RIVER} See the map, Sheet and icecat:" in text
    assert "option" not in text


def test_a_proposal_has_its_title_in_its_header() -> None:
    reading = read(f"PEP: 1\nTitle: River ice\nAuthor: Ada\nStatus: Draft\n\nMelting\n=======\n\n{RIVER}", "a.rst")
    assert blocks(reading) == [("title", "River ice"), ("heading", "Melting")]


def test_a_page_all_of_preformatted_text_is_plain_text() -> None:
    reading = read(f"<html><body><pre>{RIVER * 3}\n\nMELTING\n</pre></body></html>", "a.html")
    assert reading.blocks is None


def test_mail_has_a_subject_quotations_and_a_signature() -> None:
    source = (
        "From: Ada <ada@example.org>\nSubject: Re: [ice] River =?utf-8?q?ice?=\nMIME-Version: 1.0\n"
        "Content-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\n"
        f"{RIVER}\n\nOn Sunday, Bob wrote:\n> Is it thick?\n\n-- \nAda\n--b\nContent-Type: image/png\n\nnobody\n--b--\n"
    )
    reading = read(source, "a.eml")
    assert blocks(reading) == [
        ("title", "River ice"),
        ("boilerplate", "On Sunday, Bob wrote:"),
        ("quotation", "Is it thick?"),
        ("boilerplate", "Ada"),
    ]
    assert "ada@example.org" not in reading.text
    assert "nobody" not in reading.text


@pytest.mark.parametrize(
    "source",
    [
        b"Subject: River\nContent-Type: text/plain; charset=nonsense\n\nthin \xff ice\n",
        b"Subject: River\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=x\n\n--y\nthin ice\n",
        b"Subject: River\nContent-Transfer-Encoding: base64\n\nthin ice!\n\nthin ice",
        b"Subject: =?utf-8?b?////?= River\n\nthin ice",
    ],
)
def test_broken_mail_is_read_as_far_as_it_goes(source: bytes) -> None:
    assert "River" in read(source, "a.eml").text


def test_a_notebook_has_text_and_code_but_no_outputs() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# River ice\n", "\n", RIVER]},
        {"cell_type": "code", "source": "import ice", "outputs": [{"text": "nobody" * 1_000_000}]},
    ]
    reading = read(json.dumps({"nbformat": 4, "cells": cells}), "a.ipynb")
    assert blocks(reading) == [("title", "River ice"), ("code", "import ice")]
    assert reading.text == f"River ice\n\n{RIVER}\n\nimport ice"


def test_subtitles_are_what_is_said() -> None:
    first = "1\n00:00:01,000 --> 00:00:02,500\n<i>River ice</i>\nis thin\n\n"
    second = "2\n00:00:02,600 --> 00:00:04,000\nin spring.\n\n3\n00:01:00,000 --> 00:01:02,000\nBeware.\n"
    assert read(first + second, "a.srt").text == "River ice is thin in spring.\nBeware."
    assert read("WEBVTT\n\nNOTE nobody\n\n" + first.replace(",", "."), "a.vtt").text == "River ice is thin"


def test_a_table_gives_its_columns_of_text() -> None:
    remark = "the ice is thin near the bridge of river"
    rows = "".join(f"{n},2025-03-0{n},{remark} {n},yes and no\n" for n in range(1, 9))
    reading = read(f"id,date,remark,state\n{rows}", "a.csv")
    assert reading.text.startswith(f"remark\n\n{remark} 1\n\n{remark} 2")
    assert blocks(reading) == [("boilerplate", "remark")]
    assert read("1,2\n3,4\n", "a.csv") == Reading("1,2\n3,4\n")


def test_a_table_without_sentences_gives_its_header_and_each_label_once() -> None:
    rows = "".join(f"Ice,{n},{state},{n}-Elm-Road,A{n}\n" for n, state in enumerate(("open", "closed", "open")))
    reading = read(f"Hazard,Deaths,State,place,code\n{rows}", "a.csv")
    header, rest = reading.text.split("code\n\n")
    assert header.split() == ["Hazard", "Deaths", "State", "place"]
    assert rest.split("\n\n") == ["Ice", "open", "0-Elm-Road", "closed", "1-Elm-Road", "2-Elm-Road"]
    assert blocks(reading) == []


def test_source_code_gives_its_comments_and_docstrings() -> None:
    python = (
        f'# Copyright Ada.\n"""{RIVER}"""\nimport ice\n\ndef melt():\n    # It melts in spring.\n    return "# x"\n'
    )
    reading = read(python, "a.py")
    assert ("boilerplate", "Copyright Ada.") in blocks(reading)
    assert [text for kind, text in blocks(reading) if kind == "code"][-1] == '    return "# x"'
    prose = read(f"/* {RIVER}\n * It melts. */\nint x; // thin ice\n", "a.c")
    assert blocks(prose) == [("code", "int x;")]
    assert "\nIt melts." in prose.text


def test_rich_text_is_read_without_its_fonts() -> None:
    head = rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Nobody;}}\pard\outlinelevel0 River ice\par"
    reading = read(head + rb"\pard Gr\'fcn \u8364? {\b thin}.\par}", "a.doc")
    assert reading.text == "River ice\n\nGrün € thin."
    assert blocks(reading) == [("title", "River ice")]


def open_document(content: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
    return data.getvalue()


def test_open_document_text_is_read() -> None:
    names = " ".join(f'xmlns:{name}="urn:{name}"' for name in ("office", "text", "table", "style"))
    source = (
        f'<office:document-content {names}><office:automatic-styles><style:style style:name="P1" '
        'style:parent-style-name="Title"/></office:automatic-styles><office:body><office:text>'
        '<text:p text:style-name="P1">River<text:s/>ice</text:p><text:h text:outline-level="1">Melting</text:h>'
        f"<text:p>{RIVER}</text:p><text:list><text:list-item><text:p>It melts.</text:p></text:list-item></text:list>"
        "</office:text></office:body></office:document-content>"
    )
    reading = read(open_document(source), "a.odt")
    assert reading.text == f"River ice\n\nMelting\n\n{RIVER}\n\n- It melts."
    assert blocks(reading) == [("title", "River ice"), ("heading", "Melting"), ("list", "- It melts.")]


def test_a_word_document_has_its_headings() -> None:
    made = Document()
    made.add_heading("River ice", 0)
    made.add_heading("Melting", 2)
    made.add_paragraph(RIVER)
    made.add_table(1, 1).cell(0, 0).text = "Esk"
    data = io.BytesIO()
    made.save(data)
    assert blocks(read(data.getvalue(), "a")) == [("title", "River ice"), ("heading", "Melting"), ("table", "Esk")]


def test_a_pdf_has_headings_by_their_size_and_code_by_its_font() -> None:
    made = FPDF()
    made.add_page()
    for font, style, size, text in (
        ("Helvetica", "", 24, "River ice"),
        ("Helvetica", "B", 15, "1 Melting"),
        ("Helvetica", "", 11, " ".join([RIVER] * 6)),
        ("Courier", "", 11, "icecat --melt"),
        ("Helvetica", "B", 15, "References"),
        ("Helvetica", "", 11, "Ada: Ice."),
    ):
        made.set_font(font, style, size)
        made.multi_cell(0, 8, text, new_x="LMARGIN", new_y="NEXT")
    assert blocks(read(bytes(made.output()), "a.pdf")) == [
        ("title", "River ice"),
        ("heading", "1 Melting"),
        ("code", "icecat --melt"),
        ("heading", "References"),
        ("boilerplate", "\nAda: Ice."),
    ]


@pytest.mark.parametrize(
    ("data", "name", "kind"),
    [
        (b"%PDF-1.7", "a.md", "pdf"),
        (b"{\\rtf1 x}", "a.txt", "rtf"),
        (b"PK\x03\x04", "a.odt", "docx"),
        (b"plain", "a.pdf", "plain"),
        (b"plain", "a.MD", "markdown"),
        (b"<html>", "a.txt", "plain"),
        (b"<html>", "a.unknown", "html"),
        (b"# x", "", "plain"),
    ],
)
def test_bytes_tell_the_format_before_the_name(data: bytes, name: str, kind: str) -> None:
    assert kind_of(data, name) == kind


@pytest.mark.parametrize(
    ("data", "name", "message"),
    [
        (bytes(range(256)) * 10, "a.md", "binary file"),
        (b"\x00\x01\x02" * 1000, "a.eml", "binary file"),
        (b'{"cells": [', "a.ipynb", "broken notebook"),
        (b"[1, 2]", "a.ipynb", "not an object"),
        (b"[" * 200_000, "a.ipynb", "broken notebook"),
        (b"<book><para>ice", "a.docbook", "broken XML"),
        (b"<a>" * 5000, "a.xml", "nests more than"),
        (b"nothing is said", "a.srt", "holds no text"),
        (b"<html><head></head></html>", "a.html", "holds no text"),
        (b"<!-- nothing -->", "a.md", "holds no text"),
        (open_document("<a>"), "a.odt", "broken XML"),
    ],
)
def test_bad_files_are_told_of(data: bytes, name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        formats.read(data, name)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"ice\n\n```python\nimport x\n", "a.md"),
        (b"[" * 20_000 + b" ice", "a.md"),
        (b"{{" * 50_000 + b" ice", "a.wiki"),
        (b"<ref>" * 20_000 + b" ice", "a.wiki"),
        (b"----\nice\n", "a.adoc"),
        (b"\\begin{verbatim}" * 5000 + b" ice", "a.tex"),
        (b"\n".join(b" " * n + b"- ice\n" for n in range(200)), "a.rst"),
        (b"{\\rtf1" + b"{" * 100_000 + b"}" * 100_000 + b" ice}", "a.rtf"),
        (b"'" * 50_001 + b" # ice", "a.py"),
        (b'"' * 50_001 + b",ice", "a.csv"),
        (b'<!DOCTYPE x [<!ENTITY a "&b;"><!ENTITY b "&a;">]><x>ice &a;</x>', "a.xml"),
    ],
)
def test_odd_files_are_read_in_bounded_time(data: bytes, name: str) -> None:
    assert "ice" in formats.read(data, name).text


def test_a_huge_markdown_file_is_plain_text() -> None:
    text = f"# Ice\n\n{RIVER}\n\n" * 20_000
    assert read(text, "a.md") == Reading(text)


def test_encodings_hold_for_mark_up_too() -> None:
    assert formats.read("# Grün".encode("latin-1"), "a.md", "latin-1").text == "Grün"
