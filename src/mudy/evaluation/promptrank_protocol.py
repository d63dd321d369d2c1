"""PromptRank's reading protocol, for comparison with published numbers (NKU-HLT/PromptRank; MDERank and MUDY share it).

It lower-cases, joins lines, and reads the first 512 words only. Nothing else in this package reads like this.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mudy.candidates import Candidate, Occurrence, candidates, grouped
from mudy.candidates.grammar import ADJECTIVES_AND_NOUNS
from mudy.reading.document import Document, Span, Word
from mudy.reading.stop_words import ENGLISH_STOP_WORDS

PROTOCOL_WORDS = 512
_PUNCTUATION = re.compile(r"""[!"#$%&'()*+,./:;<=>?@\[\\\]^_`{|}~‘’“”，。、；：？！（）【】《》]""")  # but no hyphen


def promptrank_text(text: str, *, lower: bool = True, max_words: int = PROTOCOL_WORDS) -> tuple[str, int]:
    """The text as PromptRank reads it, and how many words were cut off.

    The steps all data sets share. Those of one data set are functions of their own, to be applied before: DUC2001 takes
    `drop_before_newlines`; SemEval2017 `drop_percent` and `drop_before_newlines`; Inspec `drop_percent`; NUS, Krapivin,
    SemEval2010 and KP20k `space_stops`. NUS, Krapivin, SemEval2010, KP20k and Inspec keep their case.
    """
    words = unbracket(squeeze_to_first(join_lines(text.lower() if lower else text))).split()
    return " ".join(words[:max_words]), max(0, len(words) - max_words)


def drop_percent(text: str) -> str:
    return text.replace("%", "")


def space_stops(text: str) -> str:
    """Put a space before each full stop and comma that is followed by one."""
    return text.replace(". ", " . ").replace(", ", " , ")


def drop_before_newlines(text: str) -> str:
    """Drop white space and commas that stand before a newline."""
    return re.sub(r"(?<![\s,])[\s,]+\n", "\n", text)


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


def promptrank_candidates(document: Document, *, enable_filter: bool = False) -> list[Candidate]:
    """Noun phrases `<NN.*|JJ>*<NN.*>` over all words in a row, sentence ends or not; for English alone.

    A phrase is its words joined by single spaces, as PromptRank joins its tokens. `enable_filter` leaves out single
    words that occur once, and phrases of more than four words (PromptRank_filter in its paper; off by default there).
    """
    found = [
        (phrase, Occurrence(Span(words[0].span.start, words[-1].span.end), words[0].sentence))
        for words in _noun_phrases(document)
        if not _has_bare_punctuation(phrase := " ".join(w.span.of(document.text) for w in words).lower())
    ]
    counts = Counter(phrase for phrase, _ in found)
    return grouped((p, o) for p, o in found if not enable_filter or _passes(p, counts[p]))


def _noun_phrases(document: Document) -> Iterator[Sequence[Word]]:
    letters = "".join(_letter(word.span.of(document.text), word.tag) for word in document.words)
    for match in re.finditer(ADJECTIVES_AND_NOUNS, letters):
        yield document.words[match.start() : match.end()]


def _letter(word: str, tag: str) -> str:
    if word.lower() in ENGLISH_STOP_WORDS:
        return "x"  # PromptRank tags it IN
    return "N" if tag.startswith("NN") else "A" if tag == "JJ" else "x"


def _has_bare_punctuation(phrase: str) -> bool:
    """Whether the number of words changes when punctuation is deleted."""
    return len(_PUNCTUATION.sub("", phrase).split()) != len(phrase.split())


def _passes(phrase: str, count: int) -> bool:
    words = len(phrase.split())
    return words <= 4 and (words > 1 or count > 1)


@dataclass(frozen=True, slots=True)
class PromptRankProtocol:
    """The steps that all data sets share, as a `ReadingProtocol`."""

    def read(self, text: str, max_words: int | None = None) -> tuple[str, int]:
        return promptrank_text(text, max_words=max_words or PROTOCOL_WORDS)

    def candidates(self, document: Document) -> list[Candidate]:
        """PromptRank's for English; of other languages, which have other tags or none, the noun phrases."""
        return promptrank_candidates(document) if document.language == "en" else candidates(document)


PROTOCOL = PromptRankProtocol()


# -- The rules of each data set ---------------------------------------------------------------------------------------


Step = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class DatasetProtocol:
    """What PromptRank's loader does to the texts of one data set, before and after the shared cleaning.

    A title is not read unless `title` is set: where the text starts with it, it is removed.
    """

    before: tuple[Step, ...] = ()
    after: tuple[Step, ...] = ()
    title: bool = False

    def read(self, text: str, title: str | None, max_words: int = PROTOCOL_WORDS) -> tuple[str, int]:
        """The text that published runs see, and how many words were cut off."""
        raw = text if self.title else _without_title(text, title)
        cleaned, omitted = promptrank_text(_through(self.before, raw), lower=False, max_words=max_words)
        return _through(self.after, cleaned), omitted


def _through(steps: Iterable[Step], text: str) -> str:
    for step in steps:
        text = step(text)
    return text


_PAPERS = DatasetProtocol((space_stops,))
PROTOCOLS: Mapping[str, DatasetProtocol] = {
    "duc2001": DatasetProtocol((str.lower, drop_before_newlines)),
    "semeval2017": DatasetProtocol((drop_percent, drop_before_newlines), after=(str.lower,)),
    "inspec": DatasetProtocol((drop_percent,), title=True),
    "nus": _PAPERS,
    "krapivin": _PAPERS,
    "semeval2010": _PAPERS,
    "kp20k": _PAPERS,
    "wikihow": DatasetProtocol((str.lower,)),
    "kptimes": DatasetProtocol((str.lower,)),  # this and the next are not published: ours
    "stackexchange": DatasetProtocol((str.lower,)),
}
PLAIN_PROTOCOL = DatasetProtocol((str.lower,), title=True)  # for other data sets


def _without_title(text: str, title: str | None) -> str:
    """The text after its title, if it starts with it, in whatever case and spacing; never nothing."""
    letters = "".join((title or "").split())
    start = re.match(r"\s*".join(map(re.escape, letters)) + r"(?!\w)", text, re.IGNORECASE) if letters else None
    return (text[start.end() :].strip() if start else "") or text


def set_name(name: str) -> str | None:
    """The published data set that a name begins with: "SemEval-2017_es" belongs to semeval2017, "nusantara" to none."""
    plain = re.sub(r"[\s_-](?=\d)", "", name.lower())
    return next((known for known in PROTOCOLS if re.match(rf"{known}(?![a-z0-9])", plain)), None)
