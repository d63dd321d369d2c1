"""Stems: Porter's rules as NLTK has them, without NLTK."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy.reading.candidates.stemming import DOUBLE_SUFFIXES, ENDINGS, IRREGULAR, SUFFIXES, stem
from mudy.reading.candidates.stemming import stems_of as stems

PAPER = """
caresses caress, ponies poni, ties tie, cats cat, feed feed, agreed agre, plastered plaster, bled bled, motoring motor,
sing sing, conflated conflat, troubled troubl, sized size, hopping hop, tanned tan, falling fall, hissing hiss,
fizzed fizz, failing fail, filing file, happy happi, sky sky, relational relat, conditional condit, rational ration,
digitizer digit, conformably conform, radically radic, differently differ, vilely vile, analogously analog,
vietnamization vietnam, operator oper, feudalism feudal, decisiveness decis, hopefulness hope, formality formal,
sensitivity sensit, sensibility sensibl, triplicate triplic, formative form, electrical electr, goodness good,
revival reviv, allowance allow, airliner airlin, adoption adopt, probate probat, rate rate, cease ceas, controlling
control, roll roll, dying die, spied spi, enjoy enjoy, geology geolog, As as, Networks network
"""
INFLECTIONS = ("s", "ss", "sses", "ies", "ied", "ed", "eed", "ing", "y", "ly", "e", "ll", "ion", "logi")
PARTS = ["", *DOUBLE_SUFFIXES, *SUFFIXES, *ENDINGS, *IRREGULAR, *INFLECTIONS]
WORDS = st.builds(
    "{}{}{}".format,
    st.text(st.sampled_from("aeiouybcdlstzwxnr"), max_size=6),
    st.sampled_from(PARTS),
    st.sampled_from(PARTS),
)


@pytest.mark.parametrize(("word", "expected"), [pair.split() for pair in PAPER.split(",")])
def test_examples_of_the_paper_and_of_the_extensions(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(st.one_of(WORDS, st.text(max_size=12)))
def test_any_word_has_the_stem_that_nltk_gives_it(word: str) -> None:
    porter = pytest.importorskip("nltk.stem.porter")
    assert stem(word) == porter.PorterStemmer().stem(word)


def test_a_phrase_is_the_stems_of_its_words() -> None:
    assert stems("Neural  Networks") == ("neural", "network")


def test_nltk_is_not_imported() -> None:
    use = "from mudy.reading.candidates.stemming import stem; stem('networks')"
    code = f"import sys; {use}; sys.exit('nltk' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
