"""Text -> Document: words, tags and sentences by a spaCy pipeline. spaCy is imported when the first one is loaded."""

import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from mudy._support.cancellation import cancellable, check
from mudy.errors import InputError, SettingError
from mudy.models.fetch import Report
from mudy.reading.document import Block, Document, Span, Word
from mudy.reading.languages.detection import LANGUAGE_NAMES, UNDETERMINED, Detection, detect
from mudy.reading.languages.taggers import tagger_is_here
from mudy.reading.structure import blocks_of, prose_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

LONGEST_RUN = 200  # characters without white space; longer runs are base64, addresses or minified code
PIECE_CHARACTERS = 20_000  # characters read at once; spaCy takes 3.4 kB of memory for each
PIECE_CHARACTERS_WITHOUT_SPACES = 15_000  # for tokenizers of Chinese, Japanese and others (SudachiPy: 49,149 bytes)

WITHOUT_TAGGER = (LANGUAGE_NAMES.keys() | {UNDETERMINED}) - {"en"}  # languages that can be read without a tagger

LONGEST_HEADLINE = 150  # characters
LONGEST_SMALL_WORD = 4  # letters; "with" and "from" have no capital in a headline

OPENING = frozenset("([{`‘“«„") | {"``"}
UNREADABLE = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u200b\ud800-\udfff\ufeff]")
COMPOUND_TAGS = {  # Penn tag of a hyphenated word after that of its last part: well-known, built-in, F-16
    **dict.fromkeys(("VBN", "VBG", "VBD", "RB", "RP", "IN"), "JJ"),
    "CD": "NN",
}
CLOSING = frozenset(".!?…:;\"'”’»)]。！？") | {"''", "...", "?!", "!!"}


class Token(NamedTuple):
    """A word or mark, with its offsets in the whole text."""

    start: int
    end: int
    tag: str
    opens: bool  # whether it is the first of a sentence, according to the pipeline


class TextReader(ABC):
    """Splits texts into sentences and words, by the rules of one language.

    Texts are read one at a time, so no result depends on the others.
    """

    tagged: bool = True  # whether words get parts of speech
    _spaced: bool = True  # whether words have white space between them
    _longest_piece: int = PIECE_CHARACTERS

    @property
    @abstractmethod
    def name(self) -> str:
        """The name and version of what reads the texts, such as "en_core_web_sm 3.8.0"."""

    @property
    @abstractmethod
    def language(self) -> str:
        """The code of the language by whose rules it reads."""

    @abstractmethod
    def _tokens(self, piece: str, offset: int) -> list[Token]:
        """The words and marks of a piece of text."""

    def document(
        self, text: str, omitted_words: int = 0, detection: Detection | None = None, blocks: tuple[Block, ...] = ()
    ) -> Document:
        """Split a text into sentences and tagged words.

        Every character that is not white space belongs to one sentence. A run of more than 200 characters without white
        space is not prose and yields no words; it is counted in `skipped_words`. `detection` is the text's language, if
        it was detected before. Blocks of code and others that are not prose yield no words either.
        """
        if not isinstance(text, str):
            raise InputError(f"A text was expected, not {type(text).__name__}. Decode bytes or read the file first.")
        readable, skipped = _readable(prose_of(text, blocks), LONGEST_RUN if self._spaced else None)
        tokens = _joined(readable, (t for offset, piece in self._pieces(readable) for t in self._tokens(piece, offset)))
        sentences = _sentences(text, [tokens[i].start for i in _openings(readable, tokens)])
        words = _words(self._mended(readable, tokens, sentences), sentences)
        return Document(
            text,
            tuple(sentences),
            words,
            self.language,
            omitted_words,
            skipped,
            detected=detect(prose_of(text, blocks)) if detection is None else detection.sure,
            tagged=self.tagged,
            read_by=self.name,
            guessed=detection is not None and detection.guessed,
            blocks=blocks,
        )

    def _pieces(self, text: str) -> Iterator[tuple[int, str]]:
        size = self._longest_piece if self._spaced else min(self._longest_piece, PIECE_CHARACTERS_WITHOUT_SPACES)
        return ((offset, piece) for offset, piece in _pieces(text, size) if not piece.isspace())

    def _mended(self, text: str, tokens: list[Token], sentences: Sequence[Span]) -> list[Token]:  # noqa: ARG002
        """The tokens, with mistakes corrected that can be told once the sentences are known."""
        return tokens


class Tagger(TextReader):
    """Reads texts with a spaCy pipeline.

    `pipeline` is "en" (the default), the code of another language, the name of an installed spaCy package, the path of
    a pipeline's folder (written as a path: ./name), or a loaded pipeline, which is used as it is and not changed. The
    tagger of a language in `mudy languages` is downloaded if necessary; `report` receives the progress.

    Batches by `nlp.pipe` gave the same tags, a third faster on texts of 90 words and no faster on longer ones.
    Safe to share between threads. Unpickling loads the pipeline again by name.
    """

    def __init__(self, pipeline: "str | Language" = "en", report: Report | None = None) -> None:
        from mudy.reading.pipelines import UNUSED, has_tags, is_rule_based, load_pipeline

        self._pipeline = pipeline
        self._nlp: Any = load_pipeline(pipeline, report) if isinstance(pipeline, str) else pipeline
        self._disabled = [name for name in UNUSED if name in self._nlp.pipe_names]
        self._owned = isinstance(pipeline, str)
        self._lock = Lock()
        self._spaced = is_rule_based(self._nlp)
        self._longest_piece = min(PIECE_CHARACTERS, self._nlp.max_length)
        if not has_tags(self._nlp):
            raise SettingError(
                f"The spaCy pipeline {self.name} does not tag words. Pass one with a tagger or morphologizer."
            )

    def __reduce__(self) -> tuple[type["Tagger"], tuple[Any]]:
        return Tagger, (self._pipeline,)

    @property
    def name(self) -> str:
        meta = self._nlp.meta
        return f"{meta['lang']}_{meta['name']} {meta['version']}"

    @property
    def language(self) -> str:
        return str(self._nlp.lang)

    def _mended(self, text: str, tokens: list[Token], sentences: Sequence[Span]) -> list[Token]:
        """Tag the verbs of headlines as verbs: in "Senate Passes Budget Bill" all four look like names to the tagger.

        A headline is tagged again in lower case; finite verbs keep the tags of that second reading.
        """
        if self.language != "en":
            return tokens
        verbs = {
            verb.start: verb.tag
            for line in _headlines(text, sentences)
            for verb in _finite_verbs(self._tokens(line.of(text).lower(), line.start))
        }
        return [t._replace(tag=verbs[t.start]) if t.start in verbs and t.tag[:2] in ("NN", "JJ") else t for t in tokens]

    def _tokens(self, piece: str, offset: int) -> list[Token]:
        check()
        zone = self._nlp.memory_zone() if self._owned else nullcontext()  # else every new word is kept for ever
        with self._lock, zone:
            doc = self._nlp(piece, disable=self._disabled)
            starts = (bool(t.is_sent_start) for t in doc)
            return [t._replace(start=offset + t.start, end=offset + t.end) for t in _tokens_of(doc, piece, starts)]


def reader_of(language: "str | Language", report: Report | None = None) -> TextReader:
    """What reads texts of a language: its tagger, if it is installed or downloaded, else a reader without one.

    `language` is a code, the name or path of a spaCy package, or a loaded spaCy pipeline.
    """
    if isinstance(language, str) and language in WITHOUT_TAGGER and not tagger_is_here(language):
        from mudy.reading.untagged import UntaggedReader

        return UntaggedReader(language)
    return english_tagger() if language == "en" else Tagger(language, report)


@cache
def english_tagger() -> Tagger:
    """The tagger that every text may need: loaded once, for all extractors of the process."""
    return Tagger("en")


def document_of_doc(doc: "Doc") -> Document:
    """Convert a spaCy Doc with its own words, tags and sentences, so that nothing is tagged twice.

    A Doc without sentences is split at its full stops. Verbs of headlines keep the tags of the Doc's pipeline.
    """
    text, language = doc.text, doc.lang_
    if len(doc) and not doc.has_annotation("TAG" if language == "en" else "POS"):
        raise InputError(
            "The Doc has no tags, which candidates are made of. Put a tagger before this in the pipeline, as in "
            'spacy.load("en_core_web_sm").'
        )
    blocks = blocks_of(text)
    spaced = doc.vocab.writing_system.get("has_letters", True)
    readable, skipped = _readable(prose_of(text, blocks), LONGEST_RUN if spaced else None)
    tokens = _joined(readable, _tokens_of(doc, readable, _sentence_starts(doc)))
    sentences = _sentences(text, [tokens[i].start for i in _openings(readable, tokens)])
    words = _words(tokens, sentences)
    detected = detect(prose_of(text, blocks))
    return Document(text, tuple(sentences), words, language, skipped_words=skipped, detected=detected, blocks=blocks)


def _sentence_starts(doc: "Doc") -> Iterator[bool]:
    if doc.has_annotation("SENT_START"):
        return (bool(t.is_sent_start) for t in doc)
    from spacy.pipeline import Sentencizer

    (starts,) = Sentencizer().predict([doc])
    return map(bool, starts)


def _tokens_of(doc: "Doc", readable: str, starts: Iterable[bool]) -> list[Token]:
    """The tokens of a Doc. Those that are skipped (white space, unreadable) pass a sentence start on to the next."""
    tokens, opens = [], True
    english = doc.lang_ == "en"
    for t, starts_sentence in zip(doc, starts, strict=True):
        opens = opens or starts_sentence
        if not t.is_space and readable.startswith(t.text, t.idx):
            tokens.append(Token(t.idx, t.idx + len(t), t.tag_ if english else t.pos_, opens))
            opens = False
    return tokens


def _words(tokens: Iterable[Token], sentences: Iterable[Span]) -> tuple[Word, ...]:
    starts = [sentence.start for sentence in sentences]
    return tuple(
        Word(Span(t.start, t.end), t.tag, bisect_right(starts, t.start) - 1) for t in cancellable(tokens, every=4096)
    )


# -- Words held together ----------------------------------------------------------------------------------------------


def _joined(text: str, tokens: Iterable[Token]) -> list[Token]:
    """Join words that spaCy splits at a hyphen or en dash (self-driving) or after a number (5G).

    Joining after tagging lets the pipeline see words as it was trained on them. Number ranges (1990-2000) and dashes
    between clauses (this--that) stay split.
    """
    words: list[Token] = []
    for token in tokens:
        words.append(token)
        if _hyphenated(text, words[-3:]):
            words[-3:] = [_merged(words[-3], token)]
        elif len(words) > 1 and re.fullmatch(r"\d{1,2}[A-Z]", text[words[-2].start : token.end]):
            words[-2:] = [_merged(words[-2], token)]
    return words


def _hyphenated(text: str, words: Sequence[Token]) -> bool:
    if len(words) < 3 or words[0].end != words[1].start or words[1].end != words[2].start:
        return False
    left, dash, right = text[words[0].end - 1], text[words[1].start : words[1].end], text[words[2].start]
    return dash in ("-", "–") and left.isalnum() and right.isalnum() and not (left.isdigit() and right.isdigit())


def _merged(first: Token, last: Token) -> Token:
    tag = "CD" if first.tag == last.tag == "CD" else COMPOUND_TAGS.get(last.tag, last.tag)
    return Token(first.start, last.end, tag, first.opens)


# -- Making any text readable -----------------------------------------------------------------------------------------


def _readable(text: str, longest_run: int | None) -> tuple[str, int]:
    """The text with unreadable characters replaced by spaces, of the same length, and how many runs were replaced.

    Control characters and lone surrogates (which spaCy cannot encode) become spaces, and so do overlong runs.
    """
    text = UNREADABLE.sub(" ", text)
    if longest_run is None:
        return text, 0
    return re.subn(rf"(?<!\S)\S{{{longest_run + 1},}}", lambda run: " " * len(run[0]), text)


def _pieces(text: str, size: int) -> Iterator[tuple[int, str]]:
    """Offset and text of pieces no longer than `size`, split at the best place in the second half of each."""
    start = 0
    while len(text) - start > size:
        end = _cut(text, start + size // 2, start + size)
        yield start, text[start:end]
        start = end
    if start < len(text):
        yield start, text[start:]


def _cut(text: str, low: int, high: int) -> int:
    """After the last paragraph of text[low:high], else its last line, sentence, space, else at the very end."""
    for mark in ("\n\n", "\n", ". ", "。", " "):
        if (found := text.rfind(mark, low, high)) >= 0:
            return found + len(mark)
    return high


# -- Headlines --------------------------------------------------------------------------------------------------------


def _headlines(text: str, sentences: Iterable[Span]) -> Iterator[Span]:
    """Sentences of four words or a few more in which all words but the short ones have capitals."""
    for sentence in sentences:
        if sentence.end - sentence.start <= LONGEST_HEADLINE:
            line = sentence.of(text)
            words = [word for word in line.split() if word[0].isalpha()]
            capitals = all(word[0].isupper() for word in words if len(word) > LONGEST_SMALL_WORD)
            if len(words) >= 4 and capitals and len(line.lower()) == len(line):  # else offsets would move
                yield sentence


def _finite_verbs(tokens: Iterable[Token]) -> Iterator[Token]:
    """Verbs of the third person, and those that follow a plural; participles and other plurals are left out."""
    for before, token in pairwise(tokens):
        if token.tag == "VBZ" or (token.tag == "VBP" and before.tag == "NNS"):
            yield token


# -- Sentences --------------------------------------------------------------------------------------------------------


def _openings(text: str, tokens: Sequence[Token]) -> Iterator[int]:
    """Indices of the tokens that open a sentence, with brackets and quotes corrected.

    Opening marks belong to the word after them; and a bracket opens a sentence only where one has ended, so that
    "methods [13] show" stays whole.
    """
    run = 0  # the first of the opening marks right before a token, or the token itself
    for i, token in enumerate(cancellable(tokens, every=4096)):
        if i > 0 and text[tokens[i - 1].start : tokens[i - 1].end] not in OPENING:
            run = i
        if not token.opens:
            continue
        mark, before = (text[t.start : t.end] for t in (tokens[run], tokens[max(run - 1, 0)]))
        if run == 0 or mark not in "([{" or before in CLOSING:
            yield run


def _sentences(text: str, openings: Iterable[int]) -> list[Span]:
    """Trimmed spans between openings; paragraphs and headings end a sentence whatever the pipeline says."""
    cuts = sorted({0, len(text), *openings, *_broken_lines(text)})
    spans = (_trim(text, start, end) for start, end in cancellable(pairwise(cuts), every=4096))
    return [span for span in spans if span.start < span.end]


def _trim(text: str, start: int, end: int) -> Span:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return Span(start, start + len(part.strip()))


def _broken_lines(text: str) -> Iterator[int]:
    """Where a line starts that cannot continue the sentence above it.

    That is after a blank line, at the mark of a list, and after a line much shorter than the longest of its paragraph
    (a title, a heading) unless it starts in lower case. Other line breaks may be those of a hard-wrapped text.
    """
    for lines in cancellable(_paragraphs(text), every=256):
        yield lines[0][0]
        width = max(len(line) for _, line in lines)
        for (_, above), (start, line) in pairwise(lines):
            heading = len(above) < 0.6 * width and not line[:1].islower()
            if heading or re.match(r"(?:[-*•–—+]|\(?\d{1,2}[.)])\s", line):
                yield start


def _paragraphs(text: str) -> Iterator[list[tuple[int, str]]]:
    """The lines of each paragraph, stripped, with the offset at which each starts."""
    lines: list[tuple[int, str]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        if stripped := line.strip():
            lines.append((start, stripped))
        elif lines:
            yield lines
            lines = []
        start += len(line)
    if lines:
        yield lines
