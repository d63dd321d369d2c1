"""MUDY's fast path says what the paper's equations say."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mudy.engines.interfaces import Floats, Question
from mudy.engines.torch import attention
from mudy.engines.torch.transformer import of_one_shape
from mudy.errors import SettingError
from mudy.methods.chunks import chunks
from mudy.methods.method import Architecture
from mudy.methods.mudy import Mudy, focus, weight_of
from mudy.reading.candidates import Candidate, candidates
from mudy.reading.document import Document, Span
from tests import oracle, small
from tests.engines.light import saved
from tests.taggers import english

FAMILIES = (*small.DECODERS, "t5")


class Hashed:
    """A stand-in encoder: a fixed random vector for each spelling."""

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Floats:  # noqa: ARG002
        def vector(word: str) -> Tensor:
            return torch.randn(8, generator=torch.Generator().manual_seed(sum(map(ord, word))))

        found: Floats = torch.stack([vector(span.of(text)) for span in spans]).numpy()
        return found


def read() -> tuple[Document, list[Candidate]]:
    document = english().document(small.TEXT)
    return document, candidates(document)


def backbone(family: str, batch_tokens: int = 512) -> Any:
    return small.t5(batch_tokens) if family == "t5" else small.decoder(family, batch_tokens)


def method(family: str, batch_tokens: int = 512, **settings: Any) -> Mudy:
    sharp = {"unit": 6.0, "sam_layers": (1,), "k_attn": 3, "kappa": 0.4, "sigma": 0.5}  # for a text of 100 tokens
    encoder: Any = None if family == "t5" else Hashed()
    return Mudy(backbone(family, batch_tokens), encoder, **{**sharp, **settings})


VARIANTS: dict[str, dict[str, Any]] = {
    "as published": {},
    "logit rule": {"rule": "logit"},
    "post-softmax rule": {"rule": "post_softmax"},
    "vanilla": {"mixture": False, "k_attn": 0},
    "vanilla and aligned": {"mixture": False},
    "aligned by the tail": {"mixture": False, "aligned_rows": "tail"},
    "full layers only": {"mixture": False, "weight_sliding": False},
    "gentle": {"mixture": False, "least_weight": 0.5, "keep_sink": False, "lambda_": 0.3},
}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models that both engines compute, on the disk."""
    return {family: saved.decoder_folder(tmp_path_factory.mktemp(family), family) for family in saved.DECODERS}


@pytest.mark.parametrize(
    ("family", "engine"),
    [*((family, "torch") for family in FAMILIES), *((family, "light") for family in saved.DECODERS)],
)
@pytest.mark.parametrize("variant", VARIANTS)
def test_every_occurrence_scores_as_in_a_plain_loop_over_the_equations(
    family: str, engine: str, variant: str, folders: dict[str, Path]
) -> None:
    document, found = read()
    mudy = method(family, **VARIANTS[variant])
    expected = oracle.scores(mudy, document, found)
    if engine == "light":
        mudy = replace(mudy, backbone=saved.light_decoder(folders[family]))
    for score in mudy.score(document, found):
        parts = [score.parts["p"], score.parts["G"], score.parts["L"], score.score]
        place = found[score.candidate].phrase, score.occurrence.span.start
        assert parts == pytest.approx(expected.pop(place), abs=1e-4)
    assert not expected


@pytest.mark.parametrize("family", FAMILIES)
def test_each_layer_and_head_attends_as_in_a_plain_loop(family: str, monkeypatch: pytest.MonkeyPatch) -> None:
    document, found = read()
    mudy = method(family, batch_tokens=1)  # one prompt at a time, so that batches can be told apart
    seen: list[dict[int, Tensor]] = []
    attend = attention.Following.attend

    def spy(self: Any, call: attention.Call) -> Tensor:
        attended: Tensor = attend(self, call)
        if call.cross or (family != "t5" and self.edit is not None):
            if call.layer == 0:
                seen.append({})
            seen[-1][call.layer] = attended[0].clone()
        return attended

    monkeypatch.setattr(attention.Following, "attend", spy)
    (section,) = chunks(document, found, mudy.backbone.token_ends(document.text), 999)
    (encoding,) = mudy.backbone.encode([section.text_range])
    seen.clear()  # T5's decoder has run once, for the document's keys
    places = [(found[p.candidate].phrase, p.span) for p in section.places]
    phrases = [span.of(document.text) for _, span in places]
    mudy.backbone.log_likelihood([Question(encoding, phrases, focus(mudy, section, encoding))])
    order = [i for batch in of_one_shape(backbone(family)._prompts(phrases), 1) for i in batch]
    expected = oracle.pulls(mudy, document.text, section.span, places)
    for index, layers in zip(order, seen, strict=True):
        pull = expected[index]
        oracle.likelihood(mudy.backbone, document.text, section.span, phrases[index], pull, mudy)
        assert set(layers) == set(pull.attended) == set(range(mudy.backbone.prompt_depth))
        for layer, attended in layers.items():
            torch.testing.assert_close(attended, pull.attended[layer], atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_without_an_edit_the_prompt_is_scored_as_by_the_stock_model(family: str) -> None:
    document, found = read()
    mudy = method(family, weighting=False, attention="none")
    for score in mudy.score(document, found):
        phrase = score.occurrence.span.of(document.text)
        whole = Span(document.sentences[0].start, document.sentences[-1].end)
        expected = oracle.likelihood(mudy.backbone, document.text, whole, phrase, None, mudy)
        assert score.score == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_batch_size_changes_no_score(family: str) -> None:
    document, found = read()
    one, many = method(family, batch_tokens=1), method(family, batch_tokens=100_000)
    for a, b in zip(one.score(document, found), many.score(document, found), strict=True):
        assert (a.candidate, a.occurrence) == (b.candidate, b.occurrence)
        assert a.score == pytest.approx(b.score, abs=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_weighting_reaches_the_score(family: str) -> None:
    document, found = read()
    edited, plain = method(family, attention="none"), method(family, attention="none", weighting=False)
    differences = [
        abs(a.score - b.score) for a, b in zip(edited.score(document, found), plain.score(document, found), strict=True)
    ]
    assert max(differences) > 0.01


def test_each_factor_of_attention_can_be_left_out() -> None:
    document, found = read()
    by_name = {name: method("llama", attention=name).score(document, found) for name in ("GxL", "G", "L", "none")}
    for both, g, local, none in zip(*by_name.values(), strict=True):
        assert both.parts["G"] == g.parts["G"]
        assert both.parts["L"] == local.parts["L"]
        assert g.parts["L"] == local.parts["G"] == none.parts["G"] == 1.0
        assert none.score == none.parts["p"]


def test_attention_counts_less_in_short_texts_and_as_ever_in_long_ones() -> None:
    assert weight_of(100, 0.8, 400) == pytest.approx(0.8 / 16)
    assert weight_of(400, 0.8, 400) == weight_of(9000, 0.8, 400) == 0.8
    assert weight_of(3, 0.8, 0) == 0.8  # the paper's
    text, found = read()
    words = len(text.text.split())
    short, plain = method("llama", lambda_words=2 * words), method("llama", lambda_=0.25)
    assert [s.score for s in short.score(text, found)] == [s.score for s in plain.score(text, found)]


def test_lambda_inside_or_outside_the_logarithm_is_the_same_at_one() -> None:
    document, found = read()
    inside, outside = method("llama"), method("llama", lambda_outside=True)
    for a, b in zip(inside.score(document, found), outside.score(document, found), strict=True):
        assert a.score == pytest.approx(b.score)
    half = method("llama", lambda_=0.5), method("llama", lambda_=0.5, lambda_outside=True)
    assert half[0].score(document, found)[0].score != pytest.approx(half[1].score(document, found)[0].score)


def test_a_text_of_fewer_sentences_than_a_window_is_its_own_window() -> None:
    document = english().document("River ice breaks. The ferry crew reads a radar map.")
    found = candidates(document)
    scored = method("llama").score(document, found)
    assert all(s.parts["G"] == s.parts["L"] for s in scored)
    assert sum(s.parts["G"] for s in scored) / len(scored) == pytest.approx(1.0)


def test_a_phrase_that_comes_back_in_several_sections_is_raised() -> None:
    document = english().document(" ".join([small.TEXT] * 6) + " There is one submarine.")
    found = candidates(document)
    settings: dict[str, Any] = {"section_tokens": 96, "mixture": False}
    plain = method("llama", recurrence=0.0, **settings).score(document, found)
    raised = method("llama", recurrence=0.5, **settings).score(document, found)
    ratio = {found[a.candidate].phrase: a.score / b.score for a, b in zip(plain, raised, strict=True)}
    chunks = {s.section for s in plain if found[s.candidate].phrase == "radar map"}
    assert len(chunks) > 2
    assert ratio["radar map"] == pytest.approx(1 + 0.5 * math.log(len(chunks)))
    assert ratio["submarine"] == 1.0


def test_a_mixture_without_an_encoder_is_refused_in_a_decoder_only_model() -> None:
    document, found = read()
    with pytest.raises(SettingError, match="encoder"):
        Mudy(small.decoder("llama")).score(document, found)


@pytest.mark.parametrize(
    ("name", "value"),
    [("sigma", 0.0), ("k_attn", -1), ("w", 0), ("least_weight", 2.0)],
)
def test_a_setting_out_of_its_range_is_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(SettingError, match=f"{name} is .*, but must be"):
        method("llama", **{name: value})


def test_an_unknown_preset_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(SettingError, match="t5-duc2001"):
        Mudy.chosen_settings("t5-duc2002", {}, lambda: Architecture("t5", 12))
