"""Candidates beyond maximal noun phrases: phrases inside phrases; in English also participles, numbers, "x of y".

Noun phrases of maximal length miss a third to a half of the gold that stands in a text: "fuzzy modeling" in "hybrid
fuzzy modeling", "sliding mode control", "1990 census", "quality of service". Here every run of words that could be a
phrase of its own is a candidate; which of several nested ones is right is a question for the evidence.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from mudy._support.cancellation import cancellable
from mudy.candidates.candidate import Candidate, Occurrence, grouped
from mudy.candidates.grammar import MAX_CHARACTERS, QUOTES, grammar_of, noun_phrases, starts_within, stretches
from mudy.reading.document import Document, Span, Word, squeeze
from mudy.reading.markup import IN_WORD, no_prose
from mudy.reading.stop_words import ACRONYMS, ENGLISH_STOP_WORDS, PRONOUNS

MAX_WORDS = 6
MAX_OF_WORDS = 3  # on either side of "of"
LETTERS = {
    **dict.fromkeys(("NN", "NNS", "NNP", "NNPS"), "N"),
    "JJ": "A",
    "VBG": "G",
    "VBN": "D",
    "VBD": "D",  # taggers confuse the two: "distributed systems"
    "CD": "C",
}
PHRASE = re.compile(r"(?<![ANGDC])[ANGDC]*[NG]")  # the longest runs; phrases are looked for inside them
SUB_PHRASE = re.compile(r"C?[ANGD]*N|[AN]+G")  # "sliding mode", "1990 census", "data sharing"

# Words that are tagged as adjectives or participles and say which or how many, not what.
_NOT_PART = """
many several various different certain other such same own much few more most less least able due
using based including according regarding concerning considering following given called used
"""
NOT_PART = frozenset(_NOT_PART.split())
_NUMBER = re.compile(r"\d[\d.,]*")


def nested_candidates(
    document: Document, *, max_words: int | None = MAX_WORDS, stop_phrases: Iterable[str] = ()
) -> list[Candidate]:
    """The phrases of a text, also those inside longer ones, in the order in which they first stand there."""
    excluded = {squeeze(phrase).lower() for phrase in stop_phrases}
    most = MAX_WORDS if max_words is None else max_words
    found = _phrases(document, most) if document.language == "en" else inner_phrases(document, most)
    spans = {
        (span.start, -span.end): Occurrence(span, words[0].sentence)
        for words in found
        if _is_phrase((span := _trimmed(document.text, words)).of(document.text))
    }
    named = ((squeeze(spans[key].span.of(document.text)).lower(), spans[key]) for key in sorted(spans))
    return grouped((phrase, occurrence) for phrase, occurrence in named if phrase not in excluded)


def inner_phrases(document: Document, max_words: int) -> Iterator[Sequence[Word]]:
    """Every run of words inside a noun phrase that could be one of its own, by the grammar of another language."""
    grammar = grammar_of(document.language, document.tagged)
    inner = re.compile(grammar.inner)
    for words in cancellable(noun_phrases(document), every=1024):
        letters = "".join(grammar.letter(word.span.of(document.text), word.tag) for word in words)
        for i in range(len(words)):
            for j in range(i + 1, min(len(words), i + max_words) + 1):
                if inner.fullmatch(letters, i, j):
                    yield words[i:j]


def _phrases(document: Document, max_words: int) -> Iterator[Sequence[Word]]:
    excluded = starts_within(document.words, no_prose(document.text))
    for words in cancellable(stretches(document), every=1024):
        letters = "".join(_letter(document, word, excluded) for word in words)
        runs = [(match.start(), match.end()) for match in PHRASE.finditer(letters)]
        for start, end in runs:
            yield from (words[i:j] for i, j in _inside(letters, start, end, max_words))
        for (left_start, left_end), (right_start, right_end) in pairwise(runs):
            if right_start == left_end + 1 and _form(document, words[left_end]) == "of":
                yield from _joined(letters, words, (left_start, left_end), (right_start, right_end), max_words)


def _inside(letters: str, start: int, end: int, max_words: int) -> Iterator[tuple[int, int]]:
    """Every run of words inside a phrase that could be one of its own."""
    for i in range(start, end):
        for j in range(i + 1, min(end, i + max_words) + 1):
            if SUB_PHRASE.fullmatch(letters, i, j):
                yield i, j


def _joined(
    letters: str, words: Sequence[Word], left: tuple[int, int], right: tuple[int, int], max_words: int
) -> Iterator[Sequence[Word]]:
    """As in "quality of service": the last word or all words before "of", and all words after it."""
    end = right[1]
    for start in dict.fromkeys((left[0], left[1] - 1)):
        long = left[1] - start > MAX_OF_WORDS or end - right[0] > MAX_OF_WORDS or end - start > max_words
        ends_in_noun = letters[left[1] - 1] == "N" and letters[end - 1] == "N"
        if not long and ends_in_noun and "C" not in letters[start:end]:
            yield words[start:end]


def _letter(document: Document, word: Word, excluded: frozenset[int]) -> str:
    form = word.span.of(document.text)
    lower = form.lower()
    if not any(map(str.isalnum, form)) or IN_WORD.search(form):
        return "x"
    if word.span.start in excluded:
        return "x"
    if form in ACRONYMS:
        return "N"
    if lower in ENGLISH_STOP_WORDS or lower in PRONOUNS or (lower in NOT_PART and not form.isupper()):
        return "x"
    letter = LETTERS.get(word.tag, "x")
    if letter in "GD" and not lower.endswith(("ing", "ed", "en")):
        return "x"
    if letter == "C" and not _NUMBER.fullmatch(lower):
        return "x"  # "two", "million"
    return letter


def _form(document: Document, word: Word) -> str:
    return word.span.of(document.text).lower()


def _trimmed(text: str, words: Sequence[Word]) -> Span:
    """The span of some words without quotes or mark-up at its edges."""
    start, end = words[0].span.start, words[-1].span.end
    phrase = text[start:end].rstrip(QUOTES)
    end = start + len(phrase)
    return Span(end - len(phrase.lstrip(QUOTES)), end)


def _is_phrase(text: str) -> bool:
    """Whether a text can be a keyphrase: it has a letter, two characters, and not hundreds."""
    return any(map(str.isalpha, text)) and 1 < len(text) <= MAX_CHARACTERS
