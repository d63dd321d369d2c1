"""Words and phrases reduced to their stems, as the published evaluations do: Porter's, with NLTK's extensions.

Porter, "An algorithm for suffix stripping", Program 14 (1980). The rules stand here because NLTK's stemmer cannot be
imported without all of NLTK, and with it SciPy and, where it is there, scikit-learn: up to a second of every start. The
stems are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

UNCHANGED = ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")
IRREGULAR = {
    **{word: word for word in UNCHANGED},
    **{plural: plural[:-1] for plural in ("innings", "outings", "cannings")},
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
}
DOUBLE_SUFFIXES = {  # step 2; of all rules the first that fits decides, here and below
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
}
SUFFIXES = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}  # step 3
ENDINGS = {  # step 4
    **dict.fromkeys(("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent"), ""),
    **dict.fromkeys(("ou", "ism", "ate", "iti", "ous", "ive", "ize"), ""),
}


def stems(phrase: str) -> tuple[str, ...]:
    """The stem of each word, lower-cased."""
    return tuple(stem(word) for word in phrase.split())


@lru_cache(maxsize=1 << 16)
def stem(word: str) -> str:
    """The stem of one word, lower-cased."""
    found = word.lower()
    if found in IRREGULAR:
        return IRREGULAR[found]
    if len(word) <= 2:
        return found
    for step in (_singular, _present, _final_y, _double_suffix, _suffix, _ending, _final_e, _final_ll):
        found = step(found)
    return found


# -- Steps ------------------------------------------------------------------------------------------------------------


def _singular(word: str) -> str:
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
