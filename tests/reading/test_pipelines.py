"""A pipeline's products by onnxruntime: the same numbers and the same tags."""

from pathlib import Path

import numpy as np
import pytest
import spacy
from thinc.api import NumpyOps

from mudy.reading.languages import installed
from mudy.reading.tagging import FEW_ROWS, onnx_ops, use_onnx_products

TEXTS = sorted((Path(__file__).parents[2] / "benchmarks" / "texts").glob("*.txt"))[:2]


@pytest.mark.parametrize(("rows", "width", "out"), [(0, 4, 3), (7, 96, 50), (FEW_ROWS, 3, 2), (300, 288, 96)])
@pytest.mark.parametrize("turned", [True, False])
def test_products_are_those_of_thinc(rows: int, width: int, out: int, turned: bool) -> None:
    random = np.random.default_rng(rows)
    x = random.normal(size=(rows, width)).astype(np.float32)
    y = random.normal(size=(out, width) if turned else (width, out)).astype(np.float32)
    expected = NumpyOps().gemm(x, y, trans2=turned)
    np.testing.assert_allclose(onnx_ops().gemm(x, y, trans2=turned), expected, atol=1e-4)


def test_a_product_can_be_put_into_an_array_given() -> None:
    x, out = np.eye(3, dtype=np.float32), np.zeros((3, 3), np.float32)
    onnx_ops().gemm(x, 2 * x, out=out, trans2=True)
    np.testing.assert_array_equal(out, 2 * x)


def test_tags_are_those_of_the_pipeline_as_it_came() -> None:
    name = installed("en")
    assert name is not None
    plain, quick = (spacy.load(name, exclude=["ner", "lemmatizer", "parser"]) for _ in range(2))
    use_onnx_products(quick)
    assert any("gemm" in vars(node.ops) for node in quick.get_pipe("tok2vec").model.walk())
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        assert [token.tag_ for token in quick(text)] == [token.tag_ for token in plain(text)]
