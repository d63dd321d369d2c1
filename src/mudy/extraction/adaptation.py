"""Weights of MUDY+ adapted to examples: what these changed, and whether that helps examples that were left out."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from mudy._support.callbacks import report_share
from mudy.errors import InputError
from mudy.extraction.examples import LEAST, Examples
from mudy.extraction.extractor import Extractor
from mudy.extraction.ranking import PhraseNames, rank
from mudy.extraction.results import Keyphrase
from mudy.methods.method import same_at_each
from mudy.methods.mudyplus.cascade import MudyPlus
from mudy.methods.mudyplus.evidence import Numbers
from mudy.methods.mudyplus.fit_texts import Fits, FitText, fit_parts, from_prior
from mudy.methods.mudyplus.weights import Weights, load_weights

DEPTH, COMPARED = 10, 5  # phrases of each list that are measured, and compared in words
_NAMED = 3  # changes, and examples that cannot be used, that are named
_CLEAR = 0.1  # a smaller change of the lists is not worth a word
_LISTS: Sequence[tuple[str, str, Callable[[Keyphrase], float]]] = (  # what grows, what shrinks, and its measure
    ("longer phrases", "shorter phrases", lambda phrase: len(phrase.text.split())),
    ("more names", "fewer names", lambda phrase: 3.0 * all(word[0].isupper() for word in phrase.text.split())),
    ("more frequent phrases", "rarer phrases", lambda phrase: float(np.log(len(phrase.occurrences)))),
    ("more with digits", "fewer with digits", lambda phrase: 3.0 * any(map(str.isdigit, phrase.text))),
)


@dataclass(frozen=True)
class Adaptation:
    """What examples changed in the weights of MUDY+. F1 is that of examples left out, at 10, in per cent."""

    weights: Weights  # those in use: adapted if that helps examples left out, else as before
    examples: int  # that the weights were fitted on
    before: float
    after: float
    helps: bool  # whether F1 or average precision of examples left out grows
    changes: tuple[str, ...]  # in the lists, as "longer phrases"
    notes: tuple[str, ...] = ()  # what could not be used

    @classmethod
    def of(cls, fits: Fits, before: Weights, notes: Sequence[str] = ()) -> Self:
        """From weights fitted on all texts and without each of them, compared with those before."""
        fits = with_best_repeats(fits)

        def without(text: FitText) -> Weights:
            return fits.without[text.part]

        lists = [top(fits, lambda _: before), top(fits, lambda _: fits.weights)]
        known, left_out = f1(fits.texts, lists[0]), f1(fits.texts, top(fits, without))
        helps = left_out > known or average_precision(fits, without) > average_precision(fits, lambda _: before)
        chosen, changes = fits.weights if helps else before, tuple(_changed_lists(*lists))
        return cls(chosen, len(fits.texts), known, left_out, helps, changes, tuple(notes))

    def __str__(self) -> str:
        measured = f"F1@{DEPTH} of examples left out {self.before:.1f} -> {self.after:.1f}"
        notes = "".join(f" Note: {note}." for note in self.notes)
        if not self.helps:
            return f"{self.examples} examples do not help, so the weights stay as they were: {measured}.{notes}"
        changed = ", ".join(self.changes) or "no clear change in the lists"
        better = "" if self.after > self.before else ", average precision grows"
        return f"Adapted to {self.examples} examples: {measured}{better}; {changed}.{notes}"

    def to_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "weights"}


def adapt(extractor: Extractor, examples: Examples) -> Adaptation:
    """Fit the weights of an extractor to examples; its own are the prior."""
    method = extractor.scorer
    assert isinstance(method, MudyPlus)
    texts = []
    for done, record in enumerate(examples.records):
        report_share(done / len(examples.records))
        prepared = extractor.prepare(record.text, blocks=record.blocks)
        gold = record.keyphrases
        texts.append(FitText.of(method, prepared.document, prepared.candidates, gold, "examples", record.id))
    telling = [text for text in texts if text.tells]
    notes = [*examples.notes, *_notes(texts, telling)]
    if len(telling) < LEAST:
        raise InputError(
            f"Only {len(telling)} of {len(texts)} examples have one of their phrases among the phrases of their text, "
            f"and others; at least {LEAST} are needed. A phrase counts where its words occur, inflected or not."
        )
    before = prior_of(method, telling)
    adaptation = Adaptation.of(fit_parts(telling, method.asks, from_prior(before, telling)), before, notes)
    if adaptation.helps:
        adaptation = replace(adaptation, weights=replace(adaptation.weights, source=f"{len(telling)} examples"))
    return adaptation


def _notes(texts: Sequence[FitText], telling: Sequence[FitText]) -> list[str]:
    notes = []
    if unused := [text.id for text in texts if not text.tells]:
        named = ", ".join(unused[:_NAMED]) + (" and others" if len(unused) > _NAMED else "")
        notes.append(f"examples without any of their phrases in the text, not used: {len(unused):,} ({named})")
    languages = Counter("English" if text.language == "en" else "another language" for text in telling)
    if len(languages) > 1:
        parts = " and ".join(f"{count} in {language}" for language, count in languages.most_common())
        notes.append(f"{parts} share one set of weights")
    return notes


def prior_of(method: MudyPlus, texts: Sequence[FitText]) -> Weights:
    """The weights that the method has for the language of most texts."""
    languages = Counter(text.language for text in texts).most_common(1)
    return load_weights(method.weights, method.style, languages[0][0] if languages else "en")


def ranked(
    text: FitText, chances: Numbers, top_n: int | None, merge: bool = False, **ranking: Any
) -> tuple[Keyphrase, ...]:
    """The best phrases of a text, as `mudy evaluate` ranks them; `ranking` are other arguments of `rank`."""
    scores, names = same_at_each(text.candidates, chances.tolist()), PhraseNames(merge, language=text.language)
    return rank(text.text, text.candidates, scores, names=names, top_n=top_n, **ranking)


def top(fits: Fits, weights_of: Callable[[FitText], Weights]) -> list[tuple[Keyphrase, ...]]:
    """The first phrases of each text."""
    return [ranked(text, text.chances(weights_of(text), fits.leaders), DEPTH) for text in fits.texts]


def f1(texts: Sequence[FitText], lists: Sequence[Sequence[Keyphrase]], depth: int = DEPTH) -> float:
    """F1 in per cent over all texts, counted as `mudy evaluate` does."""
    hits = counted = 0
    for text, phrases in zip(texts, lists, strict=True):
        hits += sum(text.is_gold(phrase.text.lower()) for phrase in phrases[:depth])
        counted += min(depth, text.occurrences) + len(text.gold)
    return 200 * hits / counted


def with_best_repeats(fits: Fits) -> Fits:
    """Without what near-synonyms lose, if that ranks the gold phrases of examples left out higher."""

    def free(weights: Weights) -> Weights:
        full = None if weights.full is None else replace(weights.full, repeats=0.0)
        return replace(weights, quick=replace(weights.quick, repeats=0.0), full=full)

    def left_out(fits: Fits) -> float:
        return average_precision(fits, lambda text: fits.without[text.part])

    others = replace(fits, weights=free(fits.weights), without={part: free(w) for part, w in fits.without.items()})
    return others if left_out(others) > left_out(fits) else fits


def average_precision(fits: Fits, weights_of: Callable[[FitText], Weights]) -> float:
    """The mean over texts of the precision at each gold phrase, among all phrases of the text."""
    values = []
    for text in fits.texts:
        order = np.argsort(-text.chances(weights_of(text), fits.leaders), kind="stable")
        places = np.flatnonzero(text.hits[order]) + 1
        values.append(float(np.mean(np.arange(1, len(places) + 1) / places)))
    return float(np.mean(values))


def _changed_lists(before: Sequence[Sequence[Keyphrase]], after: Sequence[Sequence[Keyphrase]]) -> list[str]:
    """How the lists differ, the largest difference first."""
    changes = []
    for more, less, measure in _LISTS:
        old, new = (
            np.mean([measure(phrase) for phrases in lists for phrase in phrases[:COMPARED]])
            for lists in (before, after)
        )
        changes.append((abs(new - old), more if new > old else less))
    return [words for size, words in sorted(changes, reverse=True) if size >= _CLEAR][:_NAMED]
