"""The text in tables (CSV, TSV): columns without numbers, dates and codes; and in subtitles, without times."""

import csv
import io
import re

from mudy.reading.formats import Reading, TextBuilder

_WIDEST = 1000  # columns that are looked at
_TEXT_SHARE = 0.5  # of a column's cells that are words; else the column holds codes
_DISTINCT = 0.3  # of a column's cells; in a column of codes, the same come again
_LONGEST_CELL = 10_000_000  # characters
_TIMES = re.compile(r"\s*[\d:]{5,9}[,.]\d{1,3}\s*-->\s*[\d:]{5,9}[,.]\d{1,3}.*")
_TAG = re.compile(r"</?[a-z][^<>]{0,100}>|\{\\[^{}]{1,50}\}")


def read_table(builder: TextBuilder, text: str) -> Reading:
    """The remarks above a table and the cells of its columns with text, row by row; without any, it stays as it is."""
    csv.field_size_limit(_LONGEST_CELL)
    delimiter = max("\t,;|", key="\n".join(text[:20_000].splitlines()[:50]).count)
    rows = [row[:_WIDEST] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    rows = [row for row in rows if any(map(str.strip, row))]
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = sorted(filled)[len(filled) // 2] if filled else 0
    header = next((number for number, count in enumerate(filled) if count >= usual), 0)
    kept = _text_columns(rows[header + 1 :])
    if not kept:
        return Reading(text)
    for number, row in enumerate(rows):
        remark = number < header or (filled[number] == 1 and usual > 1)
        cells = [cell.strip() for n, cell in enumerate(row) if (remark or n in kept) and cell.strip()]
        builder.add("\n".join(cells), "boilerplate" if number == header and len(rows) > 1 else "prose")
    return builder.reading()


def _text_columns(rows: list[list[str]]) -> set[int]:
    cells: dict[int, list[str]] = {}
    for row in rows[:5000]:
        for number, cell in enumerate(row):
            if cell.strip():
                cells.setdefault(number, []).append(cell)
    return {
        number
        for number, column in cells.items()
        if sum(map(_is_text, column)) > _TEXT_SHARE * len(column) and len({*column}) > _DISTINCT * len(column)
    }


def _is_text(cell: str) -> bool:
    """Whether a cell has two words, or is written without spaces and has a few letters."""
    words = [word for word in cell.split() if sum(map(str.isalpha, word)) > 1 and "_" not in word]
    return len(words) > 1 or any(sum(letter > "\u2e7f" for letter in word) > 3 for word in words)


def read_subtitles(builder: TextBuilder, text: str) -> None:
    """What is said, by SubRip or WebVTT, without numbers and times; a sentence begins a line."""
    said: list[str] = []
    for cue in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = cue.strip().split("\n")
        times = next((number for number, line in enumerate(lines[:2]) if _TIMES.fullmatch(line)), None)
        if times is not None:  # else it is a header, a note or a style
            words = " ".join(_TAG.sub("", line).strip() for line in lines[times + 1 :])
            ended = not said or said[-1].endswith((".", "!", "?", ")", "]"))
            said.append(f"\n{words}" if ended else words)
    builder.add(" ".join(said).replace(" \n", "\n"))
