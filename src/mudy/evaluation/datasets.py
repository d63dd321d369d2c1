"""Documents with gold keyphrases, read from the user's files, in our format or in that of their publication.

>>> data = load("duc2001.jsonl")
>>> document = tagger.document(*data.promptrank_text(data.documents[0]))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from mudy.extraction.examples import Problem, load_records
from mudy.extraction.examples.record_formats import DATASET_FORMATS, PUBLISHED, Record, recognised, set_name
from mudy.extraction.promptrank_protocol import promptrank_text

__all__ = ["DATASET_FORMATS", "PROTOCOLS", "Dataset", "Record", "load", "recognised", "set_name"]


# -- How published runs read each data set ----------------------------------------------------------------------------


Step = Callable[[str], str]
drop_percent: Step = partial(re.compile("%").sub, "")
drop_before_newlines: Step = partial(re.compile(r"(?<![\s,])[\s,]+\n").sub, "\n")


def space_stops(text: str) -> str:
    return text.replace(". ", " . ").replace(", ", " , ")


@dataclass(frozen=True, slots=True)
class DatasetProtocol:
    """What PromptRank's loader does to the texts of one data set, before and after the shared cleaning."""

    before: tuple[Step, ...] = ()
    after: Step = str
    title: bool = False  # whether a title at the start of the text is read too

    def read(self, text: str, title: str | None, max_words: int | None = None) -> tuple[str, int]:
        """The text that published runs see, and how many words were cut off."""
        text = text if self.title else _without_title(text, title)
        for step in self.before:
            text = step(text)
        cleaned, omitted = promptrank_text(text, max_words)
        return self.after(cleaned), omitted


_PAPERS = DatasetProtocol((space_stops,))
PROTOCOLS: Mapping[str, DatasetProtocol] = {
    "duc2001": DatasetProtocol((str.lower, drop_before_newlines)),
    "semeval2017": DatasetProtocol((drop_percent, drop_before_newlines), after=str.lower),
    "inspec": DatasetProtocol((drop_percent,), title=True),
    "nus": _PAPERS,
    "krapivin": _PAPERS,
    "semeval2010": _PAPERS,
    "kp20k": _PAPERS,
    "wikihow": DatasetProtocol((str.lower,)),
    "kptimes": DatasetProtocol((str.lower,)),  # this and the next are not published: ours
    "stackexchange": DatasetProtocol((str.lower,)),
}
PLAIN_PROTOCOL = DatasetProtocol((str.lower,), title=True)  # for data sets of other names


def _without_title(text: str, title: str | None) -> str:
    """The text after its title, if it starts with it, in whatever case and spacing; never nothing."""
    letters = "".join((title or "").split())
    start = re.match(r"\s*".join(map(re.escape, letters)) + r"(?!\w)", text, re.IGNORECASE) if letters else None
    return (text[start.end() :].strip() if start else "") or text


# -- Data sets --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Dataset:
    """Documents under a name, and the rows that could not be read."""

    name: str
    form: str
    documents: tuple[Record, ...]
    problems: tuple[Problem, ...] = ()
    protocol: DatasetProtocol = PLAIN_PROTOCOL

    def promptrank_text(self, record: Record, *, max_words: int | None = None) -> tuple[str, int]:
        """A record's text as published runs read it, and how many words were cut off."""
        return self.protocol.read(record.text, record.title, max_words)


def load(path: str | Path, form: str | None = None, *, limit: int | None = None) -> Dataset:
    """The first good documents of a file or folder, in a format that is detected by default; InputError for none."""
    chosen, documents, problems = load_records(path, form, limit)
    file = Path(path).name
    name = chosen if chosen in PUBLISHED else file.partition(".")[0] or file
    protocol = PROTOCOLS.get(set_name(name) or "", PLAIN_PROTOCOL)
    return Dataset(name, chosen, tuple(documents), tuple(problems), protocol)
