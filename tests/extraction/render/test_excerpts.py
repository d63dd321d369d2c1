"""Of a long text, the passages that hold its best phrases."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mudy.extraction.render.text_pieces import passages, shown
from mudy.reading.document import Span
from tests import explained
from tests.taggers import TEXTS


def found_in(text: str, *phrases: str) -> list[str]:
    spans = [span for phrase in phrases for span in explained.occurrences(text, phrase)]
    return [span.of(text) for span in passages(text, spans)]


def test_a_passage_is_the_sentence_that_holds_a_phrase() -> None:
    text = (
        'It rained. "The ice road closed." Nobody came.\n\nA title\n\nThe ferry, e.g. ours, crossed! 冰很薄。路很长。完'
    )
    assert found_in(text, "ice road") == ['"The ice road closed."']
    assert found_in(text, "title") == ["A title"]
    assert found_in(text, "路") == ["路很长。"]
    assert found_in(text, "rained", "Nobody") == ["It rained.", "Nobody came."]
    assert found_in(text, "rained", "road") == ['It rained. "The ice road closed."']  # neighbours are one
    assert found_in(text, 'closed." Nobody') == ['"The ice road closed." Nobody came.']


def test_where_no_sentence_ends_a_passage_ends_between_words() -> None:
    text = "word " * 400 + "radar " + "word " * 400
    (found,) = found_in(text, "radar")
    assert len(found) < 700
    assert set(found.split()) == {"word", "radar"}
    assert found == found.strip()
    (unbroken,) = found_in("x" * 2000 + "radar" + "x" * 2000, "radar")
    assert unbroken == "x" * 300 + "radar" + "x" * 300


@given(TEXTS, st.lists(st.tuples(st.integers(0, 400), st.integers(1, 20)), max_size=8))
def test_passages_hold_what_was_asked_for_in_order_without_overlap(text: str, asked: list[tuple[int, int]]) -> None:
    spans = [Span(start, min(start + width, len(text))) for start, width in asked if start < len(text)]
    found = passages(text, spans)
    assert all(any(p.start <= s.start and s.end <= p.end for p in found) for s in spans)
    assert all(0 <= p.start < p.end <= len(text) for p in found)
    assert all(a.end <= b.start and text[a.end : b.start].strip() for a, b in pairwise(found))


def test_a_short_text_is_shown_whole_and_of_a_long_one_the_best_places_of_the_best_phrases() -> None:
    text = " ".join(f"Sentence {i} is dull." for i in range(200)) + " Here radar shines. And ice melts. Radar? radar."
    result = explained.result(text, {"radar": (-1.0, -5.0), "ice": -2.0, "Sentence 7 ": -9.0})
    assert shown(text, [result], 2, len(text)) == [Span(0, len(text))]
    assert [s.of(text) for s in shown(text, [result], 2, 1000)] == ["Here radar shines. And ice melts."]
    assert [s.of(text) for s in shown(text, [result], 1, 1000)] == ["Here radar shines."]
    assert len(shown(text, [result], None, 1000)) == 2
    assert shown(text, [replace(result, keyphrases=())], 2, 1000) == [Span(0, 0)]


def test_passages_of_a_huge_text_without_sentences_are_cut_at_once() -> None:
    text = "\n" * 200_000 + "x " * 200_000
    (passage,) = passages(text, [Span(400_000, 400_001)])
    assert passage.end - passage.start <= 601
