"""The stems of words in any language: Porter's stemmer for English, Snowball's for others.

Gold phrases, vocabularies and evidence are compared by stems. The English stems are those of the published evaluations.
Words of a language without a stemmer are only lower-cased and normalized (NFKC), so that full-width letters and
composed accents make no difference. Snowball is imported with the first word that needs it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from functools import cache, lru_cache

from mudy.candidates.porter import stem
from mudy.reading.languages import LANGUAGE_NAMES

# Characters of scripts written without spaces between words (or, in Korean, with particles stuck to them).
UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_UNSPACED_RUN = re.compile(f"{UNSPACED}+")
_SNOWBALL = "ar ca cs da de el eo es et eu fa fi fr ga hi hu hy id it lt ne nl no pl pt ro ru sr sv ta tr"
SNOWBALL = {  # languages with a stemmer, and its name
    **{code: LANGUAGE_NAMES[code].lower() for code in _SNOWBALL.split()},
    "nb": "norwegian",
    "nn": "norwegian",
}
PLURALS = {  # regular plurals that Snowball does not reduce to their singulars: nações, animais, laghi
    "pt": (("ões", "ão"), ("ães", "ão"), ("ais", "al"), ("éis", "el"), ("óis", "ol"), ("uis", "ul"), ("ns", "m")),
    "it": (("ghi", "go"), ("ghe", "ga"), ("chi", "co"), ("che", "ca")),
}
SHORTEST_PLURAL = 5  # letters


def stems_of(phrase: str, language: str) -> tuple[str, ...]:
    """The stem of each white-space word of a phrase, lower-cased."""
    return tuple(stem_of(word, language) for word in phrase.split())


def stem_of(word: str, language: str) -> str:
    """The stem of one word, lower-cased."""
    return stem(word) if language == "en" else _stem(word, language)


def stem_parts(phrase: str, language: str) -> frozenset[str]:
    """The parts of a phrase, to tell whether it is contained in another: its stems.

    In scripts without spaces, every two adjacent characters are a part, and so is a single one.
    """
    parts: set[str] = set()
    for name in stems_of(phrase, language):
        if language == "en" or not _UNSPACED_RUN.search(name):
            parts.add(name)
            continue
        parts.update(_UNSPACED_RUN.sub(" ", name).split())
        for run in _UNSPACED_RUN.findall(name):
            parts.update([run] if len(run) == 1 else (run[i : i + 2] for i in range(len(run) - 1)))
    return frozenset(parts)


@lru_cache(maxsize=1 << 16)
def _stem(word: str, language: str) -> str:
    word = unicodedata.normalize("NFKC", word).lower()
    return _stemmer(language)(_singular(word, language))


def _singular(word: str, language: str) -> str:
    for plural, singular in PLURALS.get(language, ()):
        if len(word) >= SHORTEST_PLURAL and word.endswith(plural):
            return word.removesuffix(plural) + singular
    return word


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    if language not in SNOWBALL:
        return str
    import snowballstemmer

    stemmer: Callable[[str], str] = snowballstemmer.stemmer(SNOWBALL[language]).stemWord
    return stemmer
