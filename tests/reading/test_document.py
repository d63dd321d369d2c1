import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy.errors import SettingError
from mudy.reading.document import Document, Span, first_words, squeeze


def test_a_span_reads_its_characters() -> None:
    assert Span(5, 9).of("deep neural") == "neur"


def test_squeezing_leaves_single_spaces() -> None:
    assert squeeze(" deep\n\t neural\u00a0net ") == "deep neural net"


def test_a_character_belongs_to_the_sentence_that_starts_before_it() -> None:
    document = Document("One. Two.", (Span(0, 4), Span(5, 9)), ())
    assert [document.sentence_at(i) for i in (0, 3, 4, 5, 8)] == [0, 0, 0, 1, 1]


def test_the_first_words_keep_their_white_space() -> None:
    assert first_words(" one\n two  three four ", 2) == (" one\n two", 2)
    assert first_words("one two", 2) == ("one two", 0)
    assert first_words("one two", 0) == ("", 2)
    assert first_words("one two ", None) == ("one two ", 0)


def test_a_negative_limit_is_refused() -> None:
    with pytest.raises(SettingError, match="-1"):
        first_words("one", -1)


@given(st.text(), st.integers(0, 5))
def test_the_first_words_are_a_prefix_and_the_omitted_ones_the_rest(text: str, n: int) -> None:
    kept, omitted = first_words(text, n)
    assert text.startswith(kept)
    assert len(kept.split()) + omitted == len(text.split())
    assert len(kept.split()) <= n
