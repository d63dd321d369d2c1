"""The text in tables (CSV, TSV): columns without numbers, dates and codes; and in subtitles, without times."""

import csv
import io
import re

from mudy.reading.formats import Reading, TextBuilder

_WIDEST = 1000  # columns that are looked at
_TEXT_SHARE = 0.5  # of a column's cells that are words; else the column holds codes
_DISTINCT = 0.3  # of a column's cells; in a column of codes, the same come again
_SENTENCE = 40  # characters of a cell, on average, from which a column has sentences
_LONGEST_CELL = 10_000_000  # characters
_LABEL = re.compile(r"^\D*[^\W\d_]{2}\D*$|(?<!\w)[^\W\d_]{4,}(?!\w)")  # letters, and with digits a longer word
_TIMES = re.compile(r"\s*[\d:]{5,9}[,.]\d{1,3}\s*-->\s*[\d:]{5,9}[,.]\d{1,3}.*")
_TAG = re.compile(r"</?[a-z][^<>]{0,100}>|\{\\[^{}]{1,50}\}")


def read_table(builder: TextBuilder, text: str) -> Reading:
    """The remarks above a table and the cells of its columns with words, row by row; without any, it stays as it is.

    In a table without sentences the names of the columns and its labels, such as categories, are text: each once.
    """
    csv.field_size_limit(_LONGEST_CELL)
    delimiter = max("\t,;|", key="\n".join(text[:20_000].splitlines()[:50]).count)
    rows = [row[:_WIDEST] for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)]
    rows = [row for row in rows if any(map(str.strip, row))]
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    usual = sorted(filled)[len(filled) // 2] if filled else 0
    header = next((number for number, count in enumerate(filled) if count >= usual), 0)
    columns = _columns(rows[header + 1 :])
    texts, has_sentences = columns["text"], bool(columns["sentences"])
    labels = set() if has_sentences else columns["labels"]
    if not texts and not labels:
        return Reading(text)
    known: set[tuple[int, str]] = set()
    for number, row in enumerate(rows):
        whole = number < header or (filled[number] == 1 and usual > 1) or (number == header and not has_sentences)
        cells = [(n, cell.strip()) for n, cell in enumerate(row) if cell.strip()]
        cells = [cell for cell in cells if whole or cell[0] in texts or (cell[0] in labels and cell not in known)]
        known.update(cells)
        names = number == header and len(rows) > 1 and has_sentences
        for _, cell in cells:  # apart, so that no phrase spans two
            builder.add(cell, "boilerplate" if names else "prose")
    return builder.reading()


def _columns(rows: list[list[str]]) -> dict[str, set[int]]:
    """The columns with text, those of them with sentences, and those with labels: single words, or often the same."""
    cells: dict[int, list[str]] = {}
    for row in rows[:5000]:
        for number, cell in enumerate(row):
            if cell.strip():
                cells.setdefault(number, []).append(cell)
    kinds: dict[str, set[int]] = {"text": set(), "sentences": set(), "labels": set()}
    for number, column in cells.items():
        most = _TEXT_SHARE * len(column)
        if sum(map(_is_text, column)) > most and len({*column}) > _DISTINCT * len(column):
            kinds["text"].add(number)
            if sum(len(cell) for cell in column) > _SENTENCE * len(column):
                kinds["sentences"].add(number)
        elif sum(_LABEL.search(cell) is not None for cell in column) > most:
            kinds["labels"].add(number)
    return kinds


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
