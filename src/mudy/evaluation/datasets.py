"""Documents with gold keyphrases, read from the user's files, and the figures of the paper's Table 1 about them.

>>> data = load("duc2001.jsonl")
>>> document = tagger.document(*data.promptrank_text(data.documents[0]))
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from mudy.extraction.examples import DATASET_FORMATS, PUBLISHED, Problem, Record, load_records, recognised, set_name
from mudy.extraction.promptrank_protocol import promptrank_text
from mudy.reading.candidates import candidates
from mudy.reading.document import Document, squeeze
from mudy.reading.tagging import Tagger

if TYPE_CHECKING:
    from mudy.engines.interfaces import SentenceEncoder

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


UNIT = 3  # sentences


@dataclass(frozen=True, slots=True)
class Description:
    """One row of Table 1; words, sentences and keyphrases are means per document."""

    name: str
    form: str
    documents: int
    problems: int  # rows that could not be read
    words: float  # with white space between them
    sentences: float
    keyphrases: float
    absent: float  # per cent of all gold phrases; see `are_present`
    noun_phrases: float  # per cent of all gold phrases; see `is_noun_phrase`
    drift: float | None  # see `topic_drift`; None if there is no encoder, or no text has two units


def describe(
    dataset: Dataset,
    tagger: Tagger,
    encoder: SentenceEncoder | None = None,
    progress: Callable[[str, int, int], None] | None = None,  # name of the data set, documents done, of how many
) -> Description:
    """Measure a data set, on whole texts; without an encoder, all but the topic drift."""
    from mudy.evaluation.measures import are_present

    words = sentences = gold = absent = noun_phrases = 0
    is_noun = cache(lambda phrase: is_noun_phrase(phrase, tagger))  # many come back in other documents
    drifts: list[float] = []
    for done, record in enumerate(dataset.documents, start=1):
        document = tagger.document(record.text)
        words += len(record.text.split())
        sentences += len(document.sentences)
        gold += len(record.keyphrases)
        absent += are_present(record.keyphrases, record.text, document.language).count(False)
        noun_phrases += sum(map(is_noun, map(str.lower, record.keyphrases)))
        if encoder is not None and (drift := topic_drift(document, encoder)) is not None:
            drifts.append(drift)
        if progress is not None:
            progress(dataset.name, done, len(dataset.documents))
    count = len(dataset.documents)
    means = words / count, sentences / count, gold / count
    drift = sum(drifts) / len(drifts) if drifts else None
    shares = 100 * absent / gold, 100 * noun_phrases / gold
    return Description(dataset.name, dataset.form, count, len(dataset.problems), *means, *shares, drift)


def is_noun_phrase(phrase: str, tagger: Tagger) -> bool:
    """Whether a phrase, tagged alone and in lower case, is one candidate from end to end."""
    phrase = squeeze(phrase).lower()
    return [candidate.phrase for candidate in candidates(tagger.document(phrase), max_words=None)] == [phrase]


def topic_drift(document: Document, encoder: SentenceEncoder) -> float | None:
    """How far a text moves: 1 - the mean cosine of all pairs of its units of three sentences.

    Units follow one another without overlap, and the last may be shorter. None for a text of one unit. The paper names
    neither its encoder nor how it cuts units.
    """
    texts = units(document)
    if (n := len(texts)) < 2:
        return None
    vectors = encoder.embed(texts).astype("float64")
    total = float((vectors.sum(0) ** 2).sum())  # of the cosines of all n x n pairs, since vectors have length 1
    return 1 - (total - n) / (n * (n - 1))


def units(document: Document) -> list[str]:
    starts = range(0, len(document.sentences), UNIT)
    sentences = [document.sentences[start : start + UNIT] for start in starts]
    return [document.text[unit[0].start : unit[-1].end] for unit in sentences]
