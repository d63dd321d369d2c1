"""The multilingual encoder: the vectors of a plain numpy computation, on the caller's threads alone, of any text."""

import os
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mudy import Extractor
from mudy._support.onnx import Array, ThreadMap
from mudy.engines.light.encoders import ORDERS, PARTS, WIDTH, UniversalEncoder, vector_graph

FEATURES, HIDDEN, EPSILON = 1280, 320, 1e-6
SHAPES = {
    "ln_g": (FEATURES,),
    "ln_b": (FEATURES,),
    "cnn_W": (FEATURES, WIDTH),
    "cnn_b": (WIDTH,),
    "p1": (WIDTH, HIDDEN),
    "d0": (WIDTH, HIDDEN),
    "d1": (HIDDEN, HIDDEN),
    "p3": (HIDDEN, WIDTH),
    "d2": (HIDDEN, WIDTH),
    "d3": (WIDTH, WIDTH),
}
for order, _ in ORDERS:
    SHAPES |= {f"proj{order}": (WIDTH, 256), f"proj_b{order}": (256,), f"ln_g{order}": (256,), f"ln_b{order}": (256,)}
    SHAPES |= {f"w{layer}_{order}": (order * 256, 256) for layer in (1, 2)}
    SHAPES |= {f"b{layer}_{order}": (256,) for layer in (1, 2)}


class Characters:
    """A tokeniser with one token per character, which takes no lone surrogate, as real ones do."""

    def encode(self, text: str, add_special_tokens: bool) -> Any:
        assert not add_special_tokens
        text.encode()
        return SimpleNamespace(ids=[ord(character) % 100 for character in text])


def encoder(threads: int = 1) -> UniversalEncoder:
    """One with random weights."""
    random = np.random.default_rng(0)
    weights = {name: random.normal(0, 0.05, shape).astype(np.float32) for name, shape in SHAPES.items()}
    table = random.integers(0, 64, (6 * PARTS, WIDTH), dtype=np.uint8)
    ranges = random.uniform(-0.1, 0.1, (2, PARTS, 1)).astype(np.float32)
    return UniversalEncoder(weights, table, ranges, vector_graph(EPSILON), Characters(), ThreadMap(threads), "random")


def plain_vector(model: UniversalEncoder, text: str) -> Array:
    """The vector of a text, token by token and n-gram by n-gram."""
    w = model.weights
    ids = [1, *(ord(character) % 100 for character in text), 2]
    scale, lowest = model.ranges[..., 0]
    embedded = np.array([model.table[i] * scale[i % PARTS] + lowest[i % PARTS] for i in ids])
    projected = np.hstack([embedded @ w[f"proj{n}"] + w[f"proj_b{n}"] for n, _ in ORDERS])
    gain, bias = (np.hstack([w[f"{name}{n}"] for n, _ in ORDERS]) for name in ("ln_g", "ln_b"))
    parts = np.split(normalised(projected, gain, bias), len(ORDERS), axis=1)
    for part, (n, before) in enumerate(ORDERS):
        for layer in (1, 2):
            window = [
                np.hstack([parts[part][j] if 0 <= j < len(ids) else np.zeros(256) for j in range(i, i + n)])
                for i in range(-before, len(ids) - before)
            ]
            convolved = np.array(window) @ w[f"w{layer}_{n}"] + w[f"b{layer}_{n}"]
            parts[part] = parts[part] + np.maximum(convolved, 0)
    states = normalised(np.hstack([embedded, *parts]), w["ln_g"], w["ln_b"])
    summed = (states @ w["cnn_W"] + w["cnn_b"]).sum(0) / np.sqrt(len(ids))
    first = np.maximum(summed @ w["p1"] + np.maximum(summed @ w["d0"], 0) @ w["d1"], 0)
    last = np.tanh(first @ w["p3"] + np.maximum(first @ w["d2"], 0) @ w["d3"])
    found: Array = last / np.sqrt((last**2).sum())
    return found


def normalised(rows: Array, gain: Array, bias: Array) -> Array:
    deviation = np.sqrt(rows.var(axis=1, keepdims=True) + EPSILON)
    found: Array = (rows - rows.mean(axis=1, keepdims=True)) / deviation * gain + bias
    return found


TEXTS = ["", "a", "fûts de chêne", "les vignerons élèvent leurs vins " * 4]


def test_a_vector_is_what_a_plain_computation_gives() -> None:
    model = encoder()
    for text, vector in zip(TEXTS, model.embed(TEXTS), strict=True):
        assert vector == pytest.approx(plain_vector(model, text), abs=1e-5)


def test_no_vector_depends_on_threads_or_on_other_texts() -> None:
    together = encoder(threads=3).embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        (alone,) = encoder().embed([text])
        assert (alone == vector).all()


def test_no_thread_but_the_callers_computes() -> None:
    """The threads of numpy's BLAS would go on spinning after each product."""
    code = (
        "import time; from tests.engines.test_universal_encoder import TEXTS, encoder; model = encoder();"
        "model.embed(TEXTS); time.sleep(0.2); before = time.process_time() - time.thread_time();"
        "model.embed(TEXTS * 4); time.sleep(0.2); print(time.process_time() - time.thread_time() - before)"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "2"}
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert float(ran.stdout) < 0.01


def test_a_lone_surrogate_is_read_as_one_unknown_character() -> None:
    model = encoder()
    assert (model.embed(["vin \ud83d rouge"]) == model.embed(["vin \ufffd rouge"])).all()


@pytest.mark.real
def test_a_text_with_a_lone_surrogate_is_read_and_leaves_the_others_as_they_are() -> None:
    extractor = Extractor(speed="quick")
    good = "Les vignerons de Bourgogne élèvent leurs vins dans des fûts de chêne pendant plusieurs années."
    bad, alone = good.replace("leurs vins", "leurs \ud83dvins"), extractor.extract(good)
    damaged, whole = extractor.extract_many([bad, good])
    assert whole == alone
    assert "fûts de chêne" in damaged
    assert all(bad[place.start : place.end] for keyphrase in damaged for place in keyphrase.occurrences)
