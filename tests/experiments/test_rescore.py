"""A run scored again with other settings is what a new run gives."""

from typing import Any

import pytest

from experiments.reproduce import rescore
from experiments.reproduce.rescore import likelihood_alone, rescore_run
from mudy.errors import InputError
from mudy.evaluation.experiment import evaluate
from mudy.evaluation.runs import JudgedDocument
from mudy.extraction.extractor import Extractor
from mudy.methods.mudy import Mudy
from mudy.methods.promptrank import PromptRank
from tests.evaluation.test_runs import RIVERS
from tests.small import decoder
from tests.taggers import english


class Given(Extractor):
    """An extractor with a method that is made already."""

    def __init__(self, name: str, scorer: Any, **settings: Any) -> None:
        super().__init__(name, protocol="promptrank", language=english(), **settings)
        vars(self)["scorer"] = scorer


def test_other_weights_of_attention_give_what_a_new_run_gives() -> None:
    settings: dict[str, Any] = {"mixture": False, "sam_layers": (1,)}
    kept = evaluate(Given("mudy", Mudy(decoder("llama"), **settings)), [RIVERS], places=True)
    words = {"lambda_words": 40, "lambda_": 0.7}
    for changed in (
        words,
        {"lambda_": 0.3},
        {"attention": "G"},
        {"attention": "L", "lambda_": 2.0},
        {"attention": "none"},
    ):
        fresh = evaluate(Given("mudy", Mudy(decoder("llama"), **settings, **changed)), [RIVERS], places=True)
        found = rescore_run(kept, rescore.mudy_scoring(**changed))
        assert [d.phrases for d in found.documents] == [d.phrases for d in fresh.documents]
        for one, other in zip(found.documents, fresh.documents, strict=True):
            assert one.scores == pytest.approx(other.scores, rel=1e-6)
            assert [p["start"] for p in one.places] == [p["start"] for p in kept_order(other)]


def kept_order(document: JudgedDocument) -> list[Any]:
    return sorted(document.places, key=lambda p: (-float(f"{p['score']:.5g}"), p["start"], p["end"]))


def test_promptrank_without_its_penalty_is_the_likelihood_alone() -> None:
    kept = evaluate(Given("promptrank", PromptRank(decoder("llama"), gamma=1.0)), [RIVERS], places=True)
    fresh = evaluate(Given("promptrank", PromptRank(decoder("llama"), position_penalty=False)), [RIVERS])
    assert [d.phrases for d in rescore_run(kept, likelihood_alone).documents] == [d.phrases for d in fresh.documents]
    assert [d.phrases for d in kept.documents] != [d.phrases for d in fresh.documents]


def test_mudy_without_weighting_is_read_from_runs_of_mudy_and_promptrank() -> None:
    settings: dict[str, Any] = {"mixture": False, "sam_layers": (1,)}
    weighted = evaluate(Given("mudy", Mudy(decoder("llama"), **settings)), [RIVERS], places=True)
    plain = evaluate(Given("promptrank", PromptRank(decoder("llama"))), [RIVERS], places=True)
    fresh = evaluate(Given("mudy", Mudy(decoder("llama"), weighting=False, **settings)), [RIVERS])
    found = rescore_run(rescore.with_likelihood_of(plain, weighted), rescore.mudy_scoring())
    assert [d.phrases for d in found.documents] == [d.phrases for d in fresh.documents]
    assert [d.phrases for d in weighted.documents] != [d.phrases for d in fresh.documents]
    for one, other in zip(found.documents, fresh.documents, strict=True):
        assert one.scores == pytest.approx(other.scores, rel=1e-4)


def test_a_run_without_places_cannot_be_scored_otherwise() -> None:
    with pytest.raises(InputError, match="needs places"):
        rescore_run(evaluate(Extractor("singlerank", language=english()), [RIVERS]), likelihood_alone)
