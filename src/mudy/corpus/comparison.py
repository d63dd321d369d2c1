"""A finished corpus beside another one, or beside a vocabulary: the phrases that the other lacks, or has less often."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby, islice
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from mudy._support.storage import atomic_output, real_path
from mudy.corpus.checkpoint import Parts, read_summary
from mudy.corpus.rows import WRITERS, write_table, writer_for
from mudy.corpus.statistics import false_discovery_rates, log_likelihood, p_value, share_difference, signed_root
from mudy.corpus.term_counts import FORM, ORDER, TermCounts
from mudy.corpus.views import STYLE_SHEETS
from mudy.errors import InputError
from mudy.extraction.render.html import escaped, page
from mudy.extraction.run_identity import differences
from mudy.reading.candidates.vocabularies import Concept, Vocabulary
from mudy.reading.document import Span

LEAST = 3  # documents of a phrase that is compared
_SIDE = 50  # phrases on each side of the page


class Contrast(NamedTuple):
    """A phrase in both corpora."""

    phrase: str
    a_documents: int
    b_documents: int
    a_share: float  # of the documents of A
    b_share: float
    difference: float  # a_share - b_share
    low: float  # of its 95 % interval
    high: float
    log_likelihood: float  # positive if A has it more often
    q_value: float  # the share of false discoveries among all phrases with at most this p
    only_in: str  # A, B, or nothing


@dataclass(frozen=True)
class Comparison:
    """All phrases that are in enough documents: those most typical of A first, those of B last."""

    names: tuple[str, str]
    sizes: tuple[int, int]  # documents without an error
    contrasts: list[Contrast]
    changes: list[str]  # settings in which the two runs differ

    def sides(self, most: int | None = None) -> tuple[list[Contrast], list[Contrast]]:
        """Phrases that A has more often, and those that B has, the most surprising first."""
        first = [entry for entry in self.contrasts if entry.log_likelihood > 0]
        second = [entry for entry in reversed(self.contrasts) if entry.log_likelihood < 0]
        return first[:most], second[:most]


def compare_corpora(a: str | Path, b: str | Path, least: int = LEAST) -> Comparison:
    """Compare two finished outputs of `mudy corpus`, over phrases that are in at least so many documents of both."""
    outputs = [_finished(Path(name)) for name in (a, b)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="mudy-")))
        counts = [stack.enter_context(TermCounts.of(parts.rows(), folder)) for parts, _ in outputs]
        sizes = (counts[0].documents, counts[1].documents)
        for name, size in zip((a, b), sizes, strict=True):
            if not size:
                raise InputError(f"{name} has no document without an error, so there is nothing to compare.")
        pairs = [pair for pair in _paired(*counts) if pair[1] + pair[2] >= least]
    settings = [{name: value for name, value in asked.items() if name != "input"} for _, asked in outputs]
    contrasts = sorted(_contrasts(pairs, *sizes), key=lambda entry: (-entry.log_likelihood, entry.phrase))
    return Comparison((str(a), str(b)), sizes, contrasts, differences(*settings))


def _finished(path: Path) -> tuple[Parts, dict[str, Any]]:
    """The output of a run that is complete, and what was asked of the run."""
    summary = read_summary(path / "done.json") if path.is_dir() else None
    form = summary["asked"].get("form", "").lstrip(".") if summary else None
    if not path.exists() or (path.is_dir() and form not in WRITERS):
        raise InputError(f"{path} is no finished output of `mudy corpus`. Name its file, or its folder of parts.")
    parts = Parts(path, writer_for(path, form))
    if (manifest := read_summary(parts.summary)) is None:
        raise InputError(f"{path} is not finished: {parts.summary} is missing. Run its `mudy corpus` to resume.")
    return parts, manifest["asked"]


def _paired(a: TermCounts, b: TermCounts) -> Iterator[tuple[str, int, int]]:
    """Every phrase with its number of documents in both."""
    merged = heapq.merge(((*term, 0) for term in a.by_key()), ((*term, 1) for term in b.by_key()), key=itemgetter(0))
    for _, group in groupby(merged, key=itemgetter(0)):
        terms = list(group)
        documents = {side: count for _, _, count, side in terms}
        phrase = max(terms, key=itemgetter(2))[1]  # in the form of the corpus that has it more often
        yield phrase, documents.get(0, 0), documents.get(1, 0)


def _contrasts(pairs: Sequence[tuple[str, int, int]], size: int, other_size: int) -> Iterator[Contrast]:
    surprises = [log_likelihood(one, one + other, size, size + other_size) for _, one, other in pairs]
    q_values = false_discovery_rates([p_value(signed_root(surprise)) for surprise in surprises])
    for (phrase, one, other), surprise, q in zip(pairs, surprises, q_values, strict=True):
        shares = (one / size, other / other_size)
        only = "" if one and other else "A" if one else "B"
        interval = share_difference(one, size, other, other_size)
        yield Contrast(phrase, one, other, *shares, shares[0] - shares[1], *interval, surprise, q, only)


def comparison_page(comparison: Comparison) -> str:
    """A page with the phrases of both sides, and the difference of each with its interval."""
    shown = comparison.sides(_SIDE)
    reach = max((max(abs(entry.low), abs(entry.high)) for side in shown for entry in side), default=1.0)
    sections = [_section(f"More in {label}", side, reach) for label, side in zip("AB", shown, strict=True)]
    names = "; ".join(
        f"<b>{label}</b> <bdi>{escaped(name)}</bdi>, {size:,} documents"
        for label, name, size in zip("AB", comparison.names, comparison.sizes, strict=True)
    )
    legend = "Bars: the difference of the shares of documents, A - B, with its 95 % interval; q: false discovery rate."
    main = f'<p class="report-legend">{legend}</p>\n<div class="report-methods">{"".join(sections)}</div>'
    return page("Comparison of two corpora", "Comparison of two corpora", names, main, None, (), STYLE_SHEETS)


def _section(title: str, entries: Iterable[Contrast], reach: float) -> str:
    rows = ""
    for rank, entry in enumerate(entries, start=1):
        only = f' <span class="ex-only">only in {entry.only_in}</span>' if entry.only_in else ""
        rows += (
            f"<tr><td>{rank}</td><td><bdi>{escaped(entry.phrase)}</bdi>{only}</td><td>{entry.a_documents:,}</td>"
            f"<td>{entry.b_documents:,}</td><td>{_bar(entry, reach)}</td><td>{entry.q_value:.2g}</td></tr>"
        )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("", "Phrase", "A", "B", "Difference", "q"))
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else "<p>No phrases.</p>"
    return f'<section><h2 class="ex-side-title">{title}</h2><div class="report-list">{table}</div></section>'


def _bar(entry: Contrast, reach: float) -> str:
    """The difference as a bar from the middle, and its interval as a line."""
    at, low, high = (round(50 + 50 * value / reach, 2) for value in (entry.difference, entry.low, entry.high))
    words = f"{100 * entry.difference:+.1f} points ({100 * entry.low:+.1f} to {100 * entry.high:+.1f})"
    kind = "is-more" if entry.difference > 0 else "is-less"
    return (
        f'<svg class="ex-interval {kind}" viewBox="0 0 100 10" preserveAspectRatio="none" role="img" '
        f'aria-label="{words}"><title>{words}</title>'
        f'<rect x="{min(50.0, at)}" y="2" width="{abs(at - 50):.2f}" height="6"/>'
        f'<path d="M50 0V10M{low} 5H{high}"/></svg>'
    )


# -- A vocabulary -----------------------------------------------------------------------------------------------------

OFTEN, MOST = 2, 1000  # documents that a new term is in at least, and new terms that are listed
MOST_LABELS = 20_000  # of a vocabulary whose nearest concepts are looked up
_FREQUENT = f"SELECT {FORM}, documents, total / documents, examples FROM terms WHERE documents >= {OFTEN} {ORDER}"

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
