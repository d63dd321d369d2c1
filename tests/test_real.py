"""The real default model on real text."""

import os
from functools import cache
from pathlib import Path

import pytest
import torch

from mudy import Extractor, models
from mudy.engines import Compute
from mudy.engines.interfaces import Backbone
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import CausalBackbone
from mudy.errors import UnsupportedModel
from mudy.methods.mudy import Mudy
from mudy.methods.promptrank import PromptRank
from mudy.reading.candidates import candidates
from mudy.reading.document import squeeze
from tests import oracle

pytestmark = pytest.mark.real
EXAMPLE = (Path(__file__).parent.parent / "examples" / "floodplain.txt").read_text()


@cache
def extractor(model: str) -> Extractor:
    return Extractor("mudy", model=model, threads=1 if "PYTEST_XDIST_WORKER" in os.environ else 2)


def every_part(backbone: Backbone) -> Mudy:
    return Mudy(backbone, mixture=False, sam_layers=(3,))  # every part of the method at work


@pytest.mark.slow
@pytest.mark.parametrize("model", ["gemma3-270m", "smollm2-135m"])
def test_sharing_the_document_equals_a_whole_forward_pass_per_occurrence(model: str) -> None:
    found = extractor(model)
    document = found.read(EXAMPLE[: EXAMPLE.index("Instead of building")])
    phrases = candidates(document)[::3]  # the plain way takes a whole forward pass for each of their occurrences
    light = found.scorer.backbone  # type: ignore[attr-defined]
    torch_engine = CausalBackbone.load(models.locate(model), Machine.of(Compute(threads=1)), model)
    expected = oracle.scores(every_part(torch_engine), document, phrases)
    for backbone in (light, torch_engine):
        scores = every_part(backbone).score(document, phrases)
        scored = {(phrases[s.candidate].phrase, s.occurrence.span.start): s.score for s in scores}
        assert scored.keys() == expected.keys()
        for place, score in scored.items():
            assert score == pytest.approx(expected[place][-1], abs=1e-3)
        assert sorted(scored, key=lambda p: -scored[p]) == sorted(expected, key=lambda p: -expected[p][-1])


def test_the_example_gives_the_phrases_that_the_readme_shows() -> None:
    result = Extractor(threads=1).extract(EXAMPLE)
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    shown = readme[readme.index("make run") :]
    for keyphrase in result.keyphrases:
        assert f" {keyphrase.text} " in shown
    for keyphrase in result.keyphrases:
        for occurrence in keyphrase.occurrences:
            assert squeeze(EXAMPLE[occurrence.start : occurrence.end]) in (keyphrase.text, *keyphrase.variants)


def test_a_licence_in_front_of_a_story_does_not_fill_the_list() -> None:
    licence = " ".join((Path(__file__).parent.parent / "LICENSE").read_text().split()[:450])
    result = Extractor(threads=1).extract(f"{licence}\n\n{EXAMPLE}", 10)
    from_the_story = [k for k in result if min(o.start for o in k.occurrences) > len(licence)]
    assert len(from_the_story) >= 5
    assert any("flood" in keyphrase.text for keyphrase in result.keyphrases[:5])


def test_promptrank_runs_on_the_same_model_and_prefers_early_phrases() -> None:
    backbone = extractor("smollm2-135m").scorer.backbone  # type: ignore[attr-defined]
    document = extractor("smollm2-135m").read(EXAMPLE[:1200])
    found = candidates(document)
    with_penalty = PromptRank(backbone).score(document, found)
    without = PromptRank(backbone, position_penalty=False).score(document, found)
    assert max(with_penalty, key=lambda s: s.score).occurrence.span.start < 600
    assert [s.parts["p"] for s in with_penalty] == [s.parts["p"] for s in without]


@pytest.mark.slow
def test_the_mixture_finds_related_candidates_with_the_sentence_encoder() -> None:
    made = Extractor("mudy", model="smollm2-135m", mixture=True, weighting=True)
    document = made.read(EXAMPLE[:900])
    found = candidates(document)
    plain = Mudy(made.scorer.backbone, mixture=False).score(document, found)  # type: ignore[attr-defined]
    mixed = made.scorer.score(document, found)
    assert all(a.parts["p"] < 0 for a in mixed)
    assert any(abs(a.parts["p"] - b.parts["p"]) > 1e-3 for a, b in zip(plain, mixed, strict=True))


@pytest.mark.slow
def test_half_precision_ranks_much_alike() -> None:
    text = EXAMPLE[:1500]
    full = extractor("smollm2-135m").extract(text, 10)
    half = Extractor("mudy", model="smollm2-135m", dtype="bfloat16").extract(text, 10)
    assert len({k.text for k in full.keyphrases} & {k.text for k in half.keyphrases}) >= 7


def test_an_encoder_is_no_backbone() -> None:
    with pytest.raises(UnsupportedModel, match="family 'bert'"):
        Extractor("mudy", model="minilm-l6").extract("A radar map.")


def test_threads_are_put_back() -> None:
    before = torch.get_num_threads()
    Extractor("mudy", model="smollm2-135m", threads=2).extract("A radar map.")
    assert torch.get_num_threads() == before
