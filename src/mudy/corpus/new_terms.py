"""Frequent phrases of a corpus that a vocabulary lacks, for those who maintain it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from mudy._support.storage import atomic_output, real_path
from mudy.corpus.checkpoint import Parts
from mudy.corpus.row_writers import write_table, writer_for
from mudy.extraction.ranking import variant_key
from mudy.reading.candidates.vocabularies import Concept, Vocabulary
from mudy.reading.document import Span

LEAST, MOST = 2, 1000  # documents that a term is in, and terms that are listed
EXAMPLES = 3  # documents named for each
MOST_LABELS = 20_000  # of a vocabulary whose nearest concepts are looked up
ENDINGS = (".csv", ".tsv", ".jsonl")

Nearest = Callable[[Sequence[str]], list[tuple[Concept, float]]]


class NewTerm(NamedTuple):
    """A phrase that is no label of the vocabulary."""

    phrase: str  # in its most frequent form
    documents: int  # that have it among their keyphrases
    mean_score: float
    examples: str  # ids of the first documents
    nearest_id: str | None = None  # the concept nearest in meaning
    nearest_label: str | None = None
    similarity: float | None = None


@dataclass
class _Uses:
    """Where a phrase is used."""

    forms: Counter[str] = field(default_factory=Counter)
    scores: list[float] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)


def new_terms(
    output: str | Path,
    vocabulary: Vocabulary,
    nearest: Nearest | None = None,
    form: str | None = None,
    language: str = "en",
) -> list[NewTerm]:
    """The phrases of a complete output that the vocabulary lacks, those of most documents first."""
    uses: dict[tuple[str, ...], _Uses] = defaultdict(_Uses)
    for row in Parts(Path(output), writer_for(Path(output), form)).rows():
        for phrase in {variant_key(phrase["text"]): phrase for phrase in reversed(row["keyphrases"])}.values():
            use = uses[variant_key(phrase["text"])]
            use.forms[phrase["text"]] += 1
            use.scores.append(phrase["score"])
            use.documents += [str(row["id"])] if len(use.documents) < EXAMPLES else []
    index = vocabulary.index_of(language)
    ranked = sorted(uses.values(), key=lambda use: (-len(use.scores), -sum(use.scores) / len(use.scores)))
    frequent = (use for use in ranked if len(use.scores) >= LEAST)
    terms = [term for use in frequent if not _covers(index, (term := _term(use)).phrase)][:MOST]
    if nearest is None or not terms:
        return terms
    pairs = zip(terms, nearest([term.phrase for term in terms]), strict=True)
    return [
        term._replace(nearest_id=concept.id, nearest_label=concept.label, similarity=cosine)
        for term, (concept, cosine) in pairs
    ]


def _term(use: _Uses) -> NewTerm:
    mean = round(sum(use.scores) / len(use.scores), 4)
    return NewTerm(use.forms.most_common(1)[0][0], len(use.scores), mean, "; ".join(use.documents))


def _covers(index: Any, phrase: str) -> bool:
    """Whether a phrase is a label."""
    return any(place.span == Span(0, len(phrase)) for place in index.places(phrase))


def write_new_terms(path: Path, terms: Sequence[NewTerm]) -> None:
    """Write terms to a file, in the format of its ending."""
    with atomic_output(real_path(path)) as unfinished:
        write_table(unfinished, terms, NewTerm, path.suffix.lower())
