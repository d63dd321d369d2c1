"""A real T5 from 8-bit ONNX files: weights under transformers' names, and a model that prefers a text's own phrases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments import t5_titles
from mudy import Extractor
from mudy.engines.interfaces import Question, TextRange
from mudy.reading.document import Span

NODE, INITIALIZER, GRAPH = 1, 5, 7  # field numbers of ONNX


def field(number: int, value: bytes | str | int) -> bytes:
    """One field of a protocol buffer; numbers and lengths below 128."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    data = value.encode() if isinstance(value, str) else value
    size = bytes([len(data)]) if len(data) < 128 else bytes([len(data) & 127 | 128, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data


def tensor(name: str, values: np.ndarray, dtype: int) -> bytes:
    dims = b"".join(field(1, size) for size in values.shape)
    return field(INITIALIZER, dims + field(2, dtype) + field(8, name) + field(9, values.tobytes()))


def test_weights_are_scaled_transposed_and_named_as_transformers_names_them() -> None:
    quantised = np.array([[1, -2], [3, 4], [0, 5]], np.int8)
    node = field(1, "x") + field(1, "W_quantized") + field(3, "/enc/block.0/layer.0/SelfAttention/q/MatMul_quant")
    graph = (
        field(NODE, node + field(4, "MatMulInteger"))
        + tensor("W_quantized", quantised, 3)
        + tensor("W_scale", np.array(0.5, np.float32), 1)
        + tensor("W_zero_point", np.array(1, np.int8), 3)
    )
    weights = t5_titles.onnx_weights(field(GRAPH, graph))
    assert list(weights) == ["encoder.block.0.layer.0.SelfAttention.q.weight"]
    expected = (quantised.astype(np.float32) - 1) * 0.5
    np.testing.assert_array_equal(weights["encoder.block.0.layer.0.SelfAttention.q.weight"], expected.T)


@pytest.mark.real
def test_the_t5_finds_phrases_of_the_text_likelier_than_others(tmp_path: Path) -> None:
    t5_titles.fetch(tmp_path)
    backbone = Extractor("promptrank", str(tmp_path)).loader.backbone()
    text = "Convolutional neural networks recognise images. They learn filters from data and give strong results."
    (encoding,) = backbone.encode([TextRange(text, Span(0, len(text)))])
    ((of_the_text, strange),) = backbone.log_likelihood(
        [Question(encoding, ["convolutional neural networks", "house"])]
    )
    assert sum(of_the_text[1:-1]) / len(of_the_text[1:-1]) > sum(strange[1:-1]) / len(strange[1:-1])
