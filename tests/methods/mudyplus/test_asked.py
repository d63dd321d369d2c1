"""What a language model said, as evidence: likelihood, boundary, attention."""

from math import log

import numpy as np
import pytest

from mudy.engines.interfaces import Question, Received, TextRange
from mudy.engines.tokens import tokenise
from mudy.methods.mudyplus.asked import (
    LEAST,
    NOT_READ,
    TEMPLATE,
    Answer,
    Inquiry,
    ask,
    attention,
    best_of,
    ending,
    likelihood,
)
from mudy.methods.mudyplus.digest import Digest, digest
from mudy.reading.candidates import given
from mudy.reading.document import Span
from tests import small
from tests.tagged import tagged


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
