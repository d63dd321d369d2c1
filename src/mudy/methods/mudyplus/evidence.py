"""The table of all evidence of a text, and the evidence that needs no model: counts, position, form and words.

Every function of one kind of evidence returns one number per candidate; its docstring says what the number detects.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.reading.candidates import Candidate, candidates
from mudy.reading.candidates.grammar import GRAMMARS, UNIVERSAL
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import stem_of, stems_of
from mudy.reading.document import Document, Span

Numbers = NDArray[np.float64]
Key = tuple[str, ...]

COUNTED = (
    "own_frequency",
    "nested_frequency",
    "cohesion",
    "first_position",
    "first_mention",
    "in_heading",
    "is_heading",
    "noun_phrase",
    "one_word",
    "one_word_noun_phrase",
    "usual_length",
    "digit",
    "symbol",
    "capitalised",
    "acronym",
    "generic",
    "rare_words",
)
PLAIN_PREFIX = "plain_"  # before the name of evidence that counts for more or less in plain language
ENCODED = ("similarity", "keyphraseness")  # from the sentence encoder
CHEAP = (*COUNTED, "plain_generic", "plain_own_frequency", "plain_one_word", *ENCODED, "plain_similarity")
ANSWERS = ("likelihood", "ending", "attention", "in_context")  # from the language model
EVIDENCE = (*CHEAP, *ANSWERS, "plain_ending")
CONTEXT = ("words",)

LONG = 400  # words; in shorter texts position, usual length, similarity and attention tell less
UNKNOWN_SIMILARITY = -1.0  # of a phrase that was not encoded: below the middle
LONGEST = 4  # words; longer phrases count as phrases of four
FEWEST_WORDS, MOST_WORDS = 2, 6  # of a part that rows of words have in common
COMMON, RARE = 2_200, 10_000  # ranks: up to the first a word is everyday, from the second on it is not
UNKNOWN = 30_000  # rank of a word that is cut into pieces
ENOUGH = 60  # occurrences at which a word is taken for a subject
_SYMBOL = re.compile(r"[^\w\s\-'’.&]")
FEW_NOUNS, MANY_NOUNS = 0.2, 0.3  # of all words and marks: with the first a text is plain, with the second it is not


@dataclass(frozen=True)
class Table:
    """Columns of evidence, one row per candidate, and what is the same for all of them."""

    columns: Mapping[str, Numbers]
    context: Mapping[str, float]
    plainness: float = 0.0

    def rows(self, names: Sequence[str]) -> Numbers:
        """Some columns as a matrix; (candidates, names)."""
        return np.column_stack([self.columns[name] for name in names])

    def adding(self, **columns: Numbers) -> Table:
        """The table with more columns, each also as it counts in plain language, where it does."""
        scaled = {PLAIN_PREFIX + name: self.plainness * column for name, column in columns.items()}
        plain = {name: column for name, column in scaled.items() if name in EVIDENCE}
        return Table({**self.columns, **plain, **columns}, self.context, self.plainness)


def long(words: int) -> float:
    """How long a text is, between 0 and 1."""
    return min(1.0, words / LONG)


def counted(document: Document, phrases: Sequence[Candidate], tokenizer: Any) -> Table:
    """All evidence that needs no model; the tokenizer knows which words are common."""
    index = StemIndex.of(document, phrases)
    words = document.word_count
    whole, single = noun_phrase(document, phrases), one_word(index)
    plain, everyday = plainness(document), generic(index, [candidate.phrase for candidate in phrases], tokenizer)
    columns = {
        **in_headings(document, index),
        **appearance(document, phrases),
        "own_frequency": own_frequency(index),
        "nested_frequency": nested_frequency(index),
        "cohesion": cohesion(index),
        "first_mention": first_mention(index),
        "rare_words": rare_words(document, index, tokenizer),
        "noun_phrase": whole,
        "one_word": single,
        "one_word_noun_phrase": whole * single,
        "usual_length": long(words) * usual_length(index),
        "first_position": long(words) * first_position(index),
        "generic": (1 - plain) * everyday,
        "plain_generic": plain * everyday,  # an everyday word may be the subject of a plain text
    }
    return Table({}, {"words": log(max(words, 20) / 200)}, plain).adding(**columns)


@dataclass(frozen=True)
class StemIndex:
    """Where the stems of each candidate occur in a text, also inside longer candidates."""

    keys: tuple[Key, ...]  # the stems of each candidate
    starts: tuple[tuple[int, ...], ...]  # words at which each candidate begins, in text order; never empty
    stems: Key = ()  # of all words of the text
    firsts: tuple[int, ...] = ()  # the word at which the first occurrence of each candidate begins

    @classmethod
    def of(cls, document: Document, phrases: Sequence[Candidate]) -> StemIndex:
        """Look up every candidate in the text; candidates with the same stems have the same occurrences."""
        word_starts = [word.span.start for word in document.words]
        word_ends = [word.span.end for word in document.words]
        stems = tuple(stem_of(word.span.of(document.text), document.language) for word in document.words)
        keys, firsts = [], []
        for candidate in phrases:  # the words that its first occurrence touches: at least one
            span = candidate.occurrences[0].span
            first = min(bisect_right(word_ends, span.start), len(stems) - 1)
            keys.append(stems[first : max(bisect_left(word_starts, span.end), first + 1)])
            firsts.append(first)
        distinct = list(dict.fromkeys(keys))
        starts: dict[Key, list[int]] = {key: [] for key in distinct}
        for match in PhraseIndex(distinct).matches(stems):
            starts[distinct[match.phrase]].append(match.start)
        return cls(tuple(keys), tuple(tuple(sorted(starts[key])) for key in keys), stems, tuple(firsts))

    @cached_property
    def counts(self) -> Numbers:
        """Occurrences of each candidate, also inside longer ones."""
        return np.array([len(starts) for starts in self.starts], dtype=np.float64)

    @cached_property
    def lengths(self) -> Numbers:
        """Words of each candidate."""
        return np.array([len(key) for key in self.keys], dtype=np.float64)

    @cached_property
    def nested(self) -> Numbers:
        """Occurrences of each candidate that lie inside longer candidates; inside several, they count once."""
        starts = dict(zip(self.keys, self.starts, strict=True))
        inside: dict[Key, set[int]] = defaultdict(set)
        for key in starts:
            for first in range(len(key)):
                for last in range(first + 1, len(key) + 1):
                    part = key[first:last]
                    if last - first < len(key) and part in starts:
                        inside[part].update(start + first for start in starts[key])
        return np.array([len(inside[key]) for key in self.keys], dtype=np.float64)

    @cached_property
    def word_counts(self) -> Counter[str]:
        """How often each stem occurs in the text."""
        return Counter(self.stems)


def parts_of(key: Key) -> set[Key]:
    """All runs of consecutive stems, of at most MOST_WORDS."""
    return {key[start:end] for start in range(len(key)) for end in range(start + 1, start + MOST_WORDS + 1)}


# -- Frequency and position -------------------------------------------------------------------------------------------


def dampened(counts: Numbers) -> Numbers:
    """log(1 + log n): the second occurrence says much, the twentieth little; 0 for one or none."""
    return np.asarray(np.log1p(np.log(np.maximum(counts, 1.0))))


def own_frequency(index: StemIndex) -> Numbers:
    """How often a phrase is mentioned on its own, not as a part of a longer one."""
    return dampened(index.counts - index.nested)


def nested_frequency(index: StemIndex) -> Numbers:
    """How much more often it is mentioned if occurrences inside longer phrases count too."""
    return np.asarray(dampened(index.counts) - own_frequency(index))


def first_position(index: StemIndex) -> Numbers:
    """log(1 + words before the first occurrence): the subject of a long text is mentioned early."""
    return np.asarray(np.log1p(np.array([starts[0] for starts in index.starts], dtype=np.float64)))


def first_mention(index: StemIndex) -> Numbers:
    """Where in the text the first occurrence is, from 0 to 1."""
    return np.array([starts[0] for starts in index.starts]) / max(1, len(index.stems))


def cohesion(index: StemIndex) -> Numbers:
    """The share of the occurrences of the phrase's rarest word that are occurrences of the phrase."""
    rarest = [min(index.word_counts[stem] for stem in key) for key in index.keys]
    return np.asarray(np.minimum(1.0, index.counts / np.maximum(1, rarest)))


# -- Structure --------------------------------------------------------------------------------------------------------


def in_headings(document: Document, index: StemIndex) -> dict[str, Numbers]:
    """In how many headings a phrase occurs (dampened), and whether one of them consists of it."""
    starts = [word.span.start for word in document.words]

    def stems(span: Span) -> Key:
        return index.stems[bisect_left(starts, span.start) : bisect_left(starts, span.end)]

    rows = [stems(heading) for heading in document.headings]
    held = Counter(part for row in rows for part in parts_of(row))
    whole = {tuple(stem for stem in row if any(map(str.isalpha, stem))) for row in rows}  # without numbers and marks
    return {
        "in_heading": np.log1p(np.array([held[key] for key in index.keys], dtype=np.float64)),
        "is_heading": np.array([float(key in whole) for key in index.keys]),
    }


# -- Form -------------------------------------------------------------------------------------------------------------


def one_word(index: StemIndex) -> Numbers:
    """1 for a single word, else 0: words are keyphrases less often than phrases are."""
    return np.asarray(index.lengths == 1, dtype=np.float64)


def usual_length(index: StemIndex) -> Numbers:
    """Log of the share of phrases that are as long as this one: a text speaks in words or in phrases.

    Each phrase counts as often as it is mentioned on its own, and one more of each length, so that no share is 0.
    """
    lengths = np.minimum(index.lengths, LONGEST)
    alone = index.counts - index.nested
    held = np.array([alone[lengths == length].sum() for length in range(1, LONGEST + 1)])
    shares = (held + 1) / (alone.sum() + LONGEST)
    return np.asarray(np.log(shares[lengths.astype(int) - 1]))


def appearance(document: Document, phrases: Sequence[Candidate]) -> dict[str, Numbers]:
    """What a phrase looks like: digits, symbols and capitals in it, and the share of occurrences that are a name."""
    text, sentence_starts = document.text, {sentence.start for sentence in document.sentences}
    rows = []
    for candidate in phrases:
        spans = [occurrence.span for occurrence in candidate.occurrences]
        phrase = spans[0].of(text)
        inside = [span.of(text) for span in spans if span.start not in sentence_starts] or [phrase]
        rows.append(
            (
                any(map(str.isdigit, phrase)),
                bool(_SYMBOL.search(phrase)),
                sum(map(_is_capitalised, inside)) / len(inside),
                len(phrase) > 1 and phrase.isupper() and len(phrase.split()) == 1,
            )
        )
    return dict(zip(("digit", "symbol", "capitalised", "acronym"), np.array(rows, dtype=np.float64).T, strict=True))


def _is_capitalised(phrase: str) -> bool:
    return all(word[0].isupper() or not word[0].isalpha() for word in phrase.split())


def noun_phrase(document: Document, phrases: Sequence[Candidate]) -> Numbers:
    """1 where the phrase is somewhere a noun phrase of maximal length: parts of phrases are seldom keyphrases.

    Without a tagger two phrases may be adjacent with nothing between them, as in Hindi. What several such rows of words
    have in common, with different neighbours on both sides, then counts as a phrase of its own.
    """
    maximal = {candidate.phrase for candidate in candidates(document, max_words=None)}
    if document.tagged:
        return np.array([float(candidate.phrase in maximal) for candidate in phrases])
    language = document.language
    common = common_parts({stems_of(phrase, language) for phrase in maximal})
    return np.array([float(c.phrase in maximal or stems_of(c.phrase, language) in common) for c in phrases])


def common_parts(rows: Iterable[Key]) -> frozenset[Key]:
    """Parts of two or more rows: always at the edge of a row, or beside other words each time."""
    before: dict[Key, set[str]] = defaultdict(set)
    after: dict[Key, set[str]] = defaultdict(set)
    counts: dict[Key, int] = defaultdict(int)
    for row in rows:
        for start in range(len(row)):
            for end in range(start + FEWEST_WORDS, min(len(row), start + MOST_WORDS) + 1):
                part = row[start:end]
                counts[part] += 1
                before[part].add(row[start - 1] if start else "")
                after[part].add(row[end] if end < len(row) else "")

    def alone(neighbours: set[str]) -> bool:
        return len(neighbours) > 1 or neighbours == {""}

    return frozenset(part for part, n in counts.items() if n >= 2 and alone(before[part]) and alone(after[part]))


# -- Words ------------------------------------------------------------------------------------------------------------


def plainness(document: Document) -> float:
    """How plain a text's language is: from 0, as many nouns as in news and papers, to 1, as few as in instructions.

    In plain language everyday words are subjects, and repetition counts for more than similarity.
    """
    if not document.words:
        return 0.0
    nouns = GRAMMARS.get(document.language, UNIVERSAL).nouns
    share = sum(word.tag in nouns for word in document.words) / len(document.words)
    return min(1.0, max(0.0, (MANY_NOUNS - share) / (MANY_NOUNS - FEW_NOUNS)))


def generic(index: StemIndex, phrases: Sequence[str], tokenizer: Any) -> Numbers:
    """Between 0 and 1: a single everyday word, such as "people" or "time", that is mentioned a few times.

    No word list is needed: the vocabulary of a tokenizer is one, numbered from common to rare. A text repeats an
    everyday word that is its subject, so the evidence fades with every occurrence and is gone at sixty.
    """
    fading: Numbers = np.maximum(0.0, 1 - np.log(index.counts) / np.log(ENOUGH))
    values: Numbers = np.zeros(len(phrases))
    single = np.flatnonzero(index.lengths == 1).tolist()
    values[single] = everyday(word_ranks(tokenizer, [phrases[row] for row in single]))
    values *= fading
    return values


def rare_words(document: Document, index: StemIndex, tokenizer: Any) -> Numbers:
    """The mean of log(rank / rank of an unknown word) over a phrase's words: 0 for rare ones, below for common ones."""
    words = [word.span.of(document.text).lower() for word in document.words]
    used = {
        words[i] for first, key in zip(index.firsts, index.keys, strict=True) for i in range(first, first + len(key))
    }
    distinct = sorted(used)
    logs = dict(zip(distinct, np.log(word_ranks(tokenizer, distinct) / UNKNOWN).tolist(), strict=True))
    rows = (words[first : first + len(key)] for first, key in zip(index.firsts, index.keys, strict=True))
    return np.array([sum(logs[word] for word in row) / len(row) for row in rows])


def everyday(ranks: Numbers) -> Numbers:
    """1 for the commonest words, 0 for rare ones, between them by the logarithm of the rank."""
    return np.asarray(np.clip(np.log(RARE / ranks) / np.log(RARE / COMMON), 0.0, 1.0))


def word_ranks(tokenizer: Any, words: Sequence[str]) -> Numbers:
    """The rank of each word in the tokenizer's vocabulary."""
    if not words:
        return np.zeros(0)
    pieces = tokenizer([word.lower() for word in words], add_special_tokens=False)["input_ids"]
    return np.array([ids[0] if len(ids) == 1 else UNKNOWN for ids in pieces], dtype=np.float64).clip(1, UNKNOWN)
