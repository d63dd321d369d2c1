"""MUDY+ on several texts at once: no result depends on the company."""

from collections.abc import Sequence
from typing import Any

import pytest

from mudy.extraction.outcomes import BATCH_TEXTS, batch_size
from mudy.methods.method import OccurrenceScore, Work
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.language_model import Inquiry, ask
from mudy.reading.candidates import nested_candidates
from tests import small
from tests.tagged import many_words, tagged

TEXTS = (
    "river ice is/VBZ thin/JJ . ice road closes/VBZ . radar map guides/VBZ trucks/NNS over/IN ice . old/JJ maps/NNS .",
    "ice",
    "the/DT",
    "ferry crew reads/VBZ radar map .",
    "radar map",
)
MODELS = [None, *(lambda kind=kind: small.decoder(kind) for kind in small.DECODERS), small.t5]


def work() -> Work:
    documents = [tagged(text) for text in TEXTS]
    return [(document, nested_candidates(document)) for document in documents]


def rows(scores: list[OccurrenceScore]) -> list[tuple[int, Any]]:
    return [(score.candidate, score.occurrence) for score in scores]


@pytest.mark.parametrize("backbone", MODELS)
def test_texts_computed_together_score_as_each_alone(backbone: Any) -> None:
    method = MudyPlus(small.bert(), backbone() if backbone else None, leaders=4)
    together = method.score_many(work())
    assert [bool(scores) for scores in together] == [True, True, False, True, True]
    for scores, (document, candidates) in zip(together, work(), strict=True):
        alone = method.score(document, candidates)
        assert rows(scores) == rows(alone)
        for among, own in zip(scores, alone, strict=True):
            assert among.score == pytest.approx(own.score, abs=1e-6)
            assert among.parts == pytest.approx(own.parts, abs=1e-4)


def test_a_long_text_and_its_digest_score_as_alone_between_other_texts() -> None:
    method = MudyPlus(small.bert(), small.decoder("llama"), leaders=4, read_words=40)
    documents = [tagged(TEXTS[0]), many_words(60), many_words(4, seed=2), many_words(90, seed=3), tagged(TEXTS[3])]
    texts = [(document, nested_candidates(document)) for document in documents]
    together = method.score_many(texts)
    assert [len(scores.read["language_model"]) > 1 for scores in together] == [False, True, False, True, False]
    for scores, (document, candidates) in zip(together, texts, strict=True):
        alone = method.score(document, candidates)
        assert rows(scores) == rows(alone)
        assert scores.read == alone.read
        for among, own in zip(scores, alone, strict=True):
            assert among.score == pytest.approx(own.score, abs=1e-6)
            assert among.parts == pytest.approx(own.parts, abs=1e-4)


@pytest.mark.parametrize("backbone", [small.decoder, small.t5])
def test_texts_whose_digests_do_not_fit_together_are_read_one_after_another(
    backbone: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mudy.methods.mudyplus.cascade.TOGETHER", 50)
    packs: list[int] = []

    def noting(model: Any, inquiries: Sequence[Inquiry]) -> Any:
        packs.append(sum(inquiry.digest.words for inquiry in inquiries))
        return ask(model, inquiries)

    monkeypatch.setattr("mudy.methods.mudyplus.cascade.ask", noting)
    model = backbone("llama") if backbone is small.decoder else backbone()
    method = MudyPlus(small.bert(), model, leaders=4, read_words=40)
    texts = [(document, nested_candidates(document)) for document in (many_words(n, n) for n in (2, 3, 30, 40, 2))]
    split = method.score_many(texts)
    assert len(packs) > 2
    assert max(packs) <= 50
    monkeypatch.undo()
    for scores, whole in zip(split, method.score_many(texts), strict=True):
        assert [score.score for score in scores] == pytest.approx([score.score for score in whole], abs=1e-6)


def test_the_order_of_the_texts_does_not_matter() -> None:
    method = MudyPlus(small.bert(), small.decoder("gemma3"), leaders=4)
    back = list(reversed(method.score_many(list(reversed(work())))))
    for one, other in zip(method.score_many(work()), back, strict=True):
        assert [score.score for score in one] == pytest.approx([score.score for score in other], abs=1e-6)


def test_a_phrase_that_several_texts_hold_is_encoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[list[Any]] = []
    encoder = small.bert()
    states = encoder.states

    def noted(rows: Any, *more: Any, **named: Any) -> Any:
        read.append(list(rows))
        return states(rows, *more, **named)

    monkeypatch.setattr(encoder, "states", noted)
    MudyPlus(encoder).score_many(work())
    (every,) = read  # one call for all texts
    assert len(every) == len(set(every))


def test_no_texts_and_texts_without_candidates() -> None:
    method = MudyPlus(small.bert(), small.decoder("llama"))
    assert method.score_many([]) == []
    assert method.score_many([(tagged("the/DT"), []), (tagged(""), [])]) == [[], []]


def test_short_texts_are_batched() -> None:
    assert batch_size("mudyplus") == BATCH_TEXTS
