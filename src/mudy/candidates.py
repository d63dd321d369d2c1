"""Tags -> candidates: the phrases that may be keyphrases, each with every occurrence."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from mudy.errors import InputError, SettingError
from mudy.text import Document, Span, Word, squeeze

MAX_WORDS = 6  # the lowest limit that lost no gold keyphrase in any of 11 data sets (60 documents of each)
MAX_CHARACTERS = 100  # of a noun phrase; six words have about fifty
LONGEST_STRETCH = 200  # words looked at together, which keeps the search linear in a text without any verb
ADDRESS = re.compile(r"://|^www\.|\w@\w")
QUOTES = "'\"`´‘’‚“”„«»‹›*_"  # and mark-up


@dataclass(frozen=True, slots=True)
class Occurrence:
    span: Span  # characters in document.text
    sentence: int  # which sentence holds it: local attention asks (Sec. 4.3.3)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One phrase, in lower case, and every place where it stands, in text order."""

    phrase: str
    occurrences: tuple[Occurrence, ...]


# -- Grammars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grammar:
    """A noun phrase as a regular expression over one letter a word.

    The letters: N a noun, A an adjective, P a word of `joins` (de), x anything else.
    """

    pattern: str
    nouns: frozenset[str]
    adjectives: frozenset[str]
    joins: frozenset[str] = frozenset()

    def letter(self, word: str, tag: str) -> str:
        if not any(map(str.isalnum, word)) or ADDRESS.search(word):
            return "x"  # never part of a phrase, whatever the tag
        if word.lower() in self.joins:
            return "P"
        return "N" if tag in self.nouns else "A" if tag in self.adjectives else "x"


_NOUNS, _ADJECTIVES = frozenset({"NOUN", "PROPN"}), frozenset({"ADJ"})


def _romance(joins: str) -> Grammar:
    """Adjectives on either side of the noun, and one noun phrase joined to another by a bare "de".

    Share of gold among the candidates, on 60 texts of French news and 60 of Spanish science: 62.5 and 51.0 per cent.
    Never joining gives 65.0 and 41.0, joining repeatedly 62.4 and 52.4, also by "de la" 60.9 and 49.5.
    """
    return Grammar("A*N[AN]*(?:PA*N[AN]*)?", _NOUNS, _ADJECTIVES, frozenset(joins.split()))


UNIVERSAL = Grammar("[AN]*N", _NOUNS, _ADJECTIVES)
GRAMMARS: Mapping[str, Grammar] = {
    "en": Grammar("[AN]*N", frozenset({"NN", "NNS", "NNP", "NNPS"}), frozenset({"JJ"})),  # <NN.*|JJ>*<NN.*>
    "fr": _romance("de d' d’ du des"),
    "es": _romance("de del"),
    "pt": _romance("de do da dos das"),
    "it": _romance("di d' d’ del dello della dell' dell’ dei degli delle"),
    "ca": _romance("de d' d’ del dels"),
    "ro": _romance("de"),
}

# -- Stop words -------------------------------------------------------------------------------------------------------

# NLTK's English stop words (the 179 of its "stopwords" corpus, after Porter et al.), which PromptRank uses.
_ENGLISH = """
i me my myself we our ours ourselves you you're you've you'll you'd your yours yourself yourselves he him his himself
she she's her hers herself it it's its itself they them their theirs themselves what which who whom this that that'll
these those am is are was were be been being have has had having do does did doing a an the and but if or because as
until while of at by for with about against between into through during before after above below to from up down in
out on off over under again further then once here there when where why how all any both each few more most other
some such no nor not only own same so than too very s t can will just don don't should should've now d ll m o re ve y
ain aren aren't couldn couldn't didn didn't doesn doesn't hadn hadn't hasn hasn't haven haven't isn isn't ma mightn
mightn't mustn mustn't needn needn't shan shan't shouldn shouldn't wasn wasn't weren weren't won won't wouldn wouldn't
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())
ACRONYMS = frozenset({"IT", "WHO", "US"})  # tagged as pronouns, which in capitals they seldom are


@cache
def stop_words(language: str) -> frozenset[str]:
    """NLTK's stop words for English; spaCy's for other languages, none where it has no list."""
    if language == "en":
        return ENGLISH_STOP_WORDS
    try:
        return frozenset(import_module(f"spacy.lang.{language}.stop_words").STOP_WORDS)
    except ImportError:
        return frozenset()


# -- Candidates of a text ---------------------------------------------------------------------------------------------


def candidates(
    document: Document, *, max_words: int | None = MAX_WORDS, stop_phrases: Iterable[str] = ()
) -> list[Candidate]:
    """The noun phrases of a text, each the longest possible, in the order in which they first stand there.

    Phrases of more than `max_words` words are left out (None sets no limit), and so are `stop_phrases`, compared as
    whole phrases without regard to case: excluding "learning" leaves "deep learning" in.
    """
    if max_words is not None and max_words < 1:
        raise SettingError(f"max_words={max_words} leaves no candidate; it must be 1 or more, or None for no limit.")
    excluded = {squeeze(phrase).lower() for phrase in _phrases(stop_phrases)}
    found = (
        (_phrase(document, span), Occurrence(span, words[0].sentence))
        for words in _noun_phrases(document)
        if max_words is None or len(words) <= max_words
        if _is_phrase((span := _unquoted(document.text, words)).of(document.text))
    )
    return grouped((phrase, occurrence) for phrase, occurrence in found if phrase not in excluded)


def grouped(found: Iterable[tuple[str, Occurrence]]) -> list[Candidate]:
    """One candidate a phrase, its occurrences in the order given."""
    places: dict[str, list[Occurrence]] = {}
    for phrase, occurrence in found:
        places.setdefault(phrase, []).append(occurrence)
    return [Candidate(phrase, tuple(occurrences)) for phrase, occurrences in places.items()]


def _phrase(document: Document, span: Span) -> str:
    return squeeze(span.of(document.text)).lower()


def _noun_phrases(document: Document) -> Iterator[Sequence[Word]]:
    grammar = GRAMMARS.get(document.language, UNIVERSAL)
    pattern = re.compile(grammar.pattern)
    for words in _stretches(document):
        letters = "".join(_letters(document, words, grammar))
        for match in pattern.finditer(letters):
            yield words[match.start() : match.end()]


def _stretches(document: Document) -> Iterator[Sequence[Word]]:
    """Words of one sentence with nothing but white space between them: what a phrase may not reach across."""
    words, start = document.words, 0
    for i in range(1, len(words) + 1):
        if i == len(words) or i - start == LONGEST_STRETCH or not _adjacent(document.text, words[i - 1], words[i]):
            yield words[start:i]
            start = i


def _adjacent(text: str, left: Word, right: Word) -> bool:
    return left.sentence == right.sentence and not text[left.span.end : right.span.start].strip()


def _letters(document: Document, words: Sequence[Word], grammar: Grammar) -> Iterator[str]:
    """The grammar's letter for each word; stop words break a phrase, acronyms that look like them do not."""
    stops = stop_words(document.language)
    mixed_case = any(map(str.islower, document.sentences[words[0].sentence].of(document.text)))
    for word in words:
        form = word.span.of(document.text)
        acronym = mixed_case and len(form) > 1 and form.isupper()
        if acronym and form in ACRONYMS and document.language == "en":
            yield "N"
        else:
            stopped = form.lower() in stops and not acronym
            yield grammar.letter(form, "" if stopped else word.tag)


def _unquoted(text: str, words: Sequence[Word]) -> Span:
    """The span of some words, without quotes or mark-up stuck to its edges."""
    start, end = words[0].span.start, words[-1].span.end
    phrase = text[start:end].rstrip(QUOTES)
    end = start + len(phrase)
    return Span(end - len(phrase.lstrip(QUOTES)), end)


def _is_phrase(text: str) -> bool:
    """Whether a text can be a keyphrase: it has a letter, and two characters unless its script writes words in one."""
    long_enough = len(text) > 1 or bool(re.match(UNSPACED, text))
    return any(map(str.isalpha, text)) and long_enough and len(text) <= MAX_CHARACTERS


# -- Candidates of the caller -----------------------------------------------------------------------------------------

# Characters of scripts written without spaces between words (or, in Korean, with particles stuck to them).
UNSPACED = (
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_UNIT = re.compile(rf"\s+|{UNSPACED}|(?:(?!{UNSPACED})\w)+|.", re.DOTALL)


def given(document: Document, phrases: Iterable[str]) -> tuple[list[Candidate], tuple[str, ...]]:
    """The caller's own phrases: those that stand in the text with every occurrence, and those that do not.

    Case does not matter, any white space matches any other, and a phrase is found only as whole words: "C" is not found
    in "C++", nor "art" in "start". Phrases may overlap one another, and may reach across the end of a sentence.
    """
    wanted: dict[tuple[str, ...], str] = {}
    for phrase in _phrases(phrases):
        wanted.setdefault(tuple(unit for unit, _ in _units(squeeze(phrase))), phrase)
    found = list(_occurrences(document, wanted))
    present = {phrase for phrase, _ in found}
    missing = tuple(phrase for phrase in wanted.values() if squeeze(phrase).lower() not in present)
    return grouped(found), missing


def _phrases(phrases: Iterable[str]) -> Iterator[str]:
    if isinstance(phrases, str):
        raise InputError(f"A list of phrases was expected, not the single text {phrases!r}. Put it in a list.")
    for phrase in phrases:
        if not isinstance(phrase, str) or not phrase.strip():
            raise InputError(f"A phrase must be a text with at least one visible character, not {phrase!r}.")
        yield phrase


def _occurrences(document: Document, wanted: Mapping[tuple[str, ...], str]) -> Iterator[tuple[str, Occurrence]]:
    """Look up every stretch of units as long as some wanted phrase."""
    units = list(_units(document.text))
    forms = [unit for unit, _ in units]
    lengths = _lengths(wanted)
    for i, (form, first) in enumerate(units):
        for length in lengths.get(form, ()):
            phrase = wanted.get(tuple(forms[i : i + length]))
            if phrase is None or i + length > len(units):  # at the end of the text the slice is shorter than asked for
                continue
            span = Span(first.start, units[i + length - 1][1].end)
            if _stands_alone(document.text, span):
                yield squeeze(phrase).lower(), Occurrence(span, document.sentence_at(span.start))


def _lengths(wanted: Iterable[tuple[str, ...]]) -> dict[str, list[int]]:
    """For each unit that starts a phrase, the lengths of the phrases it starts."""
    lengths: dict[str, set[int]] = {}
    for units in wanted:
        lengths.setdefault(units[0], set()).add(len(units))
    return {unit: sorted(found) for unit, found in lengths.items()}


def _units(text: str) -> Iterator[tuple[str, Span]]:
    """Words, single marks, single characters of unspaced scripts, and white space as one space, case folded."""
    for match in _UNIT.finditer(text):
        unit = match[0]
        yield (" " if unit.isspace() else unit.casefold()), Span(match.start(), match.end())


def _stands_alone(text: str, span: Span) -> bool:
    """Whether a span is no part of a longer word: not stuck to a letter, digit or accent, nor cut off "C++" or "C#"."""
    before, after = text[span.start - 1 : span.start], text[span.end : span.end + 1]
    first, last = text[span.start], text[span.end - 1]
    if _sticks(before) and not _unspaced(first):
        return False
    if _sticks(after) and not _unspaced(last):
        return False
    return not (after and after in "+#" and last.isalnum())


def _sticks(character: str) -> bool:
    if not character or _unspaced(character):
        return False
    return character.isalnum() or unicodedata.category(character).startswith("M")


def _unspaced(character: str) -> bool:
    return bool(re.match(UNSPACED, character))
