"""Texts with the keyphrases that somebody gave them, from the user's files or from Python.

Nothing is downloaded. A bad row becomes a `Problem` with its file and line; the good ones are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mudy._support.validation import checked, phrases, seen, several
from mudy.errors import InputError, SettingError, unknown
from mudy.extraction.examples.record_formats import DATASET_FORMATS, Record, Row, recognised

LEAST, MOST = 3, 200  # examples that weights are adapted to
_QUOTED_PROBLEMS = 3  # problems quoted where nothing is usable


@dataclass(frozen=True, slots=True)
class Problem:
    """A row or file that was left out, and why."""

    file: Path
    line: int | None  # from 1; None for the whole file
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line is not None else ''}: {self.reason}"


Loaded = tuple[str, list[Record], list[Problem]]  # the format, the documents, and the rows that could not be read


def load_records(path: str | Path, form: str | None = None, limit: int | None = None) -> Loaded:
    """The documents in a file or folder; `form` is detected from the contents by default.

    `limit` stops after that many good documents. Raises InputError where nothing is usable.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"path is {seen(path)}, but must be the path of a file or folder.")
    path = Path(path)
    limit = checked("limit", limit, int | None, least=1)
    form = checked("form", form, str | None)
    if form is not None and form not in DATASET_FORMATS:
        raise SettingError(unknown("format of data sets", form, DATASET_FORMATS))
    if not os.path.exists(path):  # noqa: PTH110 (raises nothing, however long the name is)
        raise InputError(f"{path}: no such file or folder.")
    try:
        chosen = form or recognised(path)
        if chosen is None:
            known = ", ".join(DATASET_FORMATS)
            raise InputError(
                f"{path}: not a data set in a known format. Each row needs `text` and `keyphrases`, or name a format: "
                f"{known}."
            )
        documents, problems = _records(DATASET_FORMATS[chosen](path), limit)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not documents:
        reasons = "; ".join(map(str, problems[:_QUOTED_PROBLEMS])) or "it is empty"
        raise InputError(f"{path}: read as {chosen}, it holds no usable document: {reasons}.")
    return chosen, documents, problems


def _records(rows: Iterable[Row], limit: int | None) -> tuple[list[Record], list[Problem]]:
    """The first good documents, each id once, and the problems on the way to them."""
    documents: dict[str, Record] = {}
    problems: list[Problem] = []
    for file, line, make in rows:
        try:
            record = make()
            if record.id in documents:
                raise InputError(f"the id {record.id!r} occurred before")
        except InputError as error:
            problems.append(Problem(file, line, str(error)))
            continue
        documents[record.id] = record
        if len(documents) == limit:
            break
    return list(documents.values()), problems


@dataclass(frozen=True, slots=True)
class Examples:
    """Texts with keyphrases that show what is wanted, and what was wrong with others."""

    records: tuple[Record, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, value: Any) -> Examples:
        """Those of a file or folder, or of pairs of a text and its keyphrases; InputError for fewer than LEAST."""
        if isinstance(value, Examples):
            return value
        records, notes = _loaded(value) if isinstance(value, str | Path) else (_pairs(value), [])
        joined = _joined(records)
        if len(joined) < len(records):
            notes.append(f"texts given more than once, phrases joined: {len(records) - len(joined):,}")
        if len(joined) < LEAST:
            number = "1 example was given" if len(joined) == 1 else f"{len(joined)} examples were given"
            problems = f" ({notes[0]})" if notes else ""
            raise InputError(f"{number}{problems}, but at least {LEAST} different texts with phrases are needed.")
        if len(joined) > MOST:
            notes.append(f"{MOST} of the {len(joined):,} examples are used, evenly spaced; `mudy fit` uses all")
            joined = [joined[place * len(joined) // MOST] for place in range(MOST)]
        return cls(tuple(joined), tuple(notes))

    def __repr__(self) -> str:
        return f"<{len(self.records)} examples>"


def _loaded(path: str | Path) -> tuple[Sequence[Record], list[str]]:
    _, records, problems = load_records(path)
    quoted = "; ".join(map(str, problems[:_QUOTED_PROBLEMS]))
    return records, [f"rows that could not be used: {len(problems):,} ({quoted})"] if problems else []


def _pairs(value: Any) -> list[Record]:
    records = []
    for number, pair in enumerate(several("examples", value, "pairs of a text and its phrases")):
        if not isinstance(pair, list | tuple) or len(pair) != 2:
            raise InputError(f"examples[{number}] is {seen(pair)}, but must be a pair of a text and its phrases.")
        text, listed = pair
        if not isinstance(text, str) or not text.strip():
            raise InputError(f"examples[{number}]: the text is {seen(text)}, but must be a str that is not blank.")
        gold = tuple(phrase.strip() for phrase in phrases(f"examples[{number}]", listed) if phrase.strip())
        if not gold:
            raise InputError(f"examples[{number}] has no phrases. Leave it out, or add the phrases of its text.")
        records.append(Record(str(number), None, text, gold))
    return records


def _joined(records: Iterable[Record]) -> list[Record]:
    """Each text once, with the phrases of all records that have it."""
    texts: dict[str, Record] = {}
    for record in records:
        known = texts.setdefault(record.text, record)
        both = tuple(dict.fromkeys((*known.keyphrases, *record.keyphrases)))
        texts[record.text] = replace(known, keyphrases=both)
    return list(texts.values())
