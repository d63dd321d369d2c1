"""Decoder-only models: the same answers as the engine with torch."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mudy.engines import supported_lightly
from mudy.engines.interfaces import Backbone, MapObserver, Maps, Question, Received, TextRange
from mudy.engines.light import decoder
from mudy.errors import CandidateTooLong
from mudy.methods.mudy import Mudy
from mudy.reading.candidates import candidates
from mudy.reading.document import Span
from tests import small
from tests.engines.light import saved
from tests.taggers import english

TEXT = " ".join([small.TEXT] * 3)  # longer than a window, and than a block of rows
PHRASES = ["ice road", "ice", "radar map", "ice roads", "crew of a ferry", "ice road"]


def whole(text: str) -> TextRange:
    return TextRange(text, Span(0, len(text)))


def likelihoods(backbone: Backbone, texts: Sequence[str], phrases: Sequence[str] = PHRASES) -> list[list[list[float]]]:
    return backbone.log_likelihood([Question(e, phrases) for e in backbone.encode([whole(text) for text in texts])])


def close(found: list[list[list[float]]], expected: list[list[list[float]]], tolerance: float) -> bool:
    pairs = [pair for one, other in zip(found, expected, strict=True) for pair in zip(one, other, strict=True)]
    return all(one == pytest.approx(other, abs=tolerance) for one, other in pairs)


def test_likelihoods_are_those_of_torch(folder: Path) -> None:
    texts = [TEXT, small.TEXT]
    expected = likelihoods(saved.torch_decoder(folder), texts)
    assert close(likelihoods(saved.light_decoder(folder), texts), expected, 1e-4)


def test_received_attention_is_that_of_torch(folder: Path) -> None:
    light, torch = saved.light_decoder(folder), saved.torch_decoder(folder)
    for layers in ([0], [1, 3]):
        for ours, theirs in zip(attention(light, layers), attention(torch, layers), strict=True):
            assert ours.tokens == theirs.tokens
            np.testing.assert_allclose(ours.sums, theirs.sums, atol=1e-4)


def attention(backbone: Backbone, layers: Sequence[int]) -> list[Received]:
    """In two texts that are read for it, and in one that is read for its prompts."""
    (encoding,) = backbone.encode([whole(TEXT)], layers)
    return [*backbone.received_attention([whole(TEXT), whole("Ice.")], layers), encoding.received]


def test_the_states_in_the_middle_are_those_of_torch_whatever_is_read_together(folder: Path) -> None:
    light, torch = saved.light_decoder(folder), saved.torch_decoder(folder)
    texts = [whole(TEXT), whole("Ice.")]
    expected = [encoding.middle for encoding in torch.encode(texts, middle=True)]
    for batch in (1, 4096):
        encodings = saved.light_decoder(folder, batch_tokens=batch).encode(texts, middle=True)
        for encoding, states in zip(encodings, expected, strict=True):
            assert encoding.middle is not None
            assert states is not None
            assert len(encoding.middle) == len(encoding.tokens)
            np.testing.assert_allclose(encoding.middle, states, atol=1e-4)
    assert all(encoding.middle is None for one in (light, torch) for encoding in one.encode(texts))


@pytest.mark.parametrize("speed", ["exact", "fast"])
def test_answers_do_not_depend_on_the_batch(folder: Path, speed: str) -> None:
    """In 8 bits too: in a small model no rounding turns on float noise."""
    texts = [TEXT, "Ice.", small.TEXT]
    together = likelihoods(saved.light_decoder(folder, speed=speed, batch_tokens=4096), texts)
    alone = [likelihoods(saved.light_decoder(folder, speed=speed, batch_tokens=1), [text])[0] for text in texts]
    assert close(together, alone, 1e-4)


@pytest.mark.parametrize("speed", ["exact", "fast"])
def test_answers_are_the_same_to_the_last_bit_on_any_number_of_threads(folder: Path, speed: str) -> None:
    one, *others = (saved.light_decoder(folder, speed=speed, threads=threads) for threads in (1, 2, 5))
    likely, seen = likelihoods(one, [TEXT, small.TEXT]), attention(one, [1, 3])
    for other in others:
        assert likelihoods(other, [TEXT, small.TEXT]) == likely
        for ours, theirs in zip(attention(other, [1, 3]), seen, strict=True):
            np.testing.assert_array_equal(ours.sums, theirs.sums)


def test_phrases_that_begin_alike_share_rows_and_each_is_scored_as_if_alone(folder: Path) -> None:
    light = saved.light_decoder(folder)
    together = likelihoods(light, [small.TEXT])[0]
    alone = [likelihoods(light, [small.TEXT], [phrase])[0][0] for phrase in PHRASES]
    assert close([together], [alone], 1e-5)


def test_8_bits_are_near_float32(folder: Path) -> None:
    exact = likelihoods(saved.light_decoder(folder), [TEXT])
    fast = likelihoods(saved.light_decoder(folder, speed="fast"), [TEXT])
    assert 1e-4 < max(abs(a - b) for a, b in zip(flat(fast), flat(exact), strict=True)) < 0.3


def flat(values: list[list[list[float]]]) -> list[float]:
    return [value for answer in values for scored in answer for value in scored]


def test_a_cpu_that_loses_bits_of_8_bit_products_computes_in_float32(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mudy.engines.light.weights.int8_is_exact", lambda: False)
    fast = likelihoods(saved.light_decoder(folder, speed="fast"), [TEXT])
    assert fast == likelihoods(saved.light_decoder(folder), [TEXT])


@pytest.mark.parametrize("speed", ["exact", "fast"])
def test_no_word_is_likelier_than_all_words_together(folder: Path, speed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoder, "_LARGE", 100)  # so that only common words and those said are summed up
    monkeypatch.setattr(decoder, "_COMMON", 60)
    assert max(flat(likelihoods(saved.light_decoder(folder, speed=speed), [TEXT]))) <= 0


def test_a_sum_over_blocks_of_the_vocabulary_is_that_over_all(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = likelihoods(saved.light_decoder(folder), [TEXT])
    monkeypatch.setattr(decoder, "_WORDS", 7)
    monkeypatch.setattr(decoder, "_STATES", 3)
    assert close(likelihoods(saved.light_decoder(folder), [TEXT]), expected, 1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {"rule": "logit"},
        {"rule": "post_softmax"},
        {"rule": "post_softmax", "aligned_rows": "tail"},
        {"rule": "post_softmax", "weight_sliding": False, "k_attn": 0},
        {"rule": "logit", "weighted_layers": (0.5, 1.0)},
    ],
)
def test_weighting_is_that_of_torch(folder: Path, settings: dict[str, Any]) -> None:
    document = english().document(small.TEXT)
    found = candidates(document)
    given = {"unit": 6.0, "sam_layers": (1,), "k_attn": 3, "mixture": False, **settings}
    light = Mudy(saved.light_decoder(folder, batch_tokens=64), **given).score(document, found)
    torch = Mudy(saved.torch_decoder(folder), **given).score(document, found)
    for one, other in zip(light, torch, strict=True):
        assert one.occurrence == other.occurrence
        assert one.parts == pytest.approx(other.parts, abs=1e-4)


@dataclass(frozen=True, kw_only=True)
class Keeper(MapObserver):
    """Keeps the maps that it is shown."""

    layers: frozenset[int] = frozenset({0, 1, 3})
    head: int | None
    seen: dict[int, list[Any]] = field(default_factory=dict)

    def see(self, layer: int, maps: Maps) -> None:
        self.seen[layer] = [part for _, part in maps(self.head)]


@pytest.mark.parametrize("head", [None, 2])
def test_whole_attention_maps_are_those_of_torch(folder: Path, head: int | None) -> None:
    found = []
    for backbone in (saved.light_decoder(folder), saved.torch_decoder(folder)):
        keeper = Keeper(head=head)
        backbone.observe(backbone.window(TEXT, Span(0, len(TEXT))), keeper)
        found.append({layer: np.concatenate(parts, axis=1) for layer, parts in keeper.seen.items()})
    ours, theirs = found
    assert set(ours) == set(theirs) == Keeper.layers
    for layer, maps in ours.items():
        np.testing.assert_allclose(maps, theirs[layer], atol=1e-5)


def test_another_template_is_that_of_torch(folder: Path) -> None:
    template = " Keywords: {},"
    light, torch = saved.light_decoder(folder), saved.torch_decoder(folder)
    before = likelihoods(light, [TEXT])
    expected = likelihoods(torch.with_template(template), [TEXT])
    assert close(likelihoods(light.with_template(template), [TEXT]), expected, 1e-4)
    assert likelihoods(light, [TEXT]) == before


def test_no_phrases_and_no_questions_are_answered(folder: Path) -> None:
    light = saved.light_decoder(folder)
    (encoding,) = light.encode([whole("Ice.")])
    assert light.log_likelihood([Question(encoding, [])]) == [[]]
    assert light.log_likelihood([]) == []


def test_a_phrase_that_does_not_fit_is_refused(folder: Path) -> None:
    with pytest.raises(CandidateTooLong):
        likelihoods(saved.light_decoder(folder), ["Ice."], ["ice " * 1000])


def test_it_says_what_a_text_and_a_model_are(folder: Path) -> None:
    light, torch = saved.light_decoder(folder), saved.torch_decoder(folder)
    for name in ("family", "depth", "prompt_depth", "heads", "sink_token", "default_rule", "small_sums"):
        assert getattr(light, name) == getattr(torch, name)
    assert light.room() == torch.room()
    assert light.token_ends(TEXT) == torch.token_ends(TEXT)
    assert light.window(TEXT, Span(5, 60)) == torch.window(TEXT, Span(5, 60))


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_weights_in_half_precision_are_read_as_torch_reads_them(dtype: str, tmp_path: Path) -> None:
    import torch

    kept = getattr(torch, dtype)
    model = copy.deepcopy(small.decoder("llama").model).to(kept)
    folder = saved.save(tmp_path / "model", model, small.tokenizer("decoder"))
    assert supported_lightly(folder)
    expected = likelihoods(saved.torch_decoder(folder, dtype="float32"), [TEXT])
    assert close(likelihoods(saved.light_decoder(folder), [TEXT]), expected, 1e-4)


# --- What only torch does ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"model_type": "t5"},
        {"attention_bias": True},
        {"hidden_act": "relu"},
        {"rope_parameters": {"rope_type": "llama3", "rope_theta": 10000.0}},
    ],
)
def test_other_models_are_left_to_torch(tmp_path: Path, changes: dict[str, Any]) -> None:
    folder = saved.decoder_folder(tmp_path / "model", "llama")
    assert supported_lightly(folder)
    saved.change_config(folder, **changes)
    assert not supported_lightly(folder)


def test_it_can_be_asked_beforehand_what_it_loads(folder: Path, encoder_folder: Path, tmp_path: Path) -> None:
    assert supported_lightly(folder)
    assert supported_lightly(encoder_folder)
    assert not supported_lightly(tmp_path)
    other = saved.decoder_folder(tmp_path / "model", "llama")
    saved.change_config(other, model_type="qwen2")
    assert not supported_lightly(other)
