"""Documents with gold keyphrases, read from the user's files, in our format or in that of their publication.

>>> data = load("duc2001.jsonl")
>>> document = tagger.document(*data.promptrank_text(data.documents[0]))
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mudy.evaluation.dataset_protocols import PLAIN_PROTOCOL, PROTOCOLS, DatasetProtocol
from mudy.extraction.examples import Problem, load_records
from mudy.extraction.examples.record_formats import DATASET_FORMATS, PUBLISHED, Record, recognised, set_name

__all__ = ["DATASET_FORMATS", "PROTOCOLS", "Dataset", "Record", "load", "recognised", "set_name"]


@dataclass(frozen=True)
class Dataset:
    """Documents under a name, and the rows that could not be read."""

    name: str
    form: str
    documents: tuple[Record, ...]
    problems: tuple[Problem, ...] = ()
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
    chosen, documents, problems = load_records(path, form, limit)
    file = Path(path).name
    name = chosen if chosen in PUBLISHED else file.partition(".")[0] or file
    protocol = PROTOCOLS.get(set_name(name) or "", PLAIN_PROTOCOL)
    return Dataset(name, chosen, tuple(documents), tuple(problems), protocol)
