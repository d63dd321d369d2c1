"""Frequent phrases of a corpus that a vocabulary lacks, for those who maintain it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from mudy._support.storage import atomic_output, real_path
from mudy.corpus.checkpoint import Parts
from mudy.corpus.row_writers import write_table, writer_for
from mudy.corpus.term_counts import FORM, ORDER, TermCounts
from mudy.reading.candidates.vocabularies import Concept, Vocabulary
from mudy.reading.document import Span

LEAST, MOST = 2, 1000  # documents that a term is in, and terms that are listed
MOST_LABELS = 20_000  # of a vocabulary whose nearest concepts are looked up
_FREQUENT = f"SELECT {FORM}, documents, total / documents, examples FROM terms WHERE documents >= {LEAST} {ORDER}"

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


def new_terms(
    output: str | Path,
    vocabulary: Vocabulary,
    nearest: Nearest | None = None,
    form: str | None = None,
    language: str = "en",
) -> list[NewTerm]:
    """The phrases of a complete output that the vocabulary lacks, those of most documents first."""
    index = vocabulary.index_of(language)

    def is_label(phrase: str) -> bool:
        return any(place.span == Span(0, len(phrase)) for place in index.places(phrase))

    rows = (
        {**row, "keyphrases": [{**phrase, "concept": None} for phrase in row["keyphrases"]]}  # each counts for itself
        for row in Parts(Path(output), writer_for(Path(output), form)).rows()
    )
    with TemporaryDirectory(prefix="mudy-") as folder, TermCounts.of(rows, Path(folder)) as counts:
        lacking = (facts for facts in counts.database.execute(_FREQUENT) if not is_label(facts[0]))
        terms = [NewTerm(phrase, size, round(mean, 4), ids) for phrase, size, mean, ids in islice(lacking, MOST)]
    if nearest is None or not terms:
        return terms
    pairs = zip(terms, nearest([term.phrase for term in terms]), strict=True)
    return [
        term._replace(nearest_id=concept.id, nearest_label=concept.label, similarity=cosine)
        for term, (concept, cosine) in pairs
    ]


def write_new_terms(path: Path, terms: Sequence[NewTerm]) -> None:
    """Write terms to a file, in the format of its ending."""
    with atomic_output(real_path(path)) as unfinished:
        write_table(unfinished, terms, NewTerm, path.suffix.lower())
