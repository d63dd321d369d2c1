"""Documents with gold keyphrases, read from the user's files, in our format or in that of their publication.

    >>> data = load("duc2001.jsonl")
    >>> document = tagger.document(*data.promptrank_text(data.documents[0]))

Nothing is downloaded. A bad row becomes a `DatasetProblem` with its file and line; the good ones are kept.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from mudy._support.validation import checked, seen
from mudy.errors import InputError, SettingError, unknown
from mudy.evaluation.dataset_formats import DATASET_FORMATS, BadRow, Record, Row, advice, recognised
from mudy.evaluation.dataset_protocols import PLAIN_PROTOCOL, PROTOCOLS, DatasetProtocol, set_name

__all__ = ["DATASET_FORMATS", "PROTOCOLS", "Dataset", "DatasetProblem", "Record", "load", "recognised", "set_name"]

_QUOTED_PROBLEMS = 3  # problems quoted where nothing is usable


@dataclass(frozen=True, slots=True)
class DatasetProblem:
    file: Path
    line: int | None  # from 1; None for the whole file
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line is not None else ''}: {self.reason}"


@dataclass(frozen=True)
class Dataset:
    """Documents under a name, and the rows that could not be read."""

    name: str
    form: str
    documents: tuple[Record, ...]
    problems: tuple[DatasetProblem, ...] = ()
    protocol: DatasetProtocol = PLAIN_PROTOCOL

    def promptrank_text(self, record: Record, *, max_words: int | None = None) -> tuple[str, int]:
        """A record's text as published runs read it, and how many words were cut off.

        By the rules of this data set, known by its name; one of another name is read in lower case, title and all.
        """
        return self.protocol.read(record.text, record.title, max_words)


def load(path: str | Path, form: str | None = None, *, limit: int | None = None) -> Dataset:
    """The data set in a file or folder; `form` is detected from the contents by default.

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
            raise InputError(f"{path}: not a data set in a known format. {advice(path)}")
        documents, problems = _records(DATASET_FORMATS[chosen](path), limit)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not documents:
        reasons = "; ".join(map(str, problems[:_QUOTED_PROBLEMS])) or "it is empty"
        raise InputError(f"{path}: read as {chosen}, it holds no usable document: {reasons}.")
    name = (path.name.partition(".")[0] or path.name) if chosen in ("mudy", "papers") else chosen
    protocol = PROTOCOLS.get(set_name(name) or "", PLAIN_PROTOCOL)
    return Dataset(name, chosen, tuple(documents), tuple(problems), protocol)


def _records(rows: Iterable[Row], limit: int | None) -> tuple[list[Record], list[DatasetProblem]]:
    """The first good documents, each id once, and the problems on the way to them."""
    documents: dict[str, Record] = {}
    problems: list[DatasetProblem] = []
    for file, line, make in rows:
        try:
            record = make()
            if record.id in documents:
                raise BadRow(f"the id {record.id!r} occurred before")
        except BadRow as error:
            problems.append(DatasetProblem(file, line, str(error)))
            continue
        documents[record.id] = record
        if len(documents) == limit:
            break
    return list(documents.values()), problems
