"""Digests: how long, what is in them, and where spans of the text stand. Answers: likelihood, boundary, attention."""

from itertools import pairwise
from math import log, sqrt
from random import Random

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from mudy.engines.interfaces import Question, Received, TextRange
from mudy.engines.tokens import tokenise
from mudy.methods.mudyplus.language_model import (
    COVERED,
    HEADINGS,
    LEAST,
    LEAST_WORDS,
    LONGEST,
    NOT_READ,
    OPENING,
    REPEATED,
    SHORTER,
    TEMPLATE,
    Answer,
    Digest,
    Inquiry,
    ask,
    attention,
    best_of,
    digest,
    ending,
    likelihood,
)
from mudy.reading.candidates import Candidate, given
from mudy.reading.document import Document, Span
from tests import small
from tests.tagged import tagged, unspaced, with_headings

WORDS = ("ice", "road", "radar", "map", "truck", "ferry", "crew", "lake", "wall", "hill")
FILLER = "so/RB it/PRP was/VBD there/RB ."  # five words, no phrase


def leading(document: Document, *phrases: str) -> list[Candidate]:
    """Phrases of a text as candidates, in the order given."""
    candidates = {candidate.phrase: candidate for candidate in given(document, phrases)[0]}
    return [candidates[phrase] for phrase in phrases if phrase in candidates]


def random_text(random: Random, sentences: int = 60, longest: int = 14) -> Document:
    lines = (" ".join(random.choices(WORDS, k=random.randint(1, longest))) + " ." for _ in range(sentences))
    return tagged(" ".join(lines))


def random_headings(document: Document, random: Random) -> Document:
    """The document in which some sentences are headings."""
    spans = random.sample(document.sentences, min(8, len(document.sentences)))
    return with_headings(document, *(span.of(document.text) for span in sorted(spans)))


def held(piece: Span, span: Span) -> bool:
    return piece.start <= span.start and span.end <= piece.end


# -- Length -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [12, 13, 900])
def test_the_digest_of_a_text_within_the_limit_is_the_text(limit: int) -> None:
    document = tagged("river ice is/VBZ thin/JJ . the/DT ice road closes/VBZ in/IN spring .")
    made = digest(document, leading(document, "ice"), limit)
    assert made.text == document.text
    assert made.pieces == (Span(0, len(document.text)),)
    assert made.words == document.word_count == 12


@settings(deadline=None)
@drawn(st.randoms(use_true_random=False), st.integers(LEAST_WORDS, 200))
def test_a_digest_has_at_most_as_many_words_as_it_may_and_its_pieces_are_in_text_order(
    random: Random, limit: int
) -> None:
    document = random_headings(random_text(random, longest=90), random)
    made = digest(document, leading(document, *random.sample(WORDS, 6), "radar map", "ice road"), limit)
    assert len(made.text.split()) <= made.words <= limit
    assert all(before.end < after.start for before, after in pairwise(made.pieces))
    assert made.text.split() == [word for piece in made.pieces for word in piece.of(document.text).split()]


def test_what_no_leading_phrase_asks_for_is_left_out_though_there_is_room() -> None:
    document = tagged(" ".join([FILLER] * 30))
    assert digest(document, [], 100).words == round(OPENING * 100)


# -- Content ----------------------------------------------------------------------------------------------------------


def test_a_digest_begins_as_the_text_does() -> None:
    document = random_text(Random(0))
    made = digest(document, leading(document, "radar map"), 100)
    assert made.text.split()[:25] == document.text.split()[:25]


def test_headings_are_in_a_digest_though_they_have_no_leading_phrase() -> None:
    document = tagged(" ".join([FILLER] * 20 + ["harbour wall ."] + [FILLER] * 20 + ["salt marsh ."] + [FILLER] * 20))
    document = with_headings(document, "harbour wall .", "salt marsh .")
    assert digest(document, [], 40).text == " ".join([document.text[: len("so it was there . ") * 2 - 1]]) + (
        "\nharbour wall .\nsalt marsh ."
    )


def test_the_first_headings_are_in_a_digest_if_there_are_too_many() -> None:
    names = [f"part{number} ." for number in range(30)]
    document = with_headings(tagged(" ".join(f"{name} {FILLER}" for name in names)), *names)
    made = digest(document, [], 100)
    opening = document.end_of_words(25)
    assert [piece.of(document.text) for piece in made.pieces if piece.start > opening] == [
        name for name in names if document.text.index(name) > opening
    ][: round(HEADINGS * 100) // 2]


def test_a_heading_longer_than_the_room_for_headings_is_left_out_and_later_ones_are_not() -> None:
    long_heading = " ".join(["title"] * 20)
    document = tagged(" ".join([FILLER] * 10 + [long_heading, ".", *[FILLER] * 10, "salt marsh", *[FILLER] * 10]))
    made = digest(with_headings(document, long_heading, "salt marsh"), [], 60)
    assert "title" not in made.text
    assert made.text.endswith("\nsalt marsh")


def test_leading_phrases_from_all_over_a_long_text_are_mentioned() -> None:
    names = [f"thing{number}" for number in range(12)]
    document = tagged(" ".join(f"the/DT {name} helps/VBZ . " + " ".join([FILLER] * 40) for name in names))
    assert document.word_count > 2400
    made = digest(document, leading(document, *names), 120)
    assert all(f"the {name} helps ." in made.text for name in names)


def test_phrases_that_lead_by_less_are_not_asked_for() -> None:
    names = [f"thing{number}" for number in range(COVERED + 1)]
    document = tagged(" ".join(f"{name} helps/VBZ . {FILLER}" for name in ("first", *names)))
    made = digest(document, leading(document, *names), document.word_count - 1)
    assert f"{names[-2]} helps ." in made.text
    assert f"{names[-1]} helps ." not in made.text


def plain_digest(document: Document, leaders: list[Candidate], words: int) -> list[Span]:
    """The opening, and again and again the sentence that is worth most; all of it looked up in the text each time."""
    opening = Span(0, document.end_of_words(round(OPENING * words)))
    pieces, left = [opening], words - round(OPENING * words)
    mentions = [sum(held(opening, o.span) for o in leader.occurrences) for leader in leaders]
    while True:
        best, most = None, 0.0
        for sentence in document.sentences:
            if sentence.start < opening.end or sentence in pieces:
                continue
            worth = 0.0
            for rank, leader in enumerate(leaders):
                if any(held(sentence, o.span) for o in leader.occurrences):
                    worth += REPEATED ** mentions[rank] / sqrt(1 + rank)
            worth /= len(sentence.of(document.text).split()) ** SHORTER
            if worth > most + 1e-12:
                best, most = sentence, worth
        if best is None or len(best.of(document.text).split()) > left:
            return sorted(pieces)
        pieces.append(best)
        left -= len(best.of(document.text).split())
        for rank, leader in enumerate(leaders):
            mentions[rank] += any(held(best, o.span) for o in leader.occurrences)


@pytest.mark.parametrize("seed", range(8))
def test_sentences_are_chosen_as_a_plain_loop_chooses_them(seed: int) -> None:
    random = Random(seed)
    document = random_text(random)
    leaders = leading(document, *random.sample(WORDS, 5), "radar map", "ice road", "ferry crew")
    for limit in (40, 80, 150):
        assert list(digest(document, leaders, limit).pieces) == plain_digest(document, leaders, limit)


def test_of_a_long_sentence_the_stretch_with_the_phrase_is_read() -> None:
    numbers = " ".join(f"n{number}/CD" for number in range(100)).replace("n50/CD", "moraine")
    document = tagged(" ".join([FILLER] * 20) + f" {numbers} .")
    made = digest(document, leading(document, "moraine"), 80)
    stretch = made.pieces[-1].of(document.text).split()
    assert len(stretch) == LONGEST
    assert (stretch[0], stretch[10], stretch[-1]) == ("n40", "moraine", "n79")


# -- Places -----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@drawn(st.data())
def test_a_span_has_a_place_in_the_digest_exactly_if_one_piece_holds_it(data: st.DataObject) -> None:
    source = "".join(map(chr, range(0x4E00, 0x4E00 + 60)))  # no character twice
    cuts = data.draw(st.lists(st.integers(0, 60), min_size=2, max_size=12, unique=True).map(sorted))
    pieces = tuple(Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False))
    start = data.draw(st.integers(0, 59))
    span = Span(start, data.draw(st.integers(start + 1, 60)))
    made = Digest(source, pieces, 0)
    place = made.place(span)
    assert (place is not None) == any(held(piece, span) for piece in pieces)
    if place is not None:
        assert place.of(made.text) == span.of(source)


@pytest.mark.parametrize("seed", range(4))
def test_every_occurrence_in_a_digest_stands_where_its_place_is(seed: int) -> None:
    random = Random(seed)
    document = random_headings(random_text(random, longest=60), random)
    leaders = leading(document, *WORDS, "radar map", "ice road")
    made = digest(document, leaders, 150)
    spans = [occurrence.span for leader in leaders for occurrence in leader.occurrences]
    places = [made.place(span) for span in spans]
    assert {place is None for place in places} == {True, False}
    for span, place in zip(spans, places, strict=True):
        assert place is None or place.of(made.text) == span.of(document.text)


# -- Languages without spaces -----------------------------------------------------------------------------------------

CHINESE = unspaced("河流 冰层 很 薄 。 " + "它 就 在 那里 。 " * 20 + "雷达 地图 导航 。 " + "它 就 在 那里 。 " * 20)


def words_in(made: Digest, document: Document) -> int:
    return sum(any(held(piece, span) for piece in made.pieces) for span in document.word_spans)


def test_words_without_spaces_are_counted_as_they_were_read() -> None:
    made = digest(CHINESE, leading(CHINESE, "雷达地图"), 20)
    assert made.text == "河流冰层很薄。\n雷达地图导航。"
    assert made.words == words_in(made, CHINESE) == 9


def test_a_text_without_spaces_is_its_own_digest_up_to_the_limit() -> None:
    assert digest(CHINESE, [], len(CHINESE.words)).text == CHINESE.text


def test_headings_without_spaces_fill_no_more_than_their_room() -> None:
    names = [f"{'甲乙丙丁戊己庚辛'[number]} 章 很 长 的 标题" for number in range(8)]
    text = " ".join(f"{name} 。 它 就 在 那里 。" for name in names)
    document = with_headings(unspaced(text), *(name.replace(" ", "") for name in names))
    made = digest(document, [], 40)
    assert words_in(made, document) == made.words == 10 + 12  # two headings of six words


# -- Answers ----------------------------------------------------------------------------------------------------------


def test_only_the_phrase_itself_is_likely_and_only_what_follows_it_ends_it() -> None:
    values = [-9.0, -1.0, -3.0, -0.5]
    assert likelihood(values) == pytest.approx(-4 / 2**0.6)
    assert ending(values) == -0.5


def test_rounding_above_0_and_impossible_tokens_are_bounded() -> None:
    assert likelihood([0.0, 0.114, 0.0]) == 0
    assert ending([0.0, -1.0, float("-inf")]) == LEAST
    assert likelihood([0.0, 0.0]) == LEAST  # the phrase has no token of its own


def test_attention_is_compared_with_that_of_the_mean_token() -> None:
    assert attention(6.0, 2.0) == pytest.approx(log(1 + log(1 + 3)))
    assert attention(2.0, 2.0) == attention(1.0, 0.0) == NOT_READ
    assert attention(-1.0, 2.0) == 0


def test_the_occurrence_that_receives_most_counts_of_those_that_were_read() -> None:
    assert Answer(-1.0, -1.0, (0.1, None, 0.3)).attention == 0.3
    assert Answer(-1.0, -1.0, (None, None)).attention == NOT_READ


def test_the_state_of_a_phrase_is_the_mean_over_the_occurrences_that_were_read() -> None:
    one, other = np.array([1.0, -2.0]), np.array([3.0, 0.0])
    answer = Answer(-1.0, -1.0, (None, None, None), (one, None, other))
    assert answer.state is not None
    assert answer.state.tolist() == [2.0, -1.0]
    assert Answer(-1.0, -1.0, (None,), (None,)).state is None


def test_several_readings_give_the_likeliest_answer_the_highest_attention_and_the_mean_state() -> None:
    one, other = np.array([1.0, -2.0]), np.array([3.0, 0.0])
    best = best_of(
        [
            Answer(-2.0, -0.1, (0.5, None, None), (one, None, None)),
            Answer(-1.0, -3.0, (0.2, 0.3, None), (other, one, None)),
        ]
    )
    assert (best.likelihood, best.ending, best.received) == (-1.0, -3.0, (0.5, 0.3, None))
    assert [None if state is None else state.tolist() for state in best.states] == [[2.0, -1.0], [1.0, -2.0], None]


# -- Inquiries --------------------------------------------------------------------------------------------------------

TEXT = "River ice is thin . Old maps fail . The ice road closes . A radar map guides trucks ."
DIGEST = Digest(TEXT, (Span(0, 19), Span(36, 57)), 10)


def inquiry() -> Inquiry:
    document = tagged(TEXT)
    return Inquiry(DIGEST, given(document, ["river ice", "ice", "radar map"])[0])


def test_a_phrase_is_asked_about_as_it_first_occurs_in_the_text() -> None:
    assert inquiry().forms == ["River ice", "ice", "radar map"]


def test_occurrences_receive_attention_where_they_stand_in_the_digest() -> None:
    tokens = tokenise(small.tokenizer("decoder"), DIGEST.text, Span(0, len(DIGEST.text)))
    sums = np.arange(1.0, len(tokens) + 1, dtype=np.float32)
    received = Received(tokens, sums)
    mean = float(sums[tokens.first :].mean())

    def at(phrase: str, start: int) -> float:
        place = DIGEST.text.index(phrase, start)
        return attention(received.at(Span(place, place + len(phrase))), mean)

    assert inquiry().attention(received) == [(at("River ice", 0),), (at("ice", 0), at("ice", 20)), (None,)]


@pytest.mark.parametrize("kind", ["llama", "gemma3"])
def test_a_text_within_the_limit_is_asked_about_as_it_is(kind: str) -> None:
    backbone = small.decoder(kind).with_template(TEMPLATE)
    document = tagged(TEXT)
    candidates = given(document, ["river ice", "ice", "radar map"])[0]
    (answers,) = ask(backbone, [Inquiry(digest(document, candidates, 900), candidates)])
    (encoding,) = backbone.encode([TextRange(TEXT, Span(0, len(TEXT)))], (2,))
    (scored,) = backbone.log_likelihood([Question(encoding, ["River ice", "ice", "radar map"])])
    assert [answer.likelihood for answer in answers] == pytest.approx([likelihood(row) for row in scored])
    assert [answer.ending for answer in answers] == pytest.approx([ending(row) for row in scored])
    assert [len(answer.received) for answer in answers] == [1, 2, 1]
