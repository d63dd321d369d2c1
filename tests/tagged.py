"""Documents whose words and tags are written by hand, so that no tagger decides a test."""

from dataclasses import replace
from random import Random

from mudy.reading.document import Block, Document, Span, Word


def tagged(text: str, language: str = "en") -> Document:
    """Words as form/TAG between spaces, a noun where no tag is given; a full stop ends a sentence."""
    forms: list[str] = []
    words: list[Word] = []
    sentences: list[Span] = []
    position = start = 0
    for token in text.split():
        form, _, tag = token.rpartition("/") if "/" in token else (token, "", "NN")
        tag = "." if form in (".", ",") else tag
        span = Span(position, position + len(form))
        words.append(Word(span, tag, len(sentences)))
        forms.append(form)
        position = span.end + 1
        if form == ".":
            sentences.append(Span(start, span.end))
            start = position
    if start < position:
        sentences.append(Span(start, position - 1))
    return Document(" ".join(forms), tuple(sentences), tuple(words), language)


def unspaced(text: str, language: str = "zh") -> Document:
    """A text of a language without spaces: its words are given between spaces; `。` ends a sentence."""
    words: list[Word] = []
    sentences: list[Span] = []
    position = start = 0
    for form in text.split():
        words.append(Word(Span(position, position + len(form)), "" if form == "。" else "NOUN", len(sentences)))
        position += len(form)
        if form == "。":
            sentences.append(Span(start, position))
            start = position
    if start < position:
        sentences.append(Span(start, position))
    return Document("".join(text.split()), tuple(sentences), tuple(words), language)


def with_headings(document: Document, *headings: str) -> Document:
    """The document with headings, each where its words occur first behind the one before."""
    blocks: list[Block] = []
    for heading in headings:
        start = document.text.index(heading, blocks[-1].span.end if blocks else 0)
        blocks.append(Block(Span(start, start + len(heading)), "heading", 1))
    return replace(document, blocks=tuple(blocks))


def many_words(sentences: int, seed: int = 1) -> Document:
    """A text of seven words per sentence, about a few things in ever new combinations."""
    random, nouns = Random(seed), ("ice", "road", "radar", "map", "truck", "ferry", "crew", "lake", "river", "trucks")
    line = "the/DT {} {} guides/VBZ the/DT {} ."
    return tagged(" ".join(line.format(*random.sample(nouns, 3)) for _ in range(sentences)))
