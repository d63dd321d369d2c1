"""The stems of words in any language, and their base forms.

Gold phrases, vocabularies and evidence are compared by stems: Snowball's, and for English those of the published
evaluations: Porter, "An algorithm for suffix stripping", Program 14 (1980), with NLTK's extensions (NLTK itself would
take up to a second of every start). Two forms of a phrase are one where their base forms are equal. A stem also merges
derivations, which are other words: option and optional. In English only the plural and the possessive are removed; in
other languages simplemma's dictionary gives the base form, or Snowball's stem where that loses no derivation.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from mudy.reading.languages import LANGUAGE_NAMES
from mudy.reading.languages.verbs import INFINITIVES, dictionaries

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


def stems_of(phrase: str, language: str = "en") -> tuple[str, ...]:
    """The stem of each white-space word of a phrase, lower-cased."""
    return tuple(stem_of(word, language) for word in phrase.split())


@lru_cache(maxsize=1 << 16)
def stem_of(word: str, language: str) -> str:
    if language == "en":
        return stem(word)
    word = unicodedata.normalize("NFKC", word).lower()
    plurals = PLURALS.get(language, ()) if len(word) >= SHORTEST_PLURAL else ()
    plural, singular = next((pair for pair in plurals if word.endswith(pair[0])), ("", ""))
    return _stemmer(language)(word.removesuffix(plural) + singular)


def stem_parts(phrase: str, language: str) -> frozenset[str]:
    """The stems of a phrase, to tell whether another holds it; in unspaced scripts, every two characters."""
    parts: set[str] = set()
    for name in stems_of(phrase, language):
        if language == "en" or not _UNSPACED_RUN.search(name):
            parts.add(name)
            continue
        parts.update(_UNSPACED_RUN.sub(" ", name).split())
        for run in _UNSPACED_RUN.findall(name):
            parts.update([run] if len(run) == 1 else (run[i : i + 2] for i in range(len(run) - 1)))
    return frozenset(parts)


@cache
def _stemmer(language: str) -> Callable[[str], str]:
    import snowballstemmer

    return snowballstemmer.stemmer(SNOWBALL[language]).stemWord if language in SNOWBALL else str


# -- English: Porter's stemmer -----------------------------------------------------------------------------------------


def _rules(pairs: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in pairs.split())


UNCHANGED = ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")
IRREGULAR = {word: word for word in UNCHANGED} | _rules(
    "innings:inning outings:outing cannings:canning skies:sky dying:die lying:lie tying:tie"
)
S_ENDINGS = _rules("sses:ss ies:i ss:ss s:")  # step 1a; of all rules the first that fits decides, here and below
DOUBLE_SUFFIXES = _rules(  # step 2: relational -> relate
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful"
)
SUFFIXES = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")  # step 3: hopeful -> hope
ENDINGS = _rules(  # step 4: allowance -> allow
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ou: ism: ate: iti: ous: ive: ize:"
)


def stem(word: str) -> str:
    found = word.lower()
    if found in IRREGULAR or len(word) <= 2:
        return IRREGULAR.get(found, found)
    found = found[:-1] if len(found) == 4 and found.endswith("ies") else _replaced(found, S_ENDINGS, 0)
    found = _present(found)
    if len(found) > 2 and found[-1] == "y" and _letters(found)[-2] == "c":  # step 1c: happy -> happi; enjoy stays
        found = found[:-1] + "i"
    found = _replaced(_double_suffix(found), SUFFIXES, 1)
    if not found.endswith("ion"):
        found = _replaced(found, ENDINGS, 2)
    elif _measure(found[:-3]) > 1 and found[-4] in "st":  # adoption -> adopt
        found = found[:-3]
    if found.endswith("e") and _measure(found[:-1]) > _ends_short(found[:-1]):  # step 5a: probate -> probat
        found = found[:-1]
    return _replaced(found, {"l": ""}, 2) if found.endswith("ll") else found  # step 5b: controll -> control


def _present(word: str) -> str:
    """Step 1b: agreed -> agree, plastered -> plaster, motoring -> motor; died -> die, spied -> spi."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return _replaced(word, {"eed": "ee"}, 1)
    rest = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    if rest == word or "v" not in _letters(rest):
        return word
    if rest.endswith(("at", "bl", "iz")):  # conflat(ed) -> conflate
        return rest + "e"
    if rest[-1:] == rest[-2:-1] and _letters(rest)[-1] == "c":  # hopp(ing) -> hop
        return rest if rest[-1] in "lsz" else rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _ends_short(rest) else rest  # fil(ing) -> file


def _double_suffix(word: str) -> str:
    """Step 2; what radicalli -> radical leaves is looked at again."""
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    return _replaced(word, {"ogi": "og"} if word.endswith("logi") else DOUBLE_SUFFIXES, 1)


def _replaced(word: str, rules: Mapping[str, str], least: int) -> str:
    """The word after the first rule whose suffix it has, if what stands before the suffix has a measure of `least`."""
    for suffix, other in rules.items():
        if word.endswith(suffix):
            rest = word[: -len(suffix)]
            return rest + other if _measure(rest) >= least else word
    return word


def _letters(word: str) -> str:
    """The word with c for each consonant and v for each vowel, which a y is after a consonant."""
    found = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and found.endswith("c"))
        found += "v" if vowel else "c"
    return found


def _measure(word: str) -> int:
    """How often a consonant follows a vowel: Porter's m."""
    return _letters(word).count("vc")


def _ends_short(word: str) -> bool:
    """Whether it ends as hop or fil do, and not in w, x or y; or is just a vowel and a consonant."""
    letters = _letters(word)
    return letters == "vc" or (letters.endswith("cvc") and word[-1] not in "wxy")


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
def _lookup() -> Any:
    from simplemma.strategies import DictionaryLookupStrategy

    return DictionaryLookupStrategy(dictionaries())
