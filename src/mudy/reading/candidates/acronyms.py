"""Acronyms that a text defines, with what they stand for: "inverse kinematics (IK)" or "IK (inverse kinematics)".

The letters of the acronym must occur in the long form in their order, the first one at its beginning (Schwartz and
Hearst, 2003); here one must also be in its last word, so that the acronym stands for all of it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from mudy._support.callbacks import cancellable
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import base_form
from mudy.reading.document import squeeze

_LONGEST = 120  # characters of a long form
_QUOTES = "\"'“”„«»‘’`*_ \t\r\n"  # that may stand around either form, with white space and marks of emphasis
_PARENTHESIS = re.compile(rf"[(（]([^()（）]{{2,{_LONGEST}}}?)[,;:)）]")
_ACRONYM = re.compile(r"[^\W_](?:[&/.]?[^\W_]){1,9}")
_WORD = re.compile(r"[^\W_]+")


def defined_acronyms(text: str, candidates: Sequence[Candidate], language: str = "en") -> dict[str, str]:
    """The unambiguous acronyms of a text and their plurals, in lower case, with long forms; both are candidates."""
    phrases = {candidate.phrase for candidate in candidates}
    meanings: dict[str, dict[tuple[str, ...], str]] = {}  # acronym -> its long forms, by their base forms
    spellings: dict[str, set[str]] = {}
    for acronym, long in cancellable(_definitions(text), every=256):
        short = acronym.lower()
        if long in phrases and not phrases.isdisjoint((short, f"{short}s")):
            meanings.setdefault(short, {})[tuple(base_form(word, language) for word in long.split())] = long
            spellings.setdefault(short, set()).update((acronym, f"{acronym}s", acronym.upper(), f"{acronym}s".upper()))
    known = {short: min(longs.values()) for short, longs in meanings.items() if len(longs) == 1}
    if not known:
        return {}
    plurals = {f"{short}s": short for short in known if f"{short}s" not in meanings}
    for word in _written_otherwise(text, candidates, plurals | {short: short for short in known}, spellings):
        known.pop(word, None)
    all_forms = known | {plural: known[short] for plural, short in plurals.items() if short in known}
    return {short: expanded(long, all_forms) for short, long in all_forms.items()}


def expanded(phrase: str, acronyms: Mapping[str, str]) -> str:
    """A phrase with the long form of each acronym in it."""
    if not acronyms:
        return phrase
    return " ".join(acronyms.get(word.lower(), word) for word in phrase.split())


def stands_for(acronym: str, words: str) -> int | None:
    """Where in some words the long form begins that ends with them; None if they end in no long form.

    Words that begin with its letters are the best reading, three or more of them in any order, as in UTC, Coordinated
    Universal Time. Else letters are looked up from the last to the first, each in front of the one before it; the first
    one of the acronym must begin a word.
    """
    words, letters = words.lower(), [letter for letter in acronym.lower() if letter.isalnum()]
    starts = [match.start() for match in _WORD.finditer(words)]
    initials = [words[start] for start in starts[-len(letters) :]]
    if initials == letters or (len(letters) > 2 and sorted(initials) == sorted(letters)):
        return starts[-len(letters)]
    last_word, place = starts[-1] if starts else 0, len(words)
    for number, letter in reversed(list(enumerate(letters))):
        place = words.rfind(letter, 0, place)
        while number == 0 and place > 0 and words[place - 1].isalnum():
            place = words.rfind(letter, 0, place)
        if place < 0 or (number == len(letters) - 1 and place < last_word):
            return None
    return place


def _definitions(text: str) -> Iterator[tuple[str, str]]:
    """Every acronym next to a long form in parentheses, or in parentheses next to one; long forms in lower case."""
    for match in _PARENTHESIS.finditer(text):
        inside = squeeze(match[1].strip(_QUOTES))
        before = squeeze(text[max(0, match.start() - _LONGEST) : match.start()].rstrip(_QUOTES))
        if acronym := _acronym(inside):
            words = before
        elif acronym := _acronym(before.rpartition(" ")[2].lstrip(_QUOTES)):
            words = inside
        else:
            continue
        start = stands_for(acronym, words)
        if start is not None and (words is before or " " not in words[:start].strip()):
            long = words[start:].lower()
            most = min(len(acronym) + 5, 2 * len(acronym))
            if len(long) > len(acronym) and len(long.split()) <= most and acronym.lower() not in long.split():
                yield acronym, long


def _acronym(word: str) -> str | None:
    """A word that looks like an acronym, that is, has two capital letters, without the s of a plural."""
    word = word[:-1] if word.endswith("s") and word[:-1].isupper() else word
    return word if _ACRONYM.fullmatch(word) and sum(map(str.isupper, word)) > 1 else None


def _written_otherwise(
    text: str, candidates: Sequence[Candidate], forms: Mapping[str, str], spellings: Mapping[str, set[str]]
) -> Iterator[str]:
    """The acronyms that some candidate has in another spelling; `forms` are singulars and plurals."""
    for candidate in cancellable(candidates, every=1024):
        if forms.keys().isdisjoint(candidate.phrase.replace("-", " ").split()):
            continue
        for occurrence in candidate.occurrences:
            for word in occurrence.span.of(text).replace("-", " ").split():
                short = forms.get(word.lower())
                if short is not None and word not in spellings[short]:
                    yield short
