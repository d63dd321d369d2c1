"""Document -> candidates: the phrases that may be keyphrases, each with every occurrence.

Noun phrases of maximal length miss a third to a half of the gold keyphrases that occur in a text, such as "fuzzy
modeling" in "hybrid fuzzy modeling". Nested candidates are all runs of words that could be a phrase of their own.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from mudy._support import validation
from mudy._support.callbacks import cancellable
from mudy.errors import InputError, SettingError
from mudy.reading.candidates.grammar import ACRONYMS, PRONOUNS, grammar_of, no_prose
from mudy.reading.candidates.grammar import MAX_PHRASE_WORDS as MAX_PHRASE_WORDS
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import UNSPACED
from mudy.reading.document import UNSPACED_LANGUAGES, Document, Span, Word, squeeze
from mudy.reading.languages import stop_words

CandidateKind = Literal["nouns", "nested"]  # noun phrases as long as possible; also phrases inside them, and others
MAX_CHARACTERS = 100  # of a phrase; six words have about fifty
MAX_OF_WORDS = 3  # on either side of the "of" in a nested phrase
LONGEST_STRETCH = 200  # words searched together, which keeps the search linear in a text without any verb
MOST_KEPT = 500_000  # characters of a list whose index is cached
FOOTNOTE = re.compile(r"(?P<word>[^\W\d_]{3,}[a-zß-ÿ])(?P<number>\d{1,2}|[¹²³⁰⁴-⁹]+)")  # Anxiety2; not CO2, MP3
QUOTES = "'\"`´‘’‚“”„«»‹›*_"  # and mark-up
_UNIT = re.compile(rf"\s+|{UNSPACED}|(?:(?!{UNSPACED})\w)+|.", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Occurrence:
    span: Span  # characters in document.text
    sentence: int  # which sentence holds it: local attention asks (Sec. 4.3.3)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A phrase that may be a keyphrase, in lower case, with every occurrence in text order."""

    phrase: str
    occurrences: tuple[Occurrence, ...]


def grouped(occurrences: Iterable[tuple[str, Occurrence]]) -> list[Candidate]:
    """One candidate per phrase, its occurrences in the order given."""
    by_phrase: dict[str, list[Occurrence]] = {}
    for phrase, occurrence in occurrences:
        by_phrase.setdefault(phrase, []).append(occurrence)
    return [Candidate(phrase, tuple(group)) for phrase, group in by_phrase.items()]


def candidates(
    document: Document, *, max_words: int | None = MAX_PHRASE_WORDS, stop_phrases: Iterable[str] = ()
) -> list[Candidate]:
    """The noun phrases of maximal length, in the order of their first occurrences.

    Phrases of more than `max_words` words are left out (None sets no limit), and so are `stop_phrases`, compared as
    whole phrases regardless of case: excluding "learning" leaves "deep learning" in.
    """
    if max_words is not None and max_words < 1:
        raise SettingError(f"max_words={max_words} leaves no candidate; it must be 1 or more, or None for no limit.")
    phrase = re.compile(grammar_of(document.language, document.tagged).phrase)
    found = (words[m.start() : m.end()] for words, letters in _stretches(document) for m in phrase.finditer(letters))
    return _candidates(document, (w for w in found if max_words is None or len(w) <= max_words), stop_phrases)


def nested_candidates(
    document: Document, *, max_words: int | None = MAX_PHRASE_WORDS, stop_phrases: Iterable[str] = ()
) -> list[Candidate]:
    """The phrases of a text, also those inside longer ones, in the order of their first occurrences."""
    return _candidates(document, nested_phrases(document, max_words or MAX_PHRASE_WORDS), stop_phrases)


def _candidates(document: Document, phrases: Iterable[Sequence[Word]], stop_phrases: Iterable[str]) -> list[Candidate]:
    excluded = {squeeze(phrase).lower() for phrase in checked_phrases(stop_phrases)}
    forms = Counter(word.span.of(document.text).lower() for word in document.words)
    occurrences = {
        (span.start, -span.end): Occurrence(span, words[0].sentence)
        for words in phrases
        if _is_phrase((span := _trimmed(document.text, words, forms)).of(document.text))
    }
    in_order = (occurrences[key] for key in sorted(occurrences))
    named = ((squeeze(occurrence.span.of(document.text)).lower(), occurrence) for occurrence in in_order)
    return grouped((phrase, occurrence) for phrase, occurrence in named if phrase not in excluded)


def nested_phrases(document: Document, max_words: int) -> Iterator[Sequence[Word]]:
    """Every run of words that could be a phrase of its own."""
    grammar = grammar_of(document.language, document.tagged)
    run, inner = re.compile(grammar.run or grammar.phrase), re.compile(grammar.inner)
    for words, letters in _stretches(document):
        runs = [match.span() for match in run.finditer(letters)]
        for start, end in runs:
            for i in range(start, end):
                for j in range(i + 1, min(end, i + max_words) + 1):
                    if inner.fullmatch(letters, i, j):
                        yield words[i:j]
        for left, right in pairwise(runs) if grammar.joined_runs else ():
            if right[0] == left[1] + 1 and letters[left[1]] == "P":
                yield from (words[i:j] for i, j in _joined(letters, left, right) if j - i <= max_words)


def _joined(letters: str, left: tuple[int, int], right: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """As in "quality of service": the last word or all words before "of", and all words after it."""
    end = right[1]
    for start in dict.fromkeys((left[0], left[1] - 1)):
        short = left[1] - start <= MAX_OF_WORDS and end - right[0] <= MAX_OF_WORDS
        ends_in_nouns = letters[left[1] - 1] == "N" and letters[end - 1] == "N"
        if short and ends_in_nouns and "C" not in letters[start:end]:
            yield start, end


def _stretches(document: Document) -> Iterator[tuple[Sequence[Word], str]]:
    """Words that a phrase may reach across, with the grammar's letter for each."""
    words, letters, start = document.words, "".join(_letters(document)), 0
    for i in cancellable(range(1, len(words) + 1), every=1024):
        if i == len(words) or i - start == LONGEST_STRETCH or not _adjacent(document, words[i - 1], words[i]):
            yield words[start:i], letters[start:i]
            start = i


def _adjacent(document: Document, left: Word, right: Word) -> bool:
    """Whether only white space is between two words; between unspaced ones, a space stands for a comma."""
    between = document.text[left.span.end : right.span.start]
    edges = document.text[left.span.end - 1] + document.text[right.span.start]
    comma = " " in between and document.language in UNSPACED_LANGUAGES and all(map(is_unspaced, edges))
    return left.sentence == right.sentence and not between.strip() and not comma


def _letters(document: Document) -> Iterator[str]:
    """The grammar's letter for each word; stop words break a phrase, acronyms that look like them do not."""
    text, language, grammar = document.text, document.language, grammar_of(document.language, document.tagged)
    stops = stop_words(language) | (PRONOUNS if language == "en" else frozenset())
    starts = [word.span.start for word in document.words]
    marked_up = ((bisect_left(starts, span.start), bisect_left(starts, span.end)) for span in no_prose(text))
    excluded = {start for first, end in marked_up for start in starts[first:end]}
    sentence, mixed_case = -1, False
    for word in cancellable(document.words, every=1024):
        if word.sentence != sentence:  # once for all words of a sentence, which may be as long as the text
            sentence = word.sentence
            mixed_case = any(map(str.islower, document.sentences[sentence].of(text)))
        form = word.span.of(text)
        acronym = mixed_case and len(form) > 1 and form.isupper()
        if word.span.start in excluded:
            yield "x"
        elif acronym and form in ACRONYMS and language == "en":
            yield "N"
        else:
            stopped = form.lower() in stops and not acronym
            yield grammar.letter(form, "" if stopped else word.tag)


def _trimmed(text: str, words: Sequence[Word], forms: Mapping[str, int]) -> Span:
    """The span of some words, without quotes, mark-up or the number of a footnote attached to its edges."""
    start, end, last = words[0].span.start, words[-1].span.end, words[-1].span.of(text)
    if footnote := FOOTNOTE.fullmatch(last):
        raised = not footnote["number"].isascii()
        if raised or (forms[last.lower()] == 1 and footnote["word"].lower() in forms):  # else it may be its name
            end -= len(footnote["number"])
    phrase = text[start:end].rstrip(QUOTES)
    end = start + len(phrase)
    return Span(end - len(phrase.lstrip(QUOTES)), end)


def _is_phrase(text: str) -> bool:
    """Whether a text can be a keyphrase: it has a letter, and two characters unless its script writes words in one."""
    long_enough = len(text) > 1 or (len(text) == 1 and is_unspaced(text))
    return any(map(str.isalpha, text)) and long_enough and len(text) <= MAX_CHARACTERS


def given(document: Document, phrases: Iterable[str]) -> tuple[list[Candidate], tuple[str, ...]]:
    """The given phrases that occur in the text, with every occurrence, and those that do not.

    Case does not matter, any white space matches any other, and a phrase is found only as whole words: "C" is not found
    in "C++", nor "art" in "start". Phrases may overlap one another, and may reach across the end of a sentence.
    """
    listed = tuple(checked_phrases(phrases))
    kept, index = (_cached_lookup if sum(map(len, listed)) <= MOST_KEPT else _lookup)(listed)
    units = list(cancellable(text_units(document.text), every=4096))
    occurrences: list[tuple[str, Occurrence]] = []
    for start, end, number in cancellable(index.places(unit for unit, _ in units), every=1024):
        span = Span(units[start][1].start, units[end - 1][1].end)
        if stands_alone(document.text, span):
            phrase = squeeze(kept[number]).lower()
            occurrences.append((phrase, Occurrence(span, document.sentence_at(span.start))))
    present = {phrase for phrase, _ in occurrences}
    return grouped(occurrences), tuple(phrase for phrase in kept if squeeze(phrase).lower() not in present)


def checked_phrases(phrases: Iterable[str]) -> Iterator[str]:
    for phrase in validation.phrases("The list of phrases", phrases):
        if not phrase.strip():
            raise InputError(f"A phrase must be a text with at least one visible character, not {phrase!r}.")
        yield phrase


def _lookup(phrases: tuple[str, ...]) -> tuple[list[str], PhraseIndex]:
    """One phrase of each spelling (neither case nor white space make two), and their index."""
    wanted: dict[tuple[str, ...], str] = {}
    for phrase in cancellable(phrases, every=64):
        wanted.setdefault(tuple(unit for unit, _ in text_units(squeeze(phrase))), phrase)
    return list(wanted.values()), PhraseIndex(list(wanted))


_cached_lookup = lru_cache(maxsize=2)(_lookup)  # many texts may share a list


def text_units(text: str) -> Iterator[tuple[str, Span]]:
    """Words, single punctuation marks and characters of unspaced scripts, and white space as one space; casefolded."""
    for match in _UNIT.finditer(text):
        unit = match[0]
        yield (" " if unit.isspace() else unit.casefold()), Span(match.start(), match.end())


def stands_alone(text: str, span: Span) -> bool:
    """Whether a span is not part of a longer word: next to no letter, digit or accent, nor cut off "C++" or "C#"."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    first, last = text[span.start], text[span.end - 1]
    for outside, inside in ((before, first), (after, last)):
        letter = outside.isalnum() or (outside and unicodedata.category(outside).startswith("M"))
        if letter and not is_unspaced(outside) and not is_unspaced(inside):
            return False
    return not (after and after in "+#" and last.isalnum())


def is_unspaced(character: str) -> bool:
    return bool(re.match(UNSPACED, character))
