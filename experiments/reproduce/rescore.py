"""Rescore a run: the parts of every score are kept, so other weights need no new run of a model.

>>> run = Run.load("duc2001-mudy.json")  # evaluated with places=True
>>> rescore_run(run, mudy_scoring(lambda_=0.5, attention="G"))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from mudy.errors import InputError
from mudy.evaluation.runs import JudgedDocument, Run
from mudy.extraction.ranking import rounded
from mudy.methods.mudy import Attention, attention_score, final_score, weight_of

StoredOccurrence = Mapping[str, float]
Scoring = Callable[[JudgedDocument, StoredOccurrence], float]  # a document and one occurrence -> its score


def rescore_run(run: Run, scoring: Scoring) -> Run:
    """Rank the phrases of every document by other scores of their occurrences; the cost stays that of the run."""
    if not run.asked.get("places") or run.asked.get("protocol") is None:
        raise InputError(f"The run {run.title} cannot be scored otherwise: it needs places, and texts of one section.")
    return replace(run, documents=tuple(_reranked(document, scoring) for document in run.documents))


def _reranked(document: JudgedDocument, scoring: Scoring) -> JudgedDocument:
    scored = [(scoring(document, place), place) for place in document.places]
    scored.sort(key=lambda pair: (-rounded(pair[0]), pair[1]["start"], pair[1]["end"]))
    best: dict[int, float] = {}
    for score, place in scored:
        best.setdefault(int(place["phrase"]), score)
    kept = tuple({**place, "score": score} for score, place in scored)
    phrases = tuple(document.phrases[index] for index in best)
    order = {index: position for position, index in enumerate(best)}
    places = tuple({**place, "phrase": order[int(place["phrase"])]} for place in kept)
    return replace(document, phrases=phrases, scores=tuple(best.values()), places=places)


def with_likelihood_of(other: Run, run: Run) -> Run:
    """A run of MUDY with the likelihoods of another run, over the documents that both have.

    That of PromptRank is MUDY's without candidate-aware weighting. PromptRank asks for a phrase in its first form,
    though, and MUDY in each: where texts keep their case, the two are not quite the same.
    """
    known = {(document.data, document.id): document for document in other.documents}
    both = [(document, known[key]) for document in run.documents if (key := (document.data, document.id)) in known]
    return rescore_run(replace(run, documents=tuple(_with_likelihood(*pair) for pair in both)), likelihood_alone)


def _with_likelihood(document: JudgedDocument, other: JudgedDocument) -> JudgedDocument:
    p = {(place["start"], place["end"]): place["p"] for place in other.places}
    return replace(document, places=tuple({**x, "p": p[x["start"], x["end"]]} for x in document.places))


def mudy_scoring(
    lambda_: float = 1.0, attention: Attention = "GxL", lambda_words: int = 0, as_clip: float | None = 2.5
) -> Scoring:
    """MUDY with another weight or factor of attention (Eqs. 11-12); the run must hold the factors, so `GxL`."""

    def score(document: JudgedDocument, place: StoredOccurrence) -> float:
        weight = weight_of(document.words, lambda_, lambda_words)
        return final_score(place["p"], attention_score(place["G"], place["L"], attention, as_clip), weight)

    return score


def likelihood_alone(_: JudgedDocument, place: StoredOccurrence) -> float:
    """The prompt's likelihood alone: PromptRank without its position penalty."""
    return place["p"]
