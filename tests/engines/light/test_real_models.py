"""The embedded models: both engines give the same numbers."""

from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mudy import models
from mudy.engines import Compute, Speed
from mudy.engines.interfaces import Backbone, Question, TextRange
from mudy.engines.light.backbone import LightDecoder
from mudy.engines.light.encoders import LightEncoder
from mudy.engines.tokens import LightTokenizer, fast_tokenizer
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import CausalBackbone, TorchEncoder
from mudy.reading.document import Span

pytestmark = pytest.mark.real
EXAMPLE = (Path(__file__).parents[3] / "examples" / "floodplain.txt").read_text()
PHRASES = ["floodplain", "river restoration", "river", "flood risk", "beavers", "neural networks"]
DECODERS = ("gemma3-270m", "smollm2-135m")


@cache
def decoder(name: str, speed: Speed = "exact") -> LightDecoder:
    return LightDecoder(Path(models.locate(name)), Compute(threads=1, speed=speed), name)


@pytest.mark.parametrize("name", DECODERS)
def test_float32_agrees_with_torch(name: str) -> None:
    both: tuple[Backbone, Backbone] = (
        decoder(name),
        CausalBackbone.load(models.locate(name), Machine.of(Compute("cpu", threads=1)), name),
    )
    text = TextRange(EXAMPLE, Span(0, 1200))
    ours, theirs = (backbone.encode([text], (6,), middle=True)[0] for backbone in both)
    assert ours.tokens == theirs.tokens
    np.testing.assert_allclose(ours.received.sums, theirs.received.sums, atol=1e-4)
    np.testing.assert_allclose(ours.middle, theirs.middle, rtol=1e-3, atol=1e-3 * np.abs(theirs.middle).max())
    found, expected = (b.log_likelihood([Question(e, PHRASES)])[0] for b, e in zip(both, (ours, theirs), strict=True))
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("name", DECODERS)
def test_8_bits_put_phrases_in_much_the_same_order(name: str) -> None:
    text = TextRange(EXAMPLE, Span(0, len(EXAMPLE)))
    orders = []
    for speed in ("exact", "fast"):
        backbone = decoder(name, speed)
        (answer,) = backbone.log_likelihood([Question(backbone.encode([text])[0], PHRASES)])
        assert max(max(scored) for scored in answer) <= 0
        orders.append([sum(scored) for scored in answer])
    assert np.corrcoef(orders[0], orders[1])[0, 1] > 0.97


def test_sentence_vectors_agree_with_torch() -> None:
    texts = [EXAMPLE, *PHRASES]
    ours = LightEncoder(Path(models.locate("minilm-l6")), Compute(threads=1), "minilm-l6")
    theirs = TorchEncoder.load(models.locate("minilm-l6"), Machine.of(Compute("cpu", threads=1)), "minilm-l6")
    np.testing.assert_allclose(ours.embed(texts), theirs.embed(texts), atol=1e-5)


@pytest.mark.parametrize("name", [*DECODERS, "minilm-l6"])
@pytest.mark.parametrize(
    "text", ["", "Naïve café  –  10,000 °C\n\n\t<b>x</b>", "氷の道 🚚 ﬁn", " leading", "a\u0301b\ufffd"]
)
def test_tokens_are_those_of_transformers(name: str, text: str) -> None:
    ours, theirs = both_tokenizers(name)
    for special in (True, False):
        expected = theirs(text, return_offsets_mapping=True, add_special_tokens=special)  # type: ignore[operator]
        found = ours(text, add_special_tokens=special)
        assert found["input_ids"] == expected["input_ids"]
        assert found["offset_mapping"] == expected["offset_mapping"]


@cache
def both_tokenizers(name: str) -> tuple[LightTokenizer, object]:
    folder = models.locate(name)
    return LightTokenizer(Path(folder)), fast_tokenizer(folder)
