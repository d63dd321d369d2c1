"""YAKE (Campos et al., Information Sciences 2020): word statistics of one text, no model and no graph.

Written from the formula. The authors' package is AGPL-3, which a library under Apache-2.0 cannot depend on, and it cuts
texts with a tokeniser of its own, so that its phrases would not be those of the other methods.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import log, prod
from statistics import fmean, median, pstdev
from typing import Self

from mudy._support.callbacks import cancellable
from mudy.methods.graphs import WordIndex, is_word
from mudy.methods.method import Method, OccurrenceScore, ScorePart, same_at_each, setting
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.document import Document
from mudy.reading.languages import stop_words

Terms = Sequence[str]


@dataclass(frozen=True)
class Yake(Method):
    """Casing, position, frequency, spread and neighbours of a phrase's words; the score is -ln H.

    Where the authors' package scores its own n-grams of up to three words and drops those that resemble a better one,
    the candidates given are scored here, of any length. Like that package, and unlike the paper, Rel has no PL and PR.
    """

    title = "YAKE"
    citation = "Campos et al., Information Sciences 2020"
    parts = (ScorePart("H", "weight of its words, low is good"),)

    window: int = setting(1, "Neighbours on each side of a word that are counted.", least=1)

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        reading = WordIndex.of(document, candidates)
        terms = [term(form) for form in reading.forms]
        weights = TermWeights.of(document, terms, self.window)
        phrases = [place[0].of(terms) for place in reading.places]
        times = frequencies(terms, phrases)
        h_values = [weights.phrase(phrase, times[phrase]) for phrase in cancellable(phrases, every=1024)]
        return same_at_each(candidates, [-log(h) for h in h_values], [{"H": h} for h in h_values])


def term(form: str) -> str:
    """A word as it is counted: without the final "s" of words longer than three letters."""
    return form[:-1] if len(form) > 3 and form.endswith("s") else form


def frequencies(terms: Terms, phrases: Iterable[tuple[str, ...]]) -> Counter[tuple[str, ...]]:
    """How often each phrase occurs in the text, also inside longer ones."""
    wanted = list(dict.fromkeys(phrases))
    return Counter(wanted[match.phrase] for match in PhraseIndex(wanted).matches(terms))


@dataclass
class Statistics:
    tf: int = 0
    acronym: int = 0  # times in capitals
    name: int = 0  # times with a capital that does not open a sentence
    sentences: set[int] = field(default_factory=set)
    left: Counter[str] = field(default_factory=Counter)  # the words before it
    right: Counter[str] = field(default_factory=Counter)


def statistics(document: Document, terms: Terms, window: int) -> dict[str, Statistics]:
    """Count every word, stop words too; punctuation is none, and words on either side of it are not neighbours."""
    counted: dict[str, Statistics] = {}
    block: list[str] = []  # the words since the last punctuation; "" for those that are no one's neighbour
    sentence = -1
    for word, t in zip(cancellable(document.words, every=4096), terms, strict=True):
        opens, sentence = word.sentence != sentence, word.sentence
        if opens or not is_word(t):
            block = []
        if not is_word(t):
            continue
        written, ordinary = word.span.of(document.text), is_ordinary(t)
        counts = counted.setdefault(t, Statistics())
        counts.tf += 1
        counts.sentences.add(word.sentence)
        counts.acronym += ordinary and written.isupper()
        counts.name += ordinary and not opens and written.istitle() and len(written) > 1
        for neighbour in filter(None, block[-window:] if ordinary else ()):
            counts.left[neighbour] += 1
            counted[neighbour].right[t] += 1
        block.append(t if ordinary else "")
    return counted


def is_ordinary(word: str) -> bool:
    """Whether a word is made of letters and at most one other mark, which is no digit."""
    others = [c for c in word if not c.isalpha()]
    return len(others) <= 1 and len(others) < len(word) and not any(map(str.isdigit, others))


def word_weight(word: Statistics, usual: float, most: int, sentences: int) -> float:
    """H = Rel * Pos / (Case + Freq / Rel + Spread / Rel) of one word.

    `usual` is the mean frequency of content words plus its standard deviation, `most` the highest of all words.
    """
    case = max(word.acronym, word.name) / (1 + log(word.tf))
    position = log(log(3 + median(word.sentences)))
    frequency = word.tf / usual
    spread = len(word.sentences) / sentences
    related = 1 + (variety(word.left) + variety(word.right)) * word.tf / most
    return related * position / (case + frequency / related + spread / related)


def variety(neighbours: Counter[str]) -> float:
    """DL or DR: how many different words stand on one side, over how many there are."""
    return len(neighbours) / neighbours.total() if neighbours else 0.0


@dataclass(frozen=True)
class TermWeights:
    """The weight H of words and phrases of one text: lower is better."""

    words: Mapping[str, float]  # H of each word
    tf: Mapping[str, int]
    pairs: Counter[tuple[str, str]]  # how often one word stands right before another
    stops: frozenset[str]

    @classmethod
    def of(cls, document: Document, terms: Terms, window: int) -> Self:
        counted = statistics(document, terms, window)
        stops = stop_words(document.language)
        stops |= {term(word) for word in stops} | {word for word in counted if len(word) < 3}
        content = [word.tf for t, word in counted.items() if t not in stops] or [1]
        usual, most = fmean(content) + pstdev(content), max((word.tf for word in counted.values()), default=1)
        words = {t: word_weight(word, usual, most, len(document.sentences)) for t, word in counted.items()}
        return cls(words, {t: word.tf for t, word in counted.items()}, Counter(pairwise(terms)), stops)

    def phrase(self, phrase: Terms, times: int) -> float:
        """H = prod h / (TF * (1 + sum h)).

        A stop word inside the phrase does not count by its own weight: the less its neighbours call for it, the worse.
        Of several such words at most one is taken from the sum, which keeps it positive; the authors' phrases of up to
        three words have no more than one. A phrase without any word weighs as much as the worst word.
        """
        words = [word for word in phrase if word in self.words]
        if not words:
            return max(self.words.values(), default=1.0)
        factors, total, uncalled = [], 1.0, 0.0
        for i, word in enumerate(words):
            if 0 < i < len(words) - 1 and word in self.stops:
                surprise = 1 - self.called_for(words[i - 1], word, words[i + 1])
                factors.append(1 + surprise)
                uncalled += surprise
            else:
                factors.append(self.words[word])
                total += self.words[word]
        return prod(factors) / (max(times, 1) * (total - min(uncalled, 1.0)))

    def called_for(self, left: str, stop: str, right: str) -> float:
        """P(stop | left) * P(stop | right): how often each neighbour has the stop word on that side.

        As in the authors' package; P(right | stop) would be near 0 for every frequent stop word.
        """
        return self.pairs[left, stop] / self.tf[left] * self.pairs[stop, right] / self.tf[right]
