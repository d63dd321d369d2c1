"""The equations that run inside attention."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mudy.engines.interfaces import TextRange
from mudy.engines.torch.attention import keep_aligned, received_sums, reweighted
from mudy.engines.torch.transformer import length_batches
from mudy.reading.document import Span
from tests import small

SCORES = torch.linspace(-4, 4, 81)


def test_reweighting_is_monotone_in_the_weight_and_bounded_by_the_score() -> None:
    light, heavy = (reweighted(SCORES, torch.tensor(weight), "logit") for weight in (0.2, 0.7))
    assert (heavy >= light).all()
    assert (light.abs() <= SCORES.abs()).all()


def test_full_weight_keeps_positive_scores_and_lifts_negative_ones_to_zero() -> None:
    assert torch.equal(reweighted(SCORES, torch.tensor(1.0), "logit"), SCORES.clamp(min=0))


def test_the_post_softmax_rule_multiplies_attention_and_renormalises() -> None:
    scores, weights = torch.randn(3, 9), torch.rand(3, 9)
    weights[:, 4] = 0
    product = scores.softmax(-1) * weights
    edited = reweighted(scores, weights, "post_softmax").softmax(-1)
    torch.testing.assert_close(edited, product / product.sum(-1, keepdim=True))


def test_aligned_tokens_keep_full_weight_and_ineligible_ones_are_passed_over() -> None:
    aligned = torch.tensor([[5.0, 4.0, 3.0, 2.0]])
    eligible = torch.tensor([True, False, True, True])
    kept = keep_aligned(torch.full((1, 4), 0.1), aligned, eligible, k=2)
    assert kept.tolist() == [[1.0, pytest.approx(0.1), 1.0, pytest.approx(0.1)]]
    assert keep_aligned(torch.full((1, 4), 0.1), aligned, eligible, k=9)[0, 1] == pytest.approx(0.1)


def test_received_attention_is_the_mean_over_heads_summed_over_rows() -> None:
    attention = torch.rand(1, 2, 3, 3)
    torch.testing.assert_close(received_sums(attention)[0], attention[0].mean(0).sum(0))


@pytest.mark.parametrize("family", small.DECODERS)
def test_what_follows_in_a_text_changes_no_earlier_state(family: str) -> None:
    backbone = small.decoder(family)
    text = small.TEXT
    short, long = backbone.encode([TextRange(text, Span(0, 120)), TextRange(text, Span(0, len(text)))])
    shared = len(short.tokens) - 2  # the cut may change the last tokens themselves
    assert short.tokens.ids[:shared] == long.tokens.ids[:shared]
    for one, other in zip(short.cache.layers, long.cache.layers, strict=True):
        torch.testing.assert_close(one.keys[:, :, :shared], other.keys[:, :, :shared], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", [*small.DECODERS, "t5"])
def test_windows_in_one_batch_are_read_as_if_each_were_alone(family: str) -> None:
    backbone = small.t5() if family == "t5" else small.decoder(family)
    spans = [Span(0, 30), Span(10, 200), Span(150, 190)]
    together = backbone.received_attention([TextRange(small.TEXT, span) for span in spans], [1])
    for span, found in zip(spans, together, strict=True):
        (alone,) = backbone.received_attention([TextRange(small.TEXT, span)], [1])
        np.testing.assert_allclose(found.sums, alone.sums, atol=1e-5, rtol=1e-4)
        assert float(found.sums.sum()) == pytest.approx(len(found.tokens), rel=1e-4)  # every row gives away 1


def test_several_layers_are_averaged() -> None:
    backbone = small.decoder("gemma3")
    span = Span(0, 100)
    (both,) = backbone.received_attention([TextRange(small.TEXT, span)], [0, 2])
    (low,), (high,) = (backbone.received_attention([TextRange(small.TEXT, span)], [layer]) for layer in (0, 2))
    np.testing.assert_allclose(both.sums, (low.sums + high.sums) / 2, atol=1e-6)


@given(st.lists(st.integers(1, 50), max_size=40), st.integers(1, 200))
def test_batches_hold_everything_once_within_the_budget(lengths: list[int], budget: int) -> None:
    found = list(length_batches(lengths, budget))
    assert sorted(index for batch in found for index in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget
