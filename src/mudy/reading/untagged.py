"""Text -> Document without a tagger: words by spaCy's tokenizer, or by a segmenter where words have no spaces.

Every word that may be part of a phrase gets the tag CONTENT; stop words, verbs, numbers and punctuation get none. Some
segmenters know parts of speech; their words have Universal POS tags, like those of a tagger.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

from mudy._support.cancellation import check
from mudy.reading.document import CONTENT, MODIFIER
from mudy.reading.languages.detection import ALL_FUNCTION_WORDS, UNDETERMINED, name_of
from mudy.reading.languages.segmenters import Morpheme, segmenter_of
from mudy.reading.languages.verbs import is_verb_here
from mudy.reading.stop_words import stop_words
from mudy.reading.tagging import TextReader, Token

CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages that write every noun with a capital
ANY = "xx"  # spaCy's code for no language in particular
SPACY_CODES = {"no": "nb", "bs": "hr", UNDETERMINED: ANY}  # languages with another code in spaCy
INITIAL = re.compile(r"[^\W\d_]")  # the J of "J. Smith"
ELIDED = re.compile(r"[^\W\d_]{1,5}['’]")  # l', dell', qu'
ABBREVIATION = re.compile(r"[^\W\d_]\.?|[^\W\d_]{2,4}\.|(?:[^\W\d_]{1,2}\.){2,4}")  # J., Dr., z.B.; a letter
CASED = "\u0590"  # alphabets before it write words, those after it also syllables
ENDS = frozenset(".!?…。！？｡।॥؟۔።։") | {"...", "?!", "!!", "．"}


class UntaggedReader(TextReader):
    """Reads texts of one language without a tagger; "und" stands for any language in Latin script.

    Safe to share between threads. Unpickling creates a new one.
    """

    def __init__(self, code: str) -> None:
        self._code = code
        self._segmenter = segmenter_of(code)
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
        morphemes = self._segmenter.morphemes(piece) if self._segmenter else list(self._words(piece))
        opens = list(_opening(piece, morphemes))
        return [
            Token(offset + m.start, offset + m.end, tag, opening)
            for m, tag, opening in zip(morphemes, self._tags(piece, morphemes, opens), opens, strict=True)
        ]

    def _words(self, piece: str) -> Iterator[Morpheme]:
        assert self._rules is not None, "only a language without a segmenter has a tokenizer of spaCy"
        nlp, lock = self._rules
        with lock, nlp.memory_zone():
            words = [Morpheme(t.idx, t.idx + len(t)) for t in nlp(piece) if not t.is_space]
        for morpheme in words:
            yield from _without_marks(piece, morpheme)

    def _tags(self, text: str, morphemes: Sequence[Morpheme], opens: Sequence[bool]) -> Iterator[str]:
        before, tag = "", ""
        for morpheme, opening in zip(morphemes, opens, strict=True):
            form = text[morpheme.start : morpheme.end]
            if morpheme.tag is not None:
                tag = morpheme.tag
            elif not is_content(form, self._code) or is_verb_here(form, self._code, before, tag == CONTENT, opening):
                tag = ""
            else:
                tag = MODIFIER if self._code in CAPITAL_NOUNS and form.islower() else CONTENT
            before = form
            yield tag


def is_content(form: str, language: str) -> bool:
    """Whether a word may be part of a phrase: it has letters, and is not a stop word, article or single letter."""
    if not any(map(str.isalpha, form)) or ELIDED.fullmatch(form) or (ABBREVIATION.fullmatch(form) and form[0] < CASED):
        return False
    stops = ALL_FUNCTION_WORDS if language == UNDETERMINED else stop_words(language)
    return form.lower() not in stops or (form.isupper() and len(form) > 1)


def _without_marks(text: str, morpheme: Morpheme) -> Iterator[Morpheme]:
    """Split off the full stop that the rules of another language left on a word: "etwas." among Arabic words."""
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
    """SpaCy's tokenizer for a language, and the lock for its memory; shared by all readers."""
    import spacy

    try:
        return spacy.blank(SPACY_CODES.get(code, code)), Lock()
    except ImportError:  # spaCy does not know the language, or needs a package for it that is not installed
        return spacy.blank(ANY), Lock()
