"""The sentence encoder: the same vectors as with torch."""

from pathlib import Path

import numpy as np
import pytest

from mudy.engines import supported_lightly
from mudy.reading.document import Span
from tests import small
from tests.engines.light import saved

TEXTS = [small.TEXT * 2, "radar map", "ice", "the river", ""]  # the first is longer than the encoder's window


def test_vectors_are_those_of_torch(encoder_folder: Path) -> None:
    found = saved.light_encoder(encoder_folder).embed(TEXTS)
    np.testing.assert_allclose(found, small.bert().embed(TEXTS), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_vectors_depend_on_neither_batch_nor_threads(encoder_folder: Path) -> None:
    together = saved.light_encoder(encoder_folder, batch_tokens=4096).embed(TEXTS)
    alone = saved.light_encoder(encoder_folder, batch_tokens=1).embed(TEXTS)
    threaded = saved.light_encoder(encoder_folder, threads=2, batch_tokens=1).embed(TEXTS)
    np.testing.assert_allclose(together, alone, atol=1e-5)
    np.testing.assert_array_equal(alone, threaded)


@pytest.mark.parametrize("speed", ["exact", "fast"])
def test_a_text_has_the_same_states_to_the_last_bit_in_any_company(encoder_folder: Path, speed: str) -> None:
    encoder = saved.light_encoder(encoder_folder, speed=speed)
    rows = [encoder.read_alone(text) for text in TEXTS]
    for alone, together in zip((encoder.states([row])[0] for row in rows), encoder.states(rows), strict=True):
        np.testing.assert_array_equal(alone, together)


def test_spans_in_their_context_are_those_of_torch(encoder_folder: Path) -> None:
    spans, contexts = [Span(0, 9), Span(23, 31)], [Span(0, 18), Span(19, 56)]
    found = saved.light_encoder(encoder_folder).span_states(small.TEXT, spans, contexts)
    np.testing.assert_allclose(found, small.bert().span_states(small.TEXT, spans, contexts), atol=1e-5)


@pytest.mark.parametrize("layer", [-1, -2, 0])
def test_the_states_of_any_layer_are_those_of_torch(encoder_folder: Path, layer: int) -> None:
    light, torch = saved.light_encoder(encoder_folder), small.bert()
    rows = [light.read_alone(text) for text in TEXTS]
    assert rows == [torch.read_alone(text) for text in TEXTS]
    for found, expected in zip(light.states(rows, layer), torch.states(rows, layer), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-4)


def test_8_bits_are_near_float32(encoder_folder: Path) -> None:
    exact = saved.light_encoder(encoder_folder).embed(TEXTS)
    rounded = saved.light_encoder(encoder_folder, speed="fast").embed(TEXTS)
    assert (exact * rounded).sum(1).min() > 0.99


def test_windows_and_the_mask_are_those_of_torch(encoder_folder: Path) -> None:
    light, torch = saved.light_encoder(encoder_folder), small.bert()
    assert light.room() == torch.room()
    assert light.token_ends(small.TEXT) == torch.token_ends(small.TEXT)
    assert light.mask_token() == torch.mask_token()


def test_no_texts_give_no_vectors(encoder_folder: Path) -> None:
    assert saved.light_encoder(encoder_folder).embed([]).shape == (0, 32)


def test_other_encoders_are_left_to_torch(tmp_path: Path) -> None:
    folder = saved.encoder_folder(tmp_path / "model")
    assert supported_lightly(folder)
    saved.change_config(folder, model_type="roberta")
    assert not supported_lightly(folder)
