"""One document with gold keyphrases, or why it cannot be one; and its text as published runs read it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mudy.evaluation.promptrank_protocol import (
    PROTOCOL_WORDS,
    drop_before_newlines,
    drop_percent,
    promptrank_text,
    space_stops,
)


@dataclass(frozen=True, slots=True)
class Record:
    """One document. Gold phrases stand as in the source: in its order, in its case, with its doubles."""

    id: str
    title: str | None
    text: str
    keyphrases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DatasetProblem:
    """A row or file that was left out, and why."""

    file: Path
    line: int | None  # from 1; None where the whole file is meant
    reason: str

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line is not None else ''}: {self.reason}"


RecordOrProblem = Record | DatasetProblem

# -- Protocols --------------------------------------------------------------------------------------------------------


Step = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class DatasetProtocol:
    """What PromptRank's loader does to the texts of one data set, before and after the cleaning that all share.

    A title is not read unless `title` is set; where the text of a record starts with it, it is taken off.
    """

    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    title: bool = False

    def text(self, record: Record, max_words: int = PROTOCOL_WORDS) -> tuple[str, int]:
        """The text that published runs see, and how many words were cut off."""
        raw = record.text if self.title else _without_title(record)
        cleaned, omitted = promptrank_text(_through(self.before, raw), lower=False, max_words=max_words)
        return _through(self.after, cleaned), omitted


def _through(steps: Iterable[Step], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


_PAPERS = DatasetProtocol((space_stops,))
PROTOCOLS: Mapping[str, DatasetProtocol] = {
    "duc2001": DatasetProtocol((str.lower, drop_before_newlines)),
    "semeval2017": DatasetProtocol((drop_percent, drop_before_newlines), after=(str.lower,)),
    "inspec": DatasetProtocol((drop_percent,), title=True),
    "nus": _PAPERS,
    "krapivin": _PAPERS,
    "semeval2010": _PAPERS,
    "kp20k": _PAPERS,
    "wikihow": DatasetProtocol((str.lower,)),
    "kptimes": DatasetProtocol((str.lower,)),  # this and the next are not published: ours
    "stackexchange": DatasetProtocol((str.lower,)),
}
PLAIN_PROTOCOL = DatasetProtocol((str.lower,), title=True)  # for a data set of the user's own


def _without_title(record: Record) -> str:
    """The text after its title, if it starts with it, in whatever case and spacing; never nothing."""
    letters = "".join((record.title or "").split())
    title = re.match(r"\s*".join(map(re.escape, letters)) + r"(?!\w)", record.text, re.IGNORECASE) if letters else None
    return (record.text[title.end() :].strip() if title else "") or record.text


def set_name(name: str) -> str | None:
    """The published data set that a name begins with: "SemEval-2017_es" belongs to semeval2017, "nusantara" to none."""
    plain = re.sub(r"[\s_-](?=\d)", "", name.lower())
    return next((known for known in PROTOCOLS if re.match(rf"{known}(?![a-z0-9])", plain)), None)
