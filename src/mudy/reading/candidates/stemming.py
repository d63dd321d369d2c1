"""The stems of words in any language: Porter's stemmer for English, Snowball's for others.

Gold phrases, vocabularies and evidence are compared by stems. The English stems are those of the published evaluations:
Porter, "An algorithm for suffix stripping", Program 14 (1980), with NLTK's extensions. NLTK itself would take up to a
second of every start.

Words of a language without a stemmer are only lower-cased and normalized (NFKC), so that full-width letters and
composed accents make no difference. Snowball is imported with the first word that needs it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

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


def stems_of(phrase: str, language: str = "en") -> tuple[str, ...]:
    """The stem of each white-space word of a phrase, lower-cased."""
    return tuple(stem_of(word, language) for word in phrase.split())


def stem_of(word: str, language: str) -> str:
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


# -- English: Porter's stemmer -----------------------------------------------------------------------------------------


def _rules(pairs: str) -> dict[str, str]:
    return dict(pair.split(":") for pair in pairs.split())


UNCHANGED = ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")
IRREGULAR = {word: word for word in UNCHANGED} | _rules(
    "innings:inning outings:outing cannings:canning skies:sky dying:die lying:lie tying:tie"
)
DOUBLE_SUFFIXES = _rules(  # step 2; of all rules the first that fits decides, here and below
    "ational:ate tional:tion enci:ence anci:ance izer:ize bli:ble alli:al entli:ent eli:e ousli:ous ization:ize "
    "ation:ate ator:ate alism:al iveness:ive fulness:ful ousness:ous aliti:al iviti:ive biliti:ble fulli:ful"
)
SUFFIXES = _rules("icate:ic ative: alize:al iciti:ic ical:ic ful: ness:")  # step 3
ENDINGS = _rules(  # step 4
    "al: ance: ence: er: ic: able: ible: ant: ement: ment: ent: ou: ism: ate: iti: ous: ive: ize:"
)


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    found = word.lower()
    if found in IRREGULAR:
        return IRREGULAR[found]
    if len(word) <= 2:
        return found
    for step in (_step_1a, _present, _final_y, _double_suffix, _suffix, _ending, _final_e, _final_ll):
        found = step(found)
    return found


def _step_1a(word: str) -> str:
    """Step 1a: caresses -> caress, ponies -> poni, cats -> cat; dies -> die."""
    if word.endswith(("sses", "ies")):
        return word[:-1] if len(word) == 4 and word.endswith("ies") else word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _present(word: str) -> str:
    """Step 1b: agreed -> agree, plastered -> plaster, motoring -> motor; died -> die, spied -> spi."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for suffix in ("ed", "ing"):
        rest = word.removesuffix(suffix)
        if rest != word and "v" in _letters(rest):
            return _mended(rest)
    return word


def _mended(word: str) -> str:
    """Put back what an ending took away or doubled: conflat(ed) -> conflate, hopp(ing) -> hop, fil(ing) -> file."""
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if word[-1:] == word[-2:-1] and _letters(word)[-1] == "c":
        return word if word[-1] in "lsz" else word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _final_y(word: str) -> str:
    """Step 1c: happy -> happi; but enjoy and by stay."""
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and _letters(word)[-2] == "c" else word


def _double_suffix(word: str) -> str:
    """Step 2: relational -> relate; what radicalli -> radical leaves is looked at again."""
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _double_suffix(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _replaced(word, DOUBLE_SUFFIXES, 1)


def _suffix(word: str) -> str:
    """Step 3: electrical -> electric, hopeful -> hope."""
    return _replaced(word, SUFFIXES, 1)


def _ending(word: str) -> str:
    """Step 4: allowance -> allow, adoption -> adopt."""
    if word.endswith("ion"):
        return word[:-3] if _measure(word[:-3]) > 1 and word[-4] in "st" else word
    return _replaced(word, ENDINGS, 2)


def _final_e(word: str) -> str:
    """Step 5a: probate -> probat, cease -> ceas; but rate stays."""
    if not word.endswith("e"):
        return word
    measure = _measure(word[:-1])
    return word[:-1] if measure > 1 or (measure == 1 and not _ends_short(word[:-1])) else word


def _final_ll(word: str) -> str:
    """Step 5b: controll -> control."""
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


# -- What the rules ask of a word -------------------------------------------------------------------------------------


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
