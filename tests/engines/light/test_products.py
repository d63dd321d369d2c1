"""Products in 8 bits: exact in integers."""

from typing import Any

import numpy as np
import pytest

from mudy._support.onnx import Array, Feeds, Graph
from mudy.engines.light.weights import Products, int8_is_exact, round_rows, row_scales


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape, np.float32)


def graph_of(products: Products, bias: str = "") -> Graph:
    graph = Graph("product")
    prepared = products.prepare(graph, graph.input("states"))
    graph.output("found", products.product(graph, prepared, "weight", bias))
    return graph


def test_a_product_in_8_bits_is_the_exact_product_of_the_rounded_rows() -> None:
    states, weight, bias = random(9, 40) * 5, random(24, 40), random(24)
    rows, columns = round_rows(states), np.ascontiguousarray(round_rows(weight).T)
    feeds: Feeds = {"states": states, "weight": columns, "weight.scales": row_scales(weight), "bias": bias}
    (found,) = graph_of(Products(int8=True), "bias").run(feeds)
    exact = (rows.astype(np.int64) @ columns).astype(np.float32) * row_scales(weight) * row_scales(states)[:, None]
    np.testing.assert_allclose(found, exact + bias, rtol=1e-6, atol=1e-6)


def test_one_large_row_coarsens_no_other() -> None:
    states, weight = random(4, 64), random(8, 64)
    feeds: Feeds = {"weight": np.ascontiguousarray(round_rows(weight).T), "weight.scales": row_scales(weight)}
    graph = graph_of(Products(int8=True))
    (alone,) = graph.run({"states": states[:1], **feeds})
    states[1:] *= 1e6
    (beside,) = graph.run({"states": states, **feeds})
    np.testing.assert_array_equal(alone, beside[:1])


def test_a_row_of_zeros_gives_zeros() -> None:
    weight = random(8, 64)
    feeds: Feeds = {"weight": np.ascontiguousarray(round_rows(weight).T), "weight.scales": row_scales(weight)}
    (found,) = graph_of(Products(int8=True)).run({"states": np.zeros((2, 64), np.float32), **feeds})
    assert not found.any()


def test_float_products_take_weights_as_model_files_hold_them() -> None:
    states, weight, bias = random(3, 5), random(4, 5), random(4)
    feeds = {"states": states, "weight": weight, "bias": bias}
    (found,) = graph_of(Products(int8=False), "bias").run(feeds)
    np.testing.assert_allclose(found, states @ weight.T + bias, rtol=1e-5, atol=1e-6)


def test_sums_that_overflowed_16_bits_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Overflowing:
        def run(self, *_: Any) -> list[Any]:
            return [np.full((4, 16), 32767 * 32)]

    monkeypatch.setattr("mudy._support.onnx.open_session", lambda _: Overflowing())
    assert not int8_is_exact.__wrapped__()
    monkeypatch.undo()
    assert isinstance(int8_is_exact(), bool)
