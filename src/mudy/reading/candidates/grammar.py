"""One grammar per language: noun phrases as long as possible, and the phrases inside them.

Noun phrases of maximal length miss a third to a half of the gold keyphrases that occur in a text: "fuzzy modeling" in
"hybrid fuzzy modeling", "sliding mode control", "1990 census", "quality of service". Nested candidates are all runs of
words that could be a phrase of their own; which of them is right is a question for the evidence.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from mudy._support.cancellation import cancellable
from mudy.errors import SettingError
from mudy.reading.candidates.candidate import Candidate, Occurrence, checked_phrases, grouped, is_unspaced
from mudy.reading.document import CONTENT, MODIFIER, UNSPACED_LANGUAGES, Document, Span, Word, squeeze
from mudy.reading.markup import IN_WORD, no_prose
from mudy.reading.stop_words import ACRONYMS, PRONOUNS, stop_words

MAX_PHRASE_WORDS = 6  # the lowest limit that lost no gold keyphrase in any of 11 data sets (60 documents of each)
MAX_CHARACTERS = 100  # of a phrase; six words have about fifty
MAX_OF_WORDS = 3  # on either side of the "of" in a nested phrase
LONGEST_STRETCH = 200  # words searched together, which keeps the search linear in a text without any verb
FOOTNOTE = re.compile(r"(?P<word>[^\W\d_]{3,}[a-zß-ÿ])(?P<number>\d{1,2}|[¹²³⁰⁴-⁹]+)")  # Anxiety2; not CO2, MP3
QUOTES = "'\"`´‘’‚“”„«»‹›*_"  # and mark-up


# -- Grammars ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Grammar:
    """Phrases as regular expressions over one letter per word.

    N is a noun, A an adjective, P a word of `joins` ("de"), D a word of `articles` ("la"), and x anything else. English
    also has G for a gerund, E for another participle, C for a number, and a for an adjective of `which_or_how_many`.
    """

    phrase: str  # a noun phrase of maximal length
    letters: Mapping[str, str]  # tag -> letter
    inner: str = "[AN]*N"  # a phrase inside a run
    run: str | None = None  # the words among which nested phrases are searched; None: a noun phrase
    joins: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    joined_runs: bool = False  # whether two runs with a join between them are a nested phrase

    @property
    def nouns(self) -> frozenset[str]:
        return frozenset(tag for tag, letter in self.letters.items() if letter == "N")

    def letter(self, word: str, tag: str) -> str:
        """The letter of a word; `tag` is empty for a stop word."""
        if not any(map(str.isalnum, word)) or IN_WORD.search(word):
            return "x"  # never part of a phrase, whatever the tag
        lower = word.lower()
        if lower in self.joins:
            return "P"
        if lower in self.articles:
            return "D"
        return self.letters.get(tag, "x")


class EnglishGrammar(Grammar):
    """Participles must look like some, numbers are digits, and "several" is no part of a nested phrase."""

    __slots__ = ()

    def letter(self, word: str, tag: str) -> str:
        letter, lower = super().letter(word, tag), word.lower()
        if lower in WHICH_OR_HOW_MANY and letter in "AGE" and not word.isupper():
            return "a" if letter == "A" else "x"
        if letter in "GE" and not lower.endswith(("ing", "ed", "en")):
            return "x"
        return "x" if letter == "C" and not _NUMBER.fullmatch(lower) else letter  # "two", "million"


def _tags(**letters: str) -> dict[str, str]:
    return {tag: letter for letter, tags in letters.items() for tag in tags.split()}


UNIVERSAL_TAGS = _tags(N="NOUN PROPN", A="ADJ")
ADJECTIVES_AND_NOUNS = "(?<![AN])[AN]*N"  # tried once for a row of words, not again from each of them
_NUMBER = re.compile(r"\d[\d.,]*")
_WHICH_OR_HOW_MANY = """
many several various different certain other such same own much few more most less least able due
using based including according regarding concerning considering following given called used
"""
WHICH_OR_HOW_MANY = frozenset(_WHICH_OR_HOW_MANY.split())  # tagged as adjectives or participles


def _romance(joins: str) -> Grammar:
    """Adjectives on either side of the noun, and one noun phrase joined to another by a bare "de".

    Share of gold among the candidates, on 60 texts of French news and 60 of Spanish science: 62.5 and 51.0 per cent.
    Never joining gives 65.0 and 41.0, joining repeatedly 62.4 and 52.4, also by "de la" 60.9 and 49.5.
    """
    part = "A*N[AN]*"
    phrase = f"{part}(?:P{part})?"
    return Grammar(f"(?<!A){phrase}", UNIVERSAL_TAGS, inner=phrase, joins=frozenset(joins.split()))


ROMANCE = {  # languages that hardly ever put a noun right after another, by what joins the two
    "fr": _romance("de d' d’ du des"),
    "es": _romance("de del"),
    "pt": _romance("de do da dos das"),
    "it": _romance("di d' d’ del dello della dell' dell’ dei degli delle"),
    "ca": _romance("de d' d’ del dels"),
    "ro": _romance("de"),
}
ARTICLES = {  # after a join: "internet de las cosas"; elsewhere they are one word with it
    "fr": frozenset({"la", "l'", "l’"}),
    "es": frozenset({"el", "la", "los", "las"}),
    "ca": frozenset({"la", "les", "l'", "l’"}),
}
UNIVERSAL = Grammar(ADJECTIVES_AND_NOUNS, UNIVERSAL_TAGS)
GRAMMARS: Mapping[str, Grammar] = {
    "en": EnglishGrammar(
        "(?<![AaN])[AaN]*N",  # <NN.*|JJ>*<NN.*>
        _tags(N="NN NNS NNP NNPS", A="JJ", G="VBG", E="VBN VBD", C="CD"),  # taggers confuse VBN and VBD
        inner="C?[ANGE]*N|[AN]+G",  # "sliding mode", "1990 census", "data sharing"
        run="(?<![ANGEC])[ANGEC]*[NG]",
        joins=frozenset({"of"}),
        joined_runs=True,
    ),
    **ROMANCE,
    "zh": Grammar(  # a verb may end a phrase that has a noun: "machine learn" is how Chinese says machine learning
        "(?<![AN])[AN]*NA?", UNIVERSAL_TAGS | {"VERB": "A"}, inner="[AN]*NA?"
    ),
}
SYLLABLES = frozenset({"vi"})  # languages with a space after every syllable


@cache
def grammar_of(language: str, tagged: bool) -> Grammar:
    """The grammar of a language; without parts of speech, a phrase is all that stands between stop words and marks."""
    if tagged:
        return GRAMMARS.get(language, UNIVERSAL)
    if language in ROMANCE:
        joins, articles = ROMANCE[language].joins, ARTICLES.get(language, frozenset())
        inner = "N{1,4}|N{1,2}PD?N{1,2}"
        return Grammar("N+(?:PD?N+)*", _tags(N=CONTENT), inner=inner, joins=joins, articles=articles)
    longest = MAX_PHRASE_WORDS if language in SYLLABLES else 4
    return Grammar(ADJECTIVES_AND_NOUNS, _tags(N=CONTENT, A=MODIFIER), inner=f"[AN]{{0,{longest - 1}}}N")


# -- Candidates of a text ---------------------------------------------------------------------------------------------


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
    for i in range(1, len(words) + 1):
        if i == len(words) or i - start == LONGEST_STRETCH or not _adjacent(document, words[i - 1], words[i]):
            yield words[start:i], letters[start:i]
            start = i


def _adjacent(document: Document, left: Word, right: Word) -> bool:
    """Whether two words of a sentence have nothing but white space between them.

    Between words of an unspaced script a space takes the place of a comma.
    """
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
    for word in cancellable(document.words, every=4096):
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
    long_enough = len(text) > 1 or (len(text) == 1 and is_unspaced(text))
    return any(map(str.isalpha, text)) and long_enough and len(text) <= MAX_CHARACTERS
