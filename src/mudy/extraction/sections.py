"""The sections of a document, and the keyphrases of each: no model is asked again."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log

from mudy.extraction.concepts import LabelVectors, raised
from mudy.extraction.ranking import PhraseNames, PreparedText, keyphrase_list
from mudy.extraction.results import SectionResult, on_pages
from mudy.methods.method import Method, OccurrenceScore, ScoredCandidates
from mudy.reading.candidates.vocabularies import Vocabulary
from mudy.reading.document import Document, Span, squeeze

TOP_N = 5  # keyphrases of a section
SHORT = 100  # words; a shorter section joins another
MOST = 25  # sections that headings below the highest level may make
EVEN = 800  # words of a part of a text without headings
PART = "section"  # of a score: what it loses for occurrences in other sections


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document. Sections follow one another without gaps, from the first character to the last."""

    span: Span
    heading: str | None = None
    level: int = 0  # of the heading


def sections_of(document: Document) -> list[Section]:
    """The sections under headings, short ones joined; a document without headings is cut into even parts."""
    starts = [word.span.start for word in document.words]
    levels = sorted({block.level for block in document.blocks if block.kind == "heading"})
    sections: list[Section] = []
    for level in levels:  # as deep as there are few enough
        deeper = _joined(_under_headings(document, level), starts)
        if len(sections) > 1 and len(deeper) > MOST:
            break
        sections = deeper
    return sections if len(sections) > 1 else _even_parts(document)


def _under_headings(document: Document, level: int) -> list[Section]:
    """What stands under each heading down to a level; before the first one, under the title if there is one."""
    headings = [block for block in document.blocks if block.kind == "heading" and block.level <= level]
    names = [document.title, *(block.span for block in headings)]
    levels = [0, *(block.level for block in headings)]
    cuts = [0, *(block.span.start for block in headings), len(document.text)]
    return [
        Section(Span(start, end), None if name is None else squeeze(name.of(document.text)), level)
        for name, level, (start, end) in zip(names, levels, pairwise(cuts), strict=True)
        if start < end
    ]


def _joined(sections: Sequence[Section], word_starts: Sequence[int]) -> list[Section]:
    """Without short sections: one joins the next if that is below it or there is none before, else the one before."""

    def short(section: Section) -> bool:
        words = bisect_left(word_starts, section.span.end) - bisect_left(word_starts, section.span.start)
        return words < SHORT

    def with_span(section: Section, first: Section, last: Section) -> Section:
        return replace(section, span=Span(first.span.start, last.span.end))

    joined: list[Section] = []
    for section in sections:
        if not joined or not short(joined[-1]):
            joined.append(section)
        elif section.level > joined[-1].level > 0:
            joined[-1] = with_span(joined[-1], joined[-1], section)
        elif len(joined) == 1:
            joined[-1] = with_span(section, joined[-1], section)
        else:
            joined[-2:] = [with_span(joined[-2], joined[-2], joined[-1]), section]
    if len(joined) > 1 and short(joined[-1]):
        joined[-2:] = [with_span(joined[-2], joined[-2], joined[-1])]
    return joined


def _even_parts(document: Document) -> list[Section]:
    """Parts of about EVEN words, each of whole sentences."""
    words = document.word_spans
    parts = max(1, round(len(words) / EVEN))
    middles = [words[part * len(words) // parts].start for part in range(1, parts)]
    cuts = sorted({0, *(document.sentences[document.sentence_at(at)].start for at in middles), len(document.text)})
    return [Section(Span(start, end)) for start, end in pairwise(cuts)]


def section_lists(
    text: PreparedText, scored: ScoredCandidates, kind: type[Method], vectors: Callable[[Vocabulary], LabelVectors]
) -> tuple[SectionResult, ...]:
    """The keyphrases of each section: a phrase ranks as its best occurrence there."""
    sections = sections_of(text.document)
    scores = _by_section(text, scored, [section.span.start for section in sections], kind.calibrated)
    options = text.options
    wanted = replace(text, options=options.changed({"top_n": TOP_N}))
    pages = () if text.protocol else options.pages
    return tuple(
        SectionResult(
            section.heading,
            section.span.start,
            section.span.end,
            on_pages(keyphrase_list(wanted, replace(scored, scores=tuple(scores[number])), kind, vectors), pages),
        )
        for number, section in enumerate(sections)
    )


def _by_section(
    text: PreparedText, scored: ScoredCandidates, starts: Sequence[int], calibrated: bool
) -> dict[int, list[OccurrenceScore]]:
    """The scores of the occurrences in each section, less the more a phrase occurs in others.

    The odds of a phrase are multiplied by the share of its occurrences that lie in the section; of scores that are not
    probabilities, so many standard deviations are taken away. What the whole document is about does not lead each list.
    """
    names = PhraseNames.of(text)
    phrases = [names.key(candidate.phrase) for candidate in scored.candidates]
    placed = [(bisect_right(starts, score.occurrence.span.start) - 1, score) for score in scored.scores]
    total: Counter[Hashable] = Counter(phrases[score.candidate] for _, score in placed)
    here = Counter((number, phrases[score.candidate]) for number, score in placed)
    shares = [here[number, phrases[score.candidate]] / total[phrases[score.candidate]] for number, score in placed]
    gains = [None if share == 1 else log(share) for share in shares]
    by_section: dict[int, list[OccurrenceScore]] = defaultdict(list)
    for (number, _), score in zip(placed, raised(scored.scores, gains, PART, calibrated), strict=True):
        by_section[number].append(score)
    return by_section
