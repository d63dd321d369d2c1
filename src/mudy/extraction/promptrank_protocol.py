"""PromptRank's reading protocol, for comparison with published numbers (NKU-HLT/PromptRank; MDERank and MUDY share it).

It lower-cases, joins lines, and reads the first 512 words only. Nothing else in this package reads like this.
"""

import re

from mudy.reading.candidates import Candidate, Occurrence, candidates, grouped
from mudy.reading.candidates.grammar import ADJECTIVES_AND_NOUNS
from mudy.reading.document import Document, Span
from mudy.reading.languages import ENGLISH_STOP_WORDS

PROTOCOL_WORDS = 512
_PUNCTUATION = re.compile(r"""[!"#$%&'()*+,./:;<=>?@\[\\\]^_`{|}~‘’“”，。、；：？！（）【】《》]""")  # but no hyphen


def promptrank_text(text: str, max_words: int | None = None) -> tuple[str, int]:
    """The text as PromptRank reads it, and how many words were cut off; without the steps of single data sets."""
    words = unbracket(squeeze_to_first(join_lines(text))).split()
    limit = max_words or PROTOCOL_WORDS
    return " ".join(words[:limit]), max(0, len(words) - limit)


def join_lines(text: str) -> str:
    """Turn a newline after a letter, digit, comma or white space into a space."""
    return re.sub(r"(?<=[a-zA-Z0-9,\s])\n", " ", text)


def squeeze_to_first(text: str) -> str:
    """Keep the first of several white-space characters."""
    return re.sub(r"(\s)\s+", r"\1", text)


def unbracket(text: str) -> str:
    """Turn brackets other than round ones into spaces, and what is left of paragraph marks into newlines."""
    text = re.sub(r"[<>\[\]{}]", " ", text).replace("\t", " ")
    return text.replace(" p ", "\n").replace(" /p \n", "\n")


def promptrank_candidates(document: Document) -> list[Candidate]:
    """Noun phrases `<NN.*|JJ>*<NN.*>` over all words in a row, sentence ends or not.

    A phrase is its words joined by single spaces, as PromptRank joins its tokens. Other languages than English, which
    have other tags or none, have the usual candidates.
    """
    if document.language != "en":
        return candidates(document)
    places = []
    letters = "".join(_letter(word.span.of(document.text), word.tag) for word in document.words)
    for match in re.finditer(ADJECTIVES_AND_NOUNS, letters):
        words = document.words[match.start() : match.end()]
        phrase = " ".join(word.span.of(document.text) for word in words).lower()
        if len(_PUNCTUATION.sub("", phrase).split()) == len(phrase.split()):  # no word is bare punctuation
            places.append((phrase, Occurrence(Span(words[0].span.start, words[-1].span.end), words[0].sentence)))
    return grouped(places)


def _letter(word: str, tag: str) -> str:
    if word.lower() in ENGLISH_STOP_WORDS:
        return "x"  # PromptRank tags it IN
    return "N" if tag.startswith("NN") else "A" if tag == "JJ" else "x"
