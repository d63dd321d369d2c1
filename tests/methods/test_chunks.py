"""Long documents are cut into overlapping sections; nothing is lost."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mudy.methods.chunks import chunk_of, chunk_spans, chunks, count, split_sentences
from mudy.reading.candidates import Candidate, Occurrence
from mudy.reading.document import Document, Span


def document(lengths: list[int]) -> Document:
    """Sentences of so many one-letter words, a space after each; every letter and every space is a token."""
    text = "".join("a" * length + " " for length in lengths)
    spans, start = [], 0
    for length in lengths:
        spans.append(Span(start, start + length))
        start += length + 1
    return Document(text, tuple(spans), ())


def everywhere(text: Document) -> list[Candidate]:
    """A candidate of one letter in every place of every sentence."""
    places = (Occurrence(Span(i, i + 1), n) for n, s in enumerate(text.sentences) for i in range(s.start, s.end))
    return [Candidate("a", tuple(places))]


def ends(text: Document) -> list[int]:
    return list(range(1, len(text.text) + 1))


SENTENCES = st.lists(st.integers(1, 120), min_size=1, max_size=30)


@given(SENTENCES, st.integers(16, 200))
def test_every_occurrence_is_answered_for_once_by_a_section_that_holds_it(lengths: list[int], limit: int) -> None:
    text = document(lengths)
    found = list(chunks(text, everywhere(text), ends(text), limit))
    answered = [place.span for section in found for place in section.places]
    assert sorted(answered) == [o.span for o in everywhere(text)[0].occurrences]
    for section in found:
        assert count(ends(text), section.span) <= limit
        assert all(section.span.start <= p.span.start and p.span.end <= section.span.end for p in section.places)


@given(SENTENCES, st.integers(16, 200))
def test_sections_move_on_and_cover_the_text(lengths: list[int], limit: int) -> None:
    text = document(lengths)
    spans = chunk_spans(split_sentences(text, ends(text), limit // 4), ends(text), limit)
    assert spans[0].start == text.sentences[0].start
    assert spans[-1].end == text.sentences[-1].end
    for before, after in pairwise(spans):
        assert before.start < after.start <= before.end + 1
        assert before.end < after.end


@given(st.integers(1, 4000))
def test_the_tokens_read_grow_linearly_with_the_text(sentences: int) -> None:
    text = document([10] * sentences)
    spans = chunk_spans(split_sentences(text, ends(text), 25), ends(text), 100)
    assert sum(count(ends(text), span) for span in spans) <= 1.6 * len(text.text) + 100


@given(SENTENCES)
def test_a_text_that_fits_is_read_whole(lengths: list[int]) -> None:
    text = document(lengths)
    (section,) = chunks(text, everywhere(text), ends(text), 10_000)
    assert section.span == Span(0, text.sentences[-1].end)
    assert len(section.units) == len(lengths)


def test_an_occurrence_belongs_where_it_is_farthest_from_a_cut() -> None:
    spans = [Span(0, 100), Span(75, 175), Span(150, 250)]
    assert chunk_of(Span(80, 82), spans) == 0
    assert chunk_of(Span(90, 92), spans) == 1
    assert chunk_of(Span(0, 2), spans) == 0
    assert chunk_of(Span(248, 250), spans) == 2
