"""Statistics of a data set: the columns of the paper's Table 1."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from mudy.engines.interfaces import SentenceEncoder
from mudy.evaluation.datasets import Dataset
from mudy.evaluation.measures import are_present
from mudy.reading.candidates import candidates
from mudy.reading.document import Document, squeeze
from mudy.reading.tagging import Tagger

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
    vectors = encoder.embed(texts).astype(np.float64)
    total = float(np.square(vectors.sum(0)).sum())  # of the cosines of all n x n pairs, since vectors have length 1
    return 1 - (total - n) / (n * (n - 1))


def units(document: Document) -> list[str]:
    starts = range(0, len(document.sentences), UNIT)
    sentences = [document.sentences[start : start + UNIT] for start in starts]
    return [document.text[unit[0].start : unit[-1].end] for unit in sentences]
