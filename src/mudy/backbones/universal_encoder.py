"""The multilingual Universal Sentence Encoder (Yang et al., ACL 2020 demos), computed with numpy.

Token embeddings and their n-grams of two, three and five, by two convolutions each, are added up over a text; a few
dense layers make one vector of it. Sixteen languages share one space. There are no states of single tokens to be had.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.backbones.tokens import encodable
from mudy.cancellation import check
from mudy.errors import ModelUnavailable

_Array = NDArray[np.float32]
WIDTH = 512
ORDERS = ((2, 0), (3, 1), (5, 2))  # n-grams, and how many of their tokens stand before the one in question
PARTS = 17  # tables that the token embeddings are stored in: token t is row t // 17 of table t % 17
BEGIN, END, UNKNOWN = 1, 2, 0  # tokens
MOST_TOKENS = 512  # that are read of a text


@dataclass(frozen=True)
class UniversalEncoder:
    """A vector of length 1 for a text."""

    weights: dict[str, _Array]
    table: NDArray[np.uint8]  # (tokens, width), to be scaled
    path: Path
    name: str

    @classmethod
    def load(cls, folder: str, name: str) -> UniversalEncoder:
        with np.load(Path(folder) / "weights.npz", allow_pickle=False) as stored:
            rows = stored["q1"].shape[0]
            table = np.empty((PARTS * rows, WIDTH), dtype=np.uint8)
            for part in range(PARTS):
                table[part::PARTS] = stored[f"q{part + 1}"]
            weights = {key: stored[key].astype(np.float32) for key in stored.files if not key.startswith("q")}
        return cls(weights, table, Path(folder), name)

    @cached_property
    def tokenizer(self) -> Any:
        return _tokenizer((self.path / "sp.model").read_bytes())

    def embed(self, texts: Sequence[str]) -> _Array:
        """(texts, width); each is computed alone, so that no vector depends on its neighbours."""
        encoded = self.tokenizer.encode_batch(list(texts), add_special_tokens=False)
        return np.stack([self._vector([BEGIN, *one.ids[:MOST_TOKENS], END]) for one in encoded])

    def end_of_window(self, text: str) -> int:
        """Where reading ends in a text, in characters: at its end, unless it has too many tokens."""
        ends = [end for _, end in self.tokenizer.encode(encodable(text), add_special_tokens=False).offsets]
        return len(text) if len(ends) <= MOST_TOKENS else int(ends[MOST_TOKENS - 1])

    def _vector(self, ids: Sequence[int]) -> _Array:
        check()
        w = self.weights
        parts = np.array(ids) % PARTS
        embedded = self.table[ids] * w["scale"][parts, None] + w["lo"][parts, None]  # (tokens, width)
        features = np.concatenate([embedded, *self._ngrams(embedded)], axis=1)
        states = _normalised(features, w["ln_g"], w["ln_b"], float(w["eps"]))
        summed = (states.sum(0) @ w["cnn_W"] + len(ids) * w["cnn_b"]) / np.sqrt(np.float32(len(ids)))
        first = np.maximum(summed @ w["p1"] + np.maximum(summed @ w["d0"], 0) @ w["d1"], 0)
        last = np.tanh(first @ w["p3"] + np.maximum(first @ w["d2"], 0) @ w["d3"])
        found: _Array = last / np.linalg.norm(last)
        return found

    def _ngrams(self, embedded: _Array) -> Iterator[_Array]:
        """The states of the n-grams of each order, which are normalised together; (tokens, 256) each."""
        w, orders = self.weights, [n for n, _ in ORDERS]
        projected = np.concatenate([embedded @ w[f"proj{n}"] + w[f"proj_b{n}"] for n in orders], axis=1)
        gain, bias = (np.concatenate([w[f"{name}{n}"] for n in orders]) for name in ("ln_g", "ln_b"))
        normalised = _normalised(projected, gain, bias, float(w["eps"]))
        for (n, before), states in zip(ORDERS, np.split(normalised, len(ORDERS), axis=1), strict=True):
            for layer in ("1", "2"):
                windows = _windows(states, n, before)
                states = states + np.maximum(windows @ w[f"w{layer}_{n}"] + w[f"b{layer}_{n}"], 0)
            yield states


def _normalised(rows: _Array, gain: _Array, bias: _Array, epsilon: float) -> _Array:
    centred = rows - rows.mean(axis=1, keepdims=True)
    found: _Array = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + np.float32(epsilon)) * gain + bias
    return found


def _windows(rows: _Array, n: int, before: int) -> _Array:
    """Each row with its neighbours in one long row, zeros beyond the ends; (rows, n * width)."""
    padded = np.pad(rows, ((before, n - 1 - before), (0, 0)))
    return np.concatenate([padded[i : i + len(rows)] for i in range(n)], axis=1)


# -- Tokens -----------------------------------------------------------------------------------------------------------


def _tokenizer(model: bytes) -> Any:
    """The tokeniser that a file of SentencePiece describes."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

    pieces: list[tuple[str, float]] = []
    characters = b""
    for field, value in _message(model):
        if field == 1:
            piece = dict(_message(value))
            pieces.append((piece[1].decode("utf-8"), struct.unpack("<f", piece.get(2, bytes(4)))[0]))
        elif field == 3:
            characters = dict(_message(value))[2]  # how characters are normalised
    found = Tokenizer(models.Unigram(pieces, unk_id=UNKNOWN))
    found.normalizer = normalizers.Sequence(
        [normalizers.Precompiled(characters), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    found.pre_tokenizer = pre_tokenizers.Metaspace()
    return found


def _message(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and value of each field of a protocol buffer; numbers as their bytes."""
    position = 0
    while position < len(data):
        key, position = _number(data, position)
        kind = key & 7
        if kind == 0:
            start = position
            _, position = _number(data, position)
        elif kind == 2:
            size, start = _number(data, position)
            position = start + size
        elif kind in (1, 5):
            start, position = position, position + (8 if kind == 1 else 4)
        else:
            raise ModelUnavailable("The tokeniser's file is damaged; pull the model again: mudy models pull use-multi.")
        yield key >> 3, data[start:position]


def _number(data: bytes, position: int) -> tuple[int, int]:
    """A number of seven bits a byte, and where it ends."""
    value = shift = 0
    while position < len(data):
        byte = data[position]
        value |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            break
    return value, position
