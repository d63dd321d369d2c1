"""What was read: a text with its sentences, words and tags, all in character spans.

Taggers and language models cut text differently, so characters are the only shared ruler. A `Document` is made once per
text and fed to every method.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` up to, not including, `end` (Unicode code points)."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Word:
    span: Span
    tag: str  # Penn Treebank for English, Universal POS for other languages
    sentence: int  # index of the sentence that holds it


@dataclass(frozen=True, slots=True)
class Document:
    """An immutable text, cut into sentences and tagged words."""

    text: str
    sentences: tuple[Span, ...]
    words: tuple[Word, ...]
    language: str = "en"
    omitted_words: int = 0  # white-space words left unread at the end, when a limit was set
