"""One tagger for the whole test run, and texts that no tagger was made for."""

from functools import cache

from hypothesis import strategies as st

from mudy.reading.tagging import Tagger


@cache
def english() -> Tagger:
    return Tagger("en")


SAMPLE = """
deep neural network Networks state-of-the-art U.S. IT it the of C++ 5G AT&T COVID-19 1990-2000 http://a.b/c a@b.c a x 42
' " ( ) [ . , ! ? - – -- ` “ ” naïve Straße ΟΔΟΣ İstanbul кошка 深度学习 機械学習 딥러닝 हिन्दी e\u0301 👩‍👩‍👧 🇪🇺 3.14
"""
WORDS = st.sampled_from(SAMPLE.split())
GAPS = st.sampled_from(
    [" ", " ", " ", "\n", "\n\n", "\r\n", "\t", "", "\u00a0", "\u2028", "\x00", "\x1c", "\ud800", "\u200b"]
)
ODD = st.text(alphabet=st.characters(), max_size=60)  # every code point, lone surrogates too
MIXED = st.lists(st.tuples(WORDS, GAPS).map("".join), max_size=30).map("".join)
TEXTS = st.one_of(MIXED, ODD, st.tuples(MIXED, ODD, MIXED).map("".join))
