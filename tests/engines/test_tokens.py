"""Characters are the shared ruler: spans become tokens and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy.engines.tokens import Tokens, prompts_of, tokenise
from mudy.errors import CandidateTooLong
from mudy.reading.document import Span
from tests import small

KINDS = ("decoder", "t5")


@pytest.mark.parametrize("kind", KINDS)
@given(st.data())
def test_the_tokens_of_a_span_hold_it(kind: str, data: st.DataObject) -> None:
    text = data.draw(st.text(st.characters(), min_size=1, max_size=40))
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    tokens = tokenise(small.tokenizer(kind), text, Span(0, len(text)), prefix="Text: ")
    held = tokens.of(Span(start, end))
    assert 0 <= held.start < held.stop <= len(tokens)
    if text[start:end].isascii() and text[start:end].isalpha():
        assert tokens.starts[held.start] <= start
        assert tokens.ends[held.stop - 1] >= end


@pytest.mark.parametrize("kind", KINDS)
def test_offsets_are_those_of_the_whole_text_whatever_part_is_read(kind: str) -> None:
    start = small.TEXT.index("radar")
    tokens = tokenise(small.tokenizer(kind), small.TEXT, Span(start - 2, len(small.TEXT)), prefix="Text: ")
    held = tokens.of(Span(start, start + 5))
    assert small.TEXT[tokens.starts[held.start] : tokens.ends[held.stop - 1]].strip() == "radar"


def test_a_token_before_the_text_stands_for_none_of_it() -> None:
    tokens = tokenise(small.tokenizer("decoder"), "ice", Span(0, 3), prefix="Text: ")
    assert tokens.of(Span(0, 3)).start == tokens.first > 0
    assert tokens.ids[0] == 3  # BOS


def test_a_span_that_the_tokeniser_left_out_falls_to_its_neighbour() -> None:
    tokens = Tokens([5, 6], [0, 4], [2, 6])
    assert tokens.of(Span(2, 4)) == range(1, 2)
    assert tokens.of(Span(6, 9)) == range(1, 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phrase", ["ice", "radar map", "U.S.", "5G", "C++", "{}", "\ud800", "東京"])
def test_the_scored_tokens_are_about_the_candidate_and_the_one_after_it(kind: str, phrase: str) -> None:
    tokenizer = small.tokenizer(kind)
    template = " Answer: This text mainly talks about {}." if kind == "decoder" else "This book mainly talks about {} ."
    (prompt,) = prompts_of(tokenizer, template, [phrase], 99, special=kind == "t5")
    pieces = [tokenizer.decode([i]) for i in prompt.ids]
    assert "about".endswith(pieces[prompt.scored[0]].strip())
    assert len(prompt.scored) == prompt.last - prompt.first + 3
    candidate = tokenizer.decode(prompt.ids[prompt.first : prompt.last + 1]).strip()
    assert candidate in (phrase, "\ufffd") or kind == "t5"  # T5's small alphabet knows neither Japanese nor surrogates


def test_a_candidate_longer_than_the_room_kept_for_it_is_refused() -> None:
    with pytest.raises(CandidateTooLong, match="Leave it out"):
        prompts_of(small.tokenizer("decoder"), "about {}.", ["long " * 200], 128, special=False)
