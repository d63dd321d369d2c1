"""Language models and sentence encoders without torch: onnxruntime multiplies, numpy does what lies between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mudy.engines.compute import Compute
from mudy.errors import ModelError, ModelUnavailable
from mudy.models.cache import WEIGHTS, in_8_bits_only
from mudy.models.fetch import Report, silent

if TYPE_CHECKING:
    from mudy.engines.light.conversion import WeightFile
    from mudy.engines.light.light_decoder_backbone import LightDecoder
    from mudy.engines.light.light_encoder import LightEncoder


def load_light_decoder(path: str | Path, compute: Compute, name: str, report: Report = silent) -> LightDecoder:
    """A decoder-only model from a folder; in 8 bits if `compute` asks for speed, else in float32."""
    from mudy._support.onnx.sessions import Sessions
    from mudy.engines.light.decoder import Decoder
    from mudy.engines.light.graphs import decoder_config
    from mudy.engines.light.light_decoder_backbone import LightDecoder
    from mudy.engines.light.light_tokenizer import LightTokenizer

    folder = Path(path)
    config = decoder_config(read_config(folder), name)
    decoder = Decoder(config, _weights(folder, compute, report), Sessions(compute.threads), in_8_bits(compute))
    return LightDecoder(decoder, LightTokenizer(folder), name, compute.batch_tokens)


def load_light_encoder(path: str | Path, compute: Compute, name: str, report: Report = silent) -> LightEncoder:
    """A sentence encoder from a folder; in 8 bits if `compute` asks for speed, else in float32."""
    from mudy._support.onnx.sessions import Sessions
    from mudy.engines.light.light_encoder import LightEncoder, check_family
    from mudy.engines.light.light_tokenizer import LightTokenizer

    folder, int8 = Path(path), in_8_bits(compute)
    config = read_config(folder)
    check_family(config, name)
    weights, sessions = _weights(folder, compute, report), Sessions(compute.threads)
    return LightEncoder(config, weights, LightTokenizer(folder), sessions, name, compute.batch_tokens, int8)


def _weights(folder: Path, compute: Compute, report: Report) -> WeightFile:
    from mudy.engines.light.conversion import float32_weights, int8_weights

    return int8_weights(folder, report) if in_8_bits(compute) else float32_weights(folder, report)


def in_8_bits(compute: Compute) -> bool:
    """Whether weights and states are rounded to 8 bits: for speed, unless a precision is asked for."""
    return compute.speed in ("fast", "quick") and compute.dtype is None


def is_converted(path: str | Path) -> bool:
    """Whether a model's weights in 8 bits are at hand; their bytes are checked when they are loaded."""
    from mudy.engines.light.conversion import converted_path, finished_file, source_identity

    folder = Path(path)
    return finished_file(converted_path(folder), source_identity(folder / WEIGHTS)) is not None


def supports(path: str | Path) -> bool:
    """Whether a model's folder can be loaded here: a family that is computed without torch, in one weight file."""
    from mudy.engines.light.graphs import FAMILIES, decoder_config
    from mudy.engines.light.light_encoder import check_family

    folder = Path(path)
    if not (folder / "tokenizer.json").is_file() or not ((folder / WEIGHTS).is_file() or in_8_bits_only(folder)):
        return False
    try:
        config = read_config(folder)
        if config.get("model_type") in FAMILIES:
            decoder_config(config, folder.name)
        else:
            check_family(config, folder.name)
    except (ModelError, KeyError):
        return False
    return True


def read_config(folder: Path) -> dict[str, Any]:
    """A model's config.json."""
    return _read_json(folder / "config.json")


def read_settings(folder: Path) -> dict[str, Any]:
    """A model's tokenizer_config.json; empty if there is none."""
    path = folder / "tokenizer_config.json"
    return _read_json(path) if path.is_file() else {}


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelUnavailable(f"{path} cannot be read: {error}.") from error
    return content
