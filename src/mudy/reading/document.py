"""What was read: a text with its sentences, words and tags, all in characters, the only ruler that all models share."""

import re
from bisect import bisect_right
from dataclasses import dataclass
from operator import attrgetter
from typing import Literal

from mudy.errors import SettingError


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` up to, not including, `end` (Unicode code points)."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


BlockKind = Literal["title", "heading", "prose", "list", "code", "table", "quotation", "boilerplate"]
_LEAST_PROSE = 0.5  # share of prose in a text's words below which its quotations are read like prose


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a text that is more than a paragraph of prose, or less."""

    span: Span
    kind: BlockKind
    level: int = 0  # of a heading, from 1


UNSPACED_LANGUAGES = frozenset({"zh", "ja", "th", "lo", "km", "my", "bo"})  # whose words have no spaces between them
CONTENT = "CONTENT"  # the tag of a word that may be part of a phrase, where parts of speech are not known
MODIFIER = "MODIFIER"  # the same for a word that may stand in a phrase but not end it


@dataclass(frozen=True, slots=True)
class Word:
    span: Span
    tag: str  # Penn Treebank for English, Universal POS for other languages; CONTENT or "" without a tagger
    sentence: int  # index of the sentence that holds it


@dataclass(frozen=True, slots=True)
class Document:
    """An immutable text, cut into sentences and tagged words."""

    text: str
    sentences: tuple[Span, ...]
    words: tuple[Word, ...]
    language: str = "en"  # by whose rules it was read
    omitted_words: int = 0  # white-space words beyond a limit that was set; they are not in `text`
    skipped_words: int = 0  # white-space words of `text` that are no prose: runs of hundreds of characters
    detected: str | None = None  # the language that the text is surely in
    tagged: bool = True  # whether words have parts of speech; else phrases are what stands between stop words
    read_by: str = ""  # the tagger or segmenter that found the words
    guessed: bool = False  # whether `language` is a guess
    blocks: tuple[Block, ...] = ()  # in text order, without overlap; text outside them is prose

    @property
    def title(self) -> Span | None:
        """Where the text's title stands, if it has one."""
        return next((block.span for block in self.blocks if block.kind == "title"), None)

    @property
    def headings(self) -> tuple[Span, ...]:
        return tuple(block.span for block in self.blocks if block.kind in ("title", "heading"))

    @property
    def word_count(self) -> int:
        """White-space words; of a text in a script without spaces, those that were found."""
        return len(self.text.split()) if self.language not in UNSPACED_LANGUAGES else len(self.words)

    @property
    def word_spans(self) -> list[Span]:
        """The words that `word_count` counts."""
        if self.language in UNSPACED_LANGUAGES:
            return [word.span for word in self.words]
        return [Span(*match.span()) for match in re.finditer(r"\S+", self.text)]

    def end_of_words(self, n: int) -> int:
        """Where the first words end, as `word_count` counts them."""
        spans = self.word_spans[:n]
        return spans[-1].end if spans else len(self.text)

    def sentence_at(self, position: int) -> int:
        """Index of the sentence holding a character; white space belongs to the sentence before it."""
        return max(0, bisect_right(self.sentences, position, key=attrgetter("start")) - 1)


def not_prose(text: str, blocks: tuple[Block, ...]) -> tuple[Span, ...]:
    """Where no phrase comes from; but a text that quotes more than it says is about what it quotes."""
    kinds = {"code", "boilerplate"}
    quoted = sum(len(block.span.of(text).split()) for block in blocks if block.kind == "quotation")
    if quoted:
        left_out = sum(len(block.span.of(text).split()) for block in blocks if block.kind in kinds)
        if quoted <= _LEAST_PROSE * (len(text.split()) - left_out):
            kinds.add("quotation")
    return tuple(
        block.span
        for block in blocks
        if block.kind in kinds or (block.kind == "table" and is_numeric(block.span.of(text)))
    )


def is_numeric(text: str) -> bool:
    words = re.findall(r"[^\s|]+", text)
    return 2 * sum(not any(map(str.isalpha, word)) for word in words) > len(words)


def squeeze(text: str) -> str:
    """The text with every run of white space made one space, and none at its ends."""
    return " ".join(text.split())


def first_words(text: str, n: int | None) -> tuple[str, int]:
    """The first `n` white-space words (None: all), a prefix of the text, and how many were left out."""
    if n is None:
        return text, 0
    if n < 0:
        raise SettingError(f"A limit of {n} words was given; it must be 0 or more, or None for no limit.")
    end = total = 0
    for total, word in enumerate(re.finditer(r"\S+", text), start=1):
        if total == n:
            end = word.end()
    return (text[:end], total - n) if total > n else (text, 0)
