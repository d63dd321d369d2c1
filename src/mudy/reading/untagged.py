"""Text -> Document without a tagger: words by spaCy's rules, or by a segmenter where words have no spaces.

Every word that may be part of a phrase gets the tag CONTENT; stop words, verbs, numbers and marks get none. Some
segmenters know parts of speech: then words have Universal POS tags, as from a tagger.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from threading import Lock
from typing import TYPE_CHECKING, Any

from mudy._support.cancellation import check
from mudy.models.fetch import Report
from mudy.reading.document import CONTENT, MODIFIER
from mudy.reading.languages.function_words import ALL_FUNCTION_WORDS
from mudy.reading.languages.names import LANGUAGE_NAMES, UNDETERMINED, name_of
from mudy.reading.languages.segmenters import Morpheme, Segmenter, segmenter_of
from mudy.reading.languages.taggers import tagger_is_here
from mudy.reading.languages.verbs import is_verb_here
from mudy.reading.stop_words import stop_words
from mudy.reading.tagging import Tagger, TextReader, Token

if TYPE_CHECKING:
    from spacy.language import Language

CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages that write every noun with a capital
ANY = "xx"  # spaCy's rules for no language in particular
SPACY_CODES = {"no": "nb", "bs": "hr", UNDETERMINED: ANY}  # languages that spaCy has under another code
READABLE = (LANGUAGE_NAMES.keys() | {UNDETERMINED}) - {"en"}  # codes of texts that are read without a tagger
INITIAL = re.compile(r"[^\W\d_]")  # the J of "J. Smith"
ELIDED = re.compile(r"[^\W\d_]{1,5}['’]")  # l', dell', qu'
ABBREVIATION = re.compile(r"[^\W\d_]\.?|[^\W\d_]{2,4}\.|(?:[^\W\d_]{1,2}\.){2,4}")  # J., Dr., z.B.; a letter
CASED = "\u0590"  # alphabets before it write words, those after it also syllables
ENDS = frozenset(".!?…。！？｡।॥؟۔።։") | {"...", "?!", "!!", "．"}


class UntaggedReader(TextReader):
    """Reads texts of one language for which there is no tagger; by "und", of any in Latin script.

    Safe to share between threads; pickled, it is made anew.
    """

    def __init__(self, code: str) -> None:
        self._code = code
        self._segmenter: Segmenter | None = segmenter_of(code)
        self._spaced = self._segmenter is None or self._segmenter.spaced
        self.tagged = self._segmenter is not None and self._segmenter.tags
        self._rules = spacy_rules(code) if self._segmenter is None else None

    def __reduce__(self) -> tuple[type["UntaggedReader"], tuple[str]]:
        return UntaggedReader, (self._code,)

    @property
    def name(self) -> str:
        if self._segmenter is not None:
            return self._segmenter.name
        return f"stop words of {'several languages' if self._code == UNDETERMINED else name_of(self._code)}"

    @property
    def language(self) -> str:
        return self._code

    def _tokens(self, piece: str, offset: int) -> list[Token]:
        check()
        morphemes = list(self._segmenter.morphemes(piece)) if self._segmenter else list(self._words(piece))
        opens = list(_opening(piece, morphemes))
        return [
            Token(offset + m.start, offset + m.end, tag, opening)
            for m, tag, opening in zip(morphemes, self._tags(piece, morphemes, opens), opens, strict=True)
        ]

    def _words(self, piece: str) -> Iterator[Morpheme]:
        assert self._rules is not None, "a language with a segmenter has no rules of spaCy"
        nlp, lock = self._rules
        with lock, nlp.memory_zone():
            found = [Morpheme(t.idx, t.idx + len(t)) for t in nlp(piece) if not t.is_space]
        for morpheme in found:
            yield from _without_marks(piece, morpheme)

    def _tags(self, text: str, morphemes: Sequence[Morpheme], opens: Sequence[bool]) -> Iterator[str]:
        before, tag = "", ""
        for morpheme, opening in zip(morphemes, opens, strict=True):
            form = text[morpheme.start : morpheme.end]
            tag = self._tag(form, before, tag == CONTENT, opening) if morpheme.tag is None else morpheme.tag
            before = form
            yield tag

    def _tag(self, form: str, before: str, after_noun: bool, opening: bool) -> str:
        if not is_content(form, self._code) or is_verb_here(form, self._code, before, after_noun, opening):
            return ""
        return MODIFIER if self._code in CAPITAL_NOUNS and form.islower() else CONTENT


def reader_of(language: "str | Language", report: Report | None = None) -> TextReader:
    """What reads texts of a language: its tagger, if it is installed or was pulled, else a reader without one.

    `language` is a code, the name or path of a spaCy package, or a pipeline that spaCy has loaded.
    """
    if isinstance(language, str) and language in READABLE and not tagger_is_here(language):
        return UntaggedReader(language)
    return english_tagger() if language == "en" else Tagger(language, report)


@cache
def english_tagger() -> Tagger:
    """The tagger that every text may need: loaded once, for all extractors of the process."""
    return Tagger("en")


def is_content(form: str, language: str) -> bool:
    """Whether a word may be part of a phrase: it has letters, and is no stop word, article or single letter."""
    if not any(map(str.isalpha, form)) or ELIDED.fullmatch(form) or (ABBREVIATION.fullmatch(form) and form[0] < CASED):
        return False
    stops = ALL_FUNCTION_WORDS if language == UNDETERMINED else stop_words(language)
    return form.lower() not in stops or (form.isupper() and len(form) > 1)


def _without_marks(text: str, morpheme: Morpheme) -> Iterator[Morpheme]:
    """A word, cut off the full stop that rules of another language left on it: "etwas." among Arabic words."""
    form = text[morpheme.start : morpheme.end]
    if len(form) > 3 and form[-1] in ENDS and form[:-1].isalpha() and not form[:-1].isupper():
        yield Morpheme(morpheme.start, morpheme.end - 1)
        yield Morpheme(morpheme.end - 1, morpheme.end)
    else:
        yield morpheme


def _opening(text: str, morphemes: Sequence[Morpheme]) -> Iterator[bool]:
    """Whether each word opens a sentence: after an end mark, unless that belongs to an initial or an abbreviation."""
    ended, before = True, ""
    for morpheme in morphemes:
        form = text[morpheme.start : morpheme.end]
        if form in ENDS:
            ended = ended or not (form == "." and INITIAL.fullmatch(before) and before.isupper())
            yield False
        else:
            opens = ended and not form[:1].islower()
            yield opens
            ended = ended and not opens and not any(map(str.isalnum, form))
        before = form


@lru_cache(maxsize=4)
def spacy_rules(code: str) -> tuple[Any, Lock]:
    """The tokenizer that spaCy has for a language, alone, and the lock of its memory; shared by all readers."""
    import spacy

    try:
        return spacy.blank(SPACY_CODES.get(code, code)), Lock()
    except ImportError:  # spaCy does not know it, or has it read by a package that is not installed
        return spacy.blank(ANY), Lock()
