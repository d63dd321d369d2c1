"""Words without their inflection: two forms of a phrase are one where these are equal.

A stem also merges derivations, which are other words: option and optional, generation and generator. In English only
the plural and the possessive are removed, since phrases are made of nouns, and a "training set" is not a "trained set".
In other languages simplemma's dictionary gives the base form; where no derivation is lost, Snowball's stem is enough.
"""

from __future__ import annotations

import unicodedata
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from mudy.reading.candidates.stemming import stem_of
from mudy.reading.languages.verbs import INFINITIVES, dictionaries

if TYPE_CHECKING:
    from simplemma.strategies import DictionaryLookupStrategy

DICTIONARIES = {  # languages whose stemmers take off derivations, or that have none, by simplemma's codes
    **{code: code for code in (*INFINITIVES, "da", "ga", "gl", "nb", "nn", "ro", "sv")},
    "no": "nb",
}
S_PLURALS = frozenset({"ca", "es", "fr", "gl", "nl", "pt"})
UNINFLECTED = frozenset({"eu", "id"})  # whose stemmers take off derivations, and of which there is no dictionary
SHORTEST_HEAD = 5  # letters of the known word at the end of an unknown one
MOST_LOOKUPS = 3  # données, donnée, donner
LONGEST_ENDING = 3  # letters that a stemmer may take off an unknown word
NO_PLURALS = frozenset({"aids", "alias", "atlas", "bias", "canvas", "lens", "news"})


@lru_cache(maxsize=1 << 16)
def base_form(word: str, language: str) -> str:
    """A word in lower case without its inflection; only for comparison, since it need not be a word."""
    word = unicodedata.normalize("NFKC", word).lower()
    if language == "en":
        return _english(word)
    if language in DICTIONARIES:
        return _looked_up(word, language)
    return word if language in UNINFLECTED else stem_of(word, language)


def _english(word: str) -> str:
    """What singular and plural have in common: boxes -> box, cities and city -> city, houses and house -> hous."""
    word = word.replace("’", "'").removesuffix("'s").removesuffix("'")
    if word.endswith(("yses", "theses")):
        return word[:-2] + "is"
    if len(word) > 3 and word.endswith("s") and word[-2].isalpha() and word not in NO_PLURALS:  # not GPS, the 1990s
        singular = word.endswith("ss") or (word.endswith(("us", "is")) and len(word) > 4)  # but APIs and GPUs
        word = word if singular else word[:-1]
    if len(word) > 3 and word.endswith(("se", "xe", "ze", "che", "she", "oe")):  # an e that a plural may have put there
        return word[:-1]
    return word[:-2] + "y" if word.endswith("ie") else word


def _looked_up(word: str, language: str) -> str:
    """The base form of a word, or of the longest known word at its end; else it loses a short ending."""
    for start in range(max(1, len(word) - SHORTEST_HEAD + 1)):
        if (lemma := _lemma(word[start:], language)) is not None:
            return word[:start] + lemma
    stem = stem_of(word, language)
    return stem if len(word) - len(stem) <= LONGEST_ENDING else word


def _lemma(word: str, language: str) -> str | None:
    """Look a word up, and then its entry again, since the dictionary may list a noun as a form of a verb."""
    lemma = None
    for _ in range(MOST_LOOKUPS):
        entry = _entry(lemma or word, language)
        if entry is None or entry == lemma:
            break
        lemma = entry
    return lemma


def _entry(word: str, language: str) -> str | None:
    """An entry of the dictionary; in German that of the noun comes first, though the word is in lower case."""
    entry = _lookup().get_lemma(word.capitalize() if language == "de" else word, DICTIONARIES[language])
    lemma = None if entry is None else entry.lower()
    if language in S_PLURALS and word.endswith("s") and lemma not in (None, word, word[:-1]):
        return word[:-1] if _entry(word[:-1], language) == word[:-1] else lemma  # téléphones: not a form of téléphoner
    return lemma


@cache
def _lookup() -> DictionaryLookupStrategy:
    from simplemma.strategies import DictionaryLookupStrategy

    return DictionaryLookupStrategy(dictionaries())
