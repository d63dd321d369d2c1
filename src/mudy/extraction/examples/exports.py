"""Texts with keyphrases as other programs write them: tables, BibTeX, and folders of Markdown notes with tags."""

import ast
import csv
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import chain
from pathlib import Path

from mudy._support.extras import from_extra
from mudy.errors import InputError
from mudy.extraction.examples import NEEDED, NOT_UTF8, Record, Row, bad, decoded, files_in, record_of
from mudy.extraction.examples.front_matter import Note

_LONGEST_CELL = 1 << 26  # characters; a quote that is never closed must not fill the memory
_ENTRY = re.compile(r"@(\w{1,40})[ \t]*\{[ \t]*([^,{}\s]{0,200})[ \t]*,")
_FIELD = re.compile(r"[\s,]{0,100}([\w-]{1,40})\s{0,20}=\s{0,20}")
_WORD = re.compile(r"[^,}\s]{0,100}")
_ACCENT = re.compile(r"\\([\"'`^~=.cuvHr])\s?\{?\\?([A-Za-z])\}?")
_COMMAND = re.compile(r"\\([A-Za-z]{1,30})\s?|\\(.)")
_MARKS = dict(
    zip("\"'`^~=.cuvHr", "\u0308\u0301\u0300\u0302\u0303\u0304\u0307\u0327\u0306\u030c\u030b\u030a", strict=True)
)


def read_table(path: Path, phrases: Callable[[str], list[str]], titled: bool) -> Iterator[Row]:
    """Rows with a column of texts and one of phrases; `titled`: the title is read before the text."""

    def record(row: dict[str, str], number: int) -> Record:
        title, text = row.get("title") or None, row["text"]
        given = {"id": row.get("id") or None, "title": title, "text": with_title(title, text) if titled else text}
        return record_of({**given, "keyphrases": phrases(row["keyphrases"])}, number)

    for number, (line, row) in enumerate(table_rows(path), start=1):
        yield path, line, partial(bad, row) if isinstance(row, str) else partial(record, row, number)


def table_rows(path: Path) -> Iterator[tuple[int, dict[str, str] | str]]:
    """The rows of a table, known columns under our names, or what is wrong with a row; each with its line.

    Without names of columns, two columns are enough: the longer cells are the texts.
    """
    rows = _sheet(path) if path.suffix.lower() == ".xlsx" else _csv_rows(path)
    first, head = next(rows, (1, "empty"))
    columns = _known_columns(head) if isinstance(head, list) else []
    if not set(NEEDED) <= set(columns):
        if isinstance(head, str) or len(head) != 2:
            shown = head if isinstance(head, str) else ", ".join(map(repr, head[:8]))
            raise InputError(f"{path}: a table needs the columns text and keyphrases, but its first row is {shown}.")
        columns = ["text", "keyphrases"] if len(head[0]) > len(head[1]) else ["keyphrases", "text"]
        rows = chain([(first, head)], rows)
    for line, cells in rows:
        if isinstance(cells, list) and len(cells) == len(columns):
            yield line, dict(zip(columns, cells, strict=True))
        else:
            yield line, cells if isinstance(cells, str) else f"has {len(cells)} columns, but {len(columns)} are needed"


def _csv_rows(path: Path) -> Iterator[tuple[int, list[str] | str]]:
    """The lines at which rows begin, with their cells, or with what is wrong with them."""
    csv.field_size_limit(_LONGEST_CELL)
    # Bytes that are not UTF-8 come in as lone surrogates, so that one bad row does not end the reading.
    with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        head = file.readline()
        file.seek(0)
        likely = max(",;\t", key=head.count)
        rows = csv.reader(file, delimiter="\t" if path.suffix.lower() == ".tsv" else likely)
        while True:
            start = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                yield start, f"not CSV: {error}"
                continue
            undecoded = any("\udc80" <= character <= "\udcff" for cell in cells for character in cell)
            if cells:
                yield start, NOT_UTF8 if undecoded else cells


def _sheet(path: Path) -> Iterator[tuple[int, list[str] | str]]:
    """The rows of the first sheet of a workbook."""
    with from_extra("spreadsheets", "An .xlsx file"):
        from openpyxl import load_workbook  # type: ignore[import-untyped]  # it has no hints
    try:
        sheet = load_workbook(path, read_only=True, data_only=True).worksheets[0]
        for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
            if any(cell is not None for cell in row):
                yield number, ["" if cell is None else str(cell) for cell in row]
    except Exception as error:  # of any kind: a broken file breaks its reader anywhere
        raise InputError(f"{path}: not a workbook that can be read ({error}).") from error


def _known_columns(head: list[str]) -> list[str]:
    """The names of columns, those that are known under our names."""
    plain = ["".join(filter(str.isalnum, name.lower())) for name in head]
    for ours, others in NEEDED.items():
        place = next((plain.index(name) for name in (ours, *others) if name in plain), None)
        if place is not None:
            plain[place] = ours
    return plain


def with_title(title: str | None, text: str) -> str:
    return f"{title}\n\n{text}" if title and text.strip() and not text.startswith(title) else text


def _listed(cell: str) -> list[str]:
    """The phrases of a list in Python or JSON notation."""
    try:
        return list(ast.literal_eval(cell.strip()))
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise InputError("its keyphrases are not a list in Python notation") from None


def _phrases(cell: str) -> list[str]:
    """The phrases of a list, or with semicolons, bars, lines or commas between them."""
    if cell.strip().startswith("["):
        return _listed(cell)
    return re.split(r"[;|\n]", cell) if re.search(r"[;|\n]", cell) else cell.split(",")


def read_bibtex(path: Path) -> Iterator[Row]:
    """The entries of a .bib file with an abstract and keywords."""
    source = decoded(path)
    for number, entry in enumerate(_ENTRY.finditer(source), start=1):
        if entry[1].lower() not in ("comment", "string", "preamble"):
            line = source.count("\n", 0, entry.start()) + 1
            yield path, line, partial(_bibtex_record, entry[2], source, entry.end(), number)


def _bibtex_record(key: str, source: str, start: int, number: int) -> Record:
    fields: dict[str, str] = {}
    while field := _FIELD.match(source, start):
        value, start = _value(source, field.end())
        fields[field[1].lower()] = _plain(value)
    title, abstract = fields.get("title"), fields.get("abstract") or bad("it has no abstract")
    given = {"id": key or None, "title": title, "text": with_title(title, abstract)}
    return record_of({**given, "keyphrases": _phrases(fields.get("keywords", ""))}, number)


def _value(source: str, start: int) -> tuple[str, int]:
    """The value at a position, in braces, in quotes or a word; and where it ends."""
    opening = source[start : start + 1]
    if opening not in ("{", '"'):
        word = _WORD.match(source, start)
        return (word[0], word.end()) if word else ("", start)
    depth, place = 0, start
    while place < len(source):
        sign = source[place]
        depth += (sign == "{") - (sign == "}")
        if place > start and depth == 0 and sign == ("}" if opening == "{" else '"'):
            break
        place += 2 if sign == "\\" else 1
    return source[start + 1 : place], place + 1


def _plain(value: str) -> str:
    """A value of BibTeX without its commands; accents stay."""
    accented = _ACCENT.sub(lambda match: unicodedata.normalize("NFC", match[2] + _MARKS[match[1]]), value)
    without = _COMMAND.sub(lambda match: match[2] or "", accented)
    return " ".join(without.translate({ord("{"): None, ord("}"): None, ord("~"): " "}).split())


def read_notes(path: Path) -> Iterator[Row]:
    """The Markdown files of a folder whose front matter has tags."""
    if not path.is_dir():
        raise InputError(f"{path}: a folder with Markdown notes (*.md) is needed.")
    for number, file in enumerate(files_in(path, ".md"), start=1):
        yield file, None, partial(_note_record, file, str(file.relative_to(path)), number)


def _note_record(file: Path, name: str, number: int) -> Record:
    note = Note.of(decoded(file))
    text = note.text.lower()
    last_parts = [tag.lstrip("#").rpartition("/")[2] for tag in note.tags()] or bad("it has no tags")
    phrases = [last if last.lower() in text else re.sub(r"[-_]", " ", last) for last in last_parts]
    return record_of({"id": name, "text": note.text, "keyphrases": phrases}, number)


EXPORTS: Mapping[str, Callable[[Path], Iterator[Row]]] = {
    "wikihow": partial(read_table, phrases=_listed, titled=False),
    "table": partial(read_table, phrases=_phrases, titled=True),
    "bibtex": read_bibtex,
    "notes": read_notes,
}
