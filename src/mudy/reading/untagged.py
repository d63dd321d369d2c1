"""Text -> Document without a tagger: words by spaCy's tokenizer, or by a segmenter where words have no spaces.

Every word that may be part of a phrase gets the tag CONTENT; stop words, verbs, numbers and punctuation get none. Some
segmenters know parts of speech; their words have Universal POS tags, like those of a tagger.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from threading import Lock

from mudy._support.callbacks import check
from mudy.reading.document import CONTENT, MODIFIER
from mudy.reading.languages import ALL_FUNCTION_WORDS, UNDETERMINED, name_of, stop_words
from mudy.reading.languages.segmenters import Morpheme, Segmenter, segmenter_of
from mudy.reading.languages.verbs import is_verb_here
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
    """Reads texts of a language without a tagger, also in threads; "und" stands for any in Latin script."""

    def __init__(self, code: str) -> None:
        known = "several languages" if code == UNDETERMINED else name_of(code)
        segmenter = segmenter_of(code) or Segmenter(f"stop words of {known}", spacy_words(code), False, spaced=True)
        self.language, self.name = code, segmenter.name
        self.tagged, self._spaced = segmenter.tags, segmenter.spaced
        self._cut = segmenter.morphemes

    def __reduce__(self) -> tuple[type["UntaggedReader"], tuple[str]]:
        return UntaggedReader, (self.language,)

    def _tokens(self, piece: str, offset: int) -> list[Token]:
        check()
        language, morphemes = self.language, self._cut(piece)
        tokens: list[Token] = []
        before, tag = "", ""
        for (start, end, known), opening in zip(morphemes, _opening(piece, morphemes), strict=True):
            form = piece[start:end]
            if known is not None:
                tag = known
            elif is_content(form, language) and not is_verb_here(form, language, before, tag == CONTENT, opening):
                tag = MODIFIER if language in CAPITAL_NOUNS and form.islower() else CONTENT
            else:
                tag = ""
            before = form
            tokens.append(Token(offset + start, offset + end, tag, opening))
        return tokens


def is_content(form: str, language: str) -> bool:
    """Whether a word may be part of a phrase: it has letters, and is not a stop word, article or single letter."""
    if not any(map(str.isalpha, form)) or ELIDED.fullmatch(form) or (ABBREVIATION.fullmatch(form) and form[0] < CASED):
        return False
    stops = ALL_FUNCTION_WORDS if language == UNDETERMINED else stop_words(language)
    return form.lower() not in stops or (form.isupper() and len(form) > 1)


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
def spacy_words(code: str) -> Callable[[str], list[Morpheme]]:
    """SpaCy's tokenizer for a language, with the lock for its memory; shared by all readers."""
    import spacy

    try:
        nlp = spacy.blank(SPACY_CODES.get(code, code))
    except ImportError:  # spaCy does not know the language, or needs a package for it that is not installed
        nlp = spacy.blank(ANY)
    lock = Lock()

    def words(piece: str) -> list[Morpheme]:
        with lock, nlp.memory_zone():
            spans = [(t.idx, t.idx + len(t)) for t in nlp(piece) if not t.is_space]
        return [word for start, end in spans for word in _without_mark(piece, start, end)]

    return words


def _without_mark(text: str, start: int, end: int) -> tuple[Morpheme, ...]:
    """A word, and the full stop that the rules of another language left on it: "etwas." among Arabic words."""
    word, mark = text[start : end - 1], text[end - 1]
    if len(word) > 2 and mark in ENDS and word.isalpha() and not word.isupper():
        return Morpheme(start, end - 1), Morpheme(end - 1, end)
    return (Morpheme(start, end),)
