"""Documents with gold keyphrases, read from where the user has them, in our form or in that of their publication.

    >>> data = load("duc2001.jsonl")
    >>> document = tagger.document(*data.promptrank_text(data.documents[0]))

Nothing is fetched. A bad row becomes a `DatasetProblem` with its file and line, and the good ones are kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mudy._support.validation import checked, seen
from mudy.errors import InputError, SettingError, unknown
from mudy.evaluation.dataset_formats import DATASET_FORMATS, LocatedRow, advice, recognised
from mudy.evaluation.promptrank_protocol import PROTOCOL_WORDS
from mudy.evaluation.record import (
    PLAIN_PROTOCOL,
    PROTOCOLS,
    DatasetProblem,
    DatasetProtocol,
    Record,
    RecordOrProblem,
    set_name,
)

__all__ = [
    "DATASET_FORMATS",
    "PROTOCOLS",
    "Dataset",
    "DatasetProblem",
    "DatasetProtocol",
    "Record",
    "load",
    "recognised",
    "set_name",
]

_QUOTED_PROBLEMS = 3  # problems quoted where nothing is usable


@dataclass(frozen=True)
class Dataset:
    """Documents under a name, and what could not be read of them."""

    name: str
    form: str
    documents: tuple[Record, ...]
    problems: tuple[DatasetProblem, ...] = ()
    protocol: DatasetProtocol = field(default=PLAIN_PROTOCOL)

    def promptrank_text(self, record: Record, *, max_words: int = PROTOCOL_WORDS) -> tuple[str, int]:
        """A record's text as published runs read it, and how many words were cut off.

        By the rules of this data set, known by its name; one of another name is read in lower case, title and all.
        """
        return self.protocol.text(record, max_words)


def load(path: str | Path, form: str | None = None, *, limit: int | None = None) -> Dataset:
    """The data set in a file or folder; `form` is told from the contents unless it is given.

    `limit` stops after that many good documents. Raises InputError where nothing is usable.
    """
    if not isinstance(path, str | Path):
        raise InputError(f"path is {seen(path)}, but must be the path of a file or folder.")
    path = Path(path)
    limit = checked("limit", limit, int | None, least=1)
    form = checked("form", form, str | None)
    if form is not None and form not in DATASET_FORMATS:
        raise SettingError(unknown("form of data set", form, DATASET_FORMATS))
    if not os.path.exists(path):  # noqa: PTH110 (raises nothing, however long the name is)
        raise InputError(f"{path}: no such file or folder.")
    try:
        chosen = form or recognised(path)
        if chosen is None:
            raise InputError(f"{path}: not a data set in a known form. {advice(path)}")
        documents, problems = _parted(_once_each(DATASET_FORMATS[chosen].read(path)), limit)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not documents:
        reasons = "; ".join(map(str, problems[:_QUOTED_PROBLEMS])) or "it is empty"
        raise InputError(f"{path}: read as {chosen}, it holds no usable document: {reasons}.")
    name = path.name.partition(".")[0] or path.name
    name = name if chosen in ("mudy", "papers") else chosen
    published = set_name(name)
    return Dataset(
        name, chosen, tuple(documents), tuple(problems), PROTOCOLS[published] if published else PLAIN_PROTOCOL
    )


def _parted(rows: Iterable[RecordOrProblem], limit: int | None) -> tuple[list[Record], list[DatasetProblem]]:
    documents: list[Record] = []
    problems: list[DatasetProblem] = []
    for row in rows:
        if isinstance(row, DatasetProblem):
            problems.append(row)
            continue
        documents.append(row)
        if len(documents) == limit:
            break
    return documents, problems


def _once_each(rows: Iterable[LocatedRow]) -> Iterator[RecordOrProblem]:
    """The rows, with a problem in place of each document whose id has been there before."""
    seen: set[str] = set()
    for file, line, row in rows:
        if isinstance(row, Record) and row.id in seen:
            yield DatasetProblem(file, line, f"the id {row.id!r} was there before")
            continue
        if isinstance(row, Record):
            seen.add(row.id)
        yield row
