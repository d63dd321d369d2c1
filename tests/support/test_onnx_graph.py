"""Models written by hand, as onnxruntime reads them."""

import numpy as np

from mudy._support.onnx import Graph, open_session


def test_inputs_constants_and_every_kind_of_attribute_arrive() -> None:
    graph = Graph("all")
    states = graph.input("states")
    product = graph.add("Gemm", states, graph.constant(np.eye(3, dtype=np.float32)), alpha=2.0, transB=1)
    swapped = graph.add("Transpose", product, perm=(1, 0))
    padded = graph.add("Pad", swapped, graph.shape(0, 1, 0, 0), mode="edge")
    graph.output("padded", padded)
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    (found,) = open_session(graph).run(None, {"states": values})
    np.testing.assert_array_equal(found, np.pad(2 * values.T, ((0, 0), (1, 0)), "edge"))


def test_negative_and_large_numbers_arrive() -> None:
    graph = Graph("numbers")
    graph.output("found", graph.add("Add", graph.input("given", "int64"), graph.shape(-(1 << 40), 300)), "int64")
    (found,) = open_session(graph).run(None, {"given": np.zeros(2, np.int64)})
    assert found.tolist() == [-(1 << 40), 300]


def test_several_results_of_one_operator_are_told_apart() -> None:
    graph = Graph("split")
    first, second = graph.add_many("Split", graph.input("given"), results=2, axis=-1)
    graph.output("second", second)
    graph.output("first", first)
    found = open_session(graph).run(None, {"given": np.arange(4, dtype=np.float32)})
    assert [part.tolist() for part in found] == [[2, 3], [0, 1]]
