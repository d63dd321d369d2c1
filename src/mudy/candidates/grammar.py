"""Tags -> candidates: the phrases that may be keyphrases, each with every occurrence."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from mudy._support.cancellation import cancellable
from mudy.candidates.candidate import Candidate, Occurrence, grouped
from mudy.candidates.given import checked_phrases, is_unspaced
from mudy.candidates.stemming import UNSPACED
from mudy.errors import SettingError
from mudy.reading.document import CONTENT, MODIFIER, UNSPACED_LANGUAGES, Document, Span, Word, squeeze
from mudy.reading.markup import IN_WORD, no_prose
from mudy.reading.stop_words import ACRONYMS, PRONOUNS, stop_words

MAX_PHRASE_WORDS = 6  # the lowest limit that lost no gold keyphrase in any of 11 data sets (60 documents of each)
MAX_CHARACTERS = 100  # of a noun phrase; six words have about fifty
LONGEST_STRETCH = 200  # words looked at together, which keeps the search linear in a text without any verb
FOOTNOTE = re.compile(r"(?P<word>[^\W\d_]{3,}[a-zß-ÿ])(?P<number>\d{1,2}|[¹²³⁰⁴-⁹]+)")  # Anxiety2; not CO2, MP3
QUOTES = "'\"`´‘’‚“”„«»‹›*_"  # and mark-up


# -- Grammars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grammar:
    """A noun phrase as a regular expression over one letter a word.

    The letters: N a noun, A an adjective, P a word of `joins` (de), D one of `articles` (la), x anything else.
    """

    pattern: str
    nouns: frozenset[str]
    adjectives: frozenset[str]
    joins: frozenset[str] = frozenset()
    inner: str = "[AN]*N"  # what may be a phrase inside a longer one
    articles: frozenset[str] = frozenset()

    def letter(self, word: str, tag: str) -> str:
        if not any(map(str.isalnum, word)) or IN_WORD.search(word):
            return "x"  # never part of a phrase, whatever the tag
        if word.lower() in self.joins:
            return "P"
        if word.lower() in self.articles:
            return "D"
        return "N" if tag in self.nouns else "A" if tag in self.adjectives else "x"


_NOUNS, _ADJECTIVES = frozenset({"NOUN", "PROPN"}), frozenset({"ADJ"})


def _romance(joins: str) -> Grammar:
    """Adjectives on either side of the noun, and one noun phrase joined to another by a bare "de".

    Share of gold among the candidates, on 60 texts of French news and 60 of Spanish science: 62.5 and 51.0 per cent.
    Never joining gives 65.0 and 41.0, joining repeatedly 62.4 and 52.4, also by "de la" 60.9 and 49.5.
    """
    part = "A*N[AN]*"
    return Grammar(f"(?<!A){part}(?:P{part})?", _NOUNS, _ADJECTIVES, frozenset(joins.split()), f"{part}(?:P{part})?")


ADJECTIVES_AND_NOUNS = "(?<![AN])[AN]*N"  # tried once for a row of words, not again from each of them
UNIVERSAL = Grammar(ADJECTIVES_AND_NOUNS, _NOUNS, _ADJECTIVES)
GRAMMARS: Mapping[str, Grammar] = {
    "en": Grammar(  # <NN.*|JJ>*<NN.*>
        ADJECTIVES_AND_NOUNS, frozenset({"NN", "NNS", "NNP", "NNPS"}), frozenset({"JJ"})
    ),
    "fr": _romance("de d' d’ du des"),
    "es": _romance("de del"),
    "pt": _romance("de do da dos das"),
    "it": _romance("di d' d’ del dello della dell' dell’ dei degli delle"),
    "ca": _romance("de d' d’ del dels"),
    "ro": _romance("de"),
    "zh": Grammar(  # a verb may end a phrase that has a noun: "machine learn" is how Chinese says machine learning
        "(?<![AN])[AN]*NA?", _NOUNS, frozenset({"ADJ", "VERB"}), inner="[AN]*NA?"
    ),
}
UNTAGGED_JOINS = {  # what joins two nouns in languages that hardly ever put one right after the other
    code: GRAMMARS[code].joins for code in ("fr", "es", "pt", "it", "ca", "ro")
}
UNTAGGED_ARTICLES = {  # that stand between: "internet de las cosas"; elsewhere they are one word with what joins
    code: frozenset(words.split())
    for code, words in {"fr": "la l' l’", "es": "el la los las", "ca": "la les l' l’"}.items()
}


SYLLABLES = frozenset({"vi"})  # languages with a space after every syllable


@cache
def grammar_of(language: str, tagged: bool) -> Grammar:
    """The noun phrases of a language; without parts of speech, all that stands between stop words and marks."""
    if tagged:
        return GRAMMARS.get(language, UNIVERSAL)
    joins = UNTAGGED_JOINS.get(language, frozenset())
    if joins:
        articles = UNTAGGED_ARTICLES.get(language, frozenset())
        inner = "N{1,4}|N{1,2}PD?N{1,2}"
        return Grammar("N+(?:PD?N+)*", frozenset({CONTENT}), frozenset(), joins, inner, articles)
    longest = MAX_PHRASE_WORDS if language in SYLLABLES else 4
    inner = f"[AN]{{0,{longest - 1}}}N"
    return Grammar(ADJECTIVES_AND_NOUNS, frozenset({CONTENT}), frozenset({MODIFIER}), joins, inner)


# -- Candidates of a text ---------------------------------------------------------------------------------------------


def candidates(
    document: Document, *, max_words: int | None = MAX_PHRASE_WORDS, stop_phrases: Iterable[str] = ()
) -> list[Candidate]:
    """The noun phrases of a text, each the longest possible, in the order in which they first stand there.

    Phrases of more than `max_words` words are left out (None sets no limit), and so are `stop_phrases`, compared as
    whole phrases without regard to case: excluding "learning" leaves "deep learning" in.
    """
    if max_words is not None and max_words < 1:
        raise SettingError(f"max_words={max_words} leaves no candidate; it must be 1 or more, or None for no limit.")
    excluded = {squeeze(phrase).lower() for phrase in checked_phrases(stop_phrases)}
    forms = Counter(word.span.of(document.text).lower() for word in document.words)
    found = (
        (_phrase(document, span), Occurrence(span, words[0].sentence))
        for words in noun_phrases(document)
        if max_words is None or len(words) <= max_words
        if _is_phrase((span := _trimmed(document.text, words, forms)).of(document.text))
    )
    return grouped((phrase, occurrence) for phrase, occurrence in found if phrase not in excluded)


def _phrase(document: Document, span: Span) -> str:
    return squeeze(span.of(document.text)).lower()


def noun_phrases(document: Document) -> Iterator[Sequence[Word]]:
    """The words of every noun phrase of maximal length, in text order."""
    grammar = grammar_of(document.language, document.tagged)
    pattern = re.compile(grammar.pattern)
    excluded = starts_within(document.words, no_prose(document.text))
    sentence, mixed_case = -1, False
    for words in cancellable(stretches(document), every=1024):
        if words[0].sentence != sentence:  # once for all stretches of a sentence, which may be as long as the text
            sentence = words[0].sentence
            mixed_case = any(map(str.islower, document.sentences[sentence].of(document.text)))
        letters = "".join(_letters(document, words, grammar, excluded, mixed_case))
        for match in pattern.finditer(letters):
            yield words[match.start() : match.end()]


def stretches(document: Document) -> Iterator[Sequence[Word]]:
    """Words of one sentence with nothing but white space between them: what a phrase may not reach across."""
    words, start = document.words, 0
    adjacent = _written_together if document.language in UNSPACED_LANGUAGES else _adjacent
    for i in range(1, len(words) + 1):
        if i == len(words) or i - start == LONGEST_STRETCH or not adjacent(document.text, words[i - 1], words[i]):
            yield words[start:i]
            start = i


def _adjacent(text: str, left: Word, right: Word) -> bool:
    return left.sentence == right.sentence and not text[left.span.end : right.span.start].strip()


def _written_together(text: str, left: Word, right: Word) -> bool:
    """Also no space between two words of an unspaced script, where it has the place of a comma."""
    spaced = " " in text[left.span.end : right.span.start]
    marked = spaced and is_unspaced(text[left.span.end - 1]) and is_unspaced(text[right.span.start])
    return not marked and _adjacent(text, left, right)


def starts_within(words: Sequence[Word], spans: Iterable[Span]) -> frozenset[int]:
    """The starts of the words that begin inside one of some spans, which come in text order."""
    starts = [word.span.start for word in words]
    return frozenset(
        start for span in spans for start in starts[bisect_left(starts, span.start) : bisect_left(starts, span.end)]
    )


def _letters(
    document: Document, words: Sequence[Word], grammar: Grammar, excluded: frozenset[int], mixed_case: bool
) -> Iterator[str]:
    """The grammar's letter for each word; stop words break a phrase, acronyms that look like them do not."""
    stops = stop_words(document.language) | (PRONOUNS if document.language == "en" else frozenset())
    for word in words:
        form = word.span.of(document.text)
        acronym = mixed_case and len(form) > 1 and form.isupper()
        if word.span.start in excluded:
            yield "x"
        elif acronym and form in ACRONYMS and document.language == "en":
            yield "N"
        else:
            stopped = form.lower() in stops and not acronym
            yield grammar.letter(form, "" if stopped else word.tag)


def _trimmed(text: str, words: Sequence[Word], forms: Mapping[str, int]) -> Span:
    """The span of some words, without quotes, mark-up or the number of a footnote stuck to its edges."""
    start, end = words[0].span.start, words[-1].span.end - _footnote(words[-1].span.of(text), forms)
    phrase = text[start:end].rstrip(QUOTES)
    end = start + len(phrase)
    return Span(end - len(phrase.lstrip(QUOTES)), end)


def _footnote(word: str, forms: Mapping[str, int]) -> int:
    """How many digits at the end of a word are no part of it: raised ones, and those it has only this once."""
    match = FOOTNOTE.fullmatch(word)
    if match is None:
        return 0
    raised = not match["number"].isascii()
    return len(match["number"]) if raised or (forms[word.lower()] == 1 and match["word"].lower() in forms) else 0


def _is_phrase(text: str) -> bool:
    """Whether a text can be a keyphrase: it has a letter, and two characters unless its script writes words in one."""
    long_enough = len(text) > 1 or bool(re.match(UNSPACED, text))
    return any(map(str.isalpha, text)) and long_enough and len(text) <= MAX_CHARACTERS
