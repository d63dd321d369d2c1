"""Language models and sentence encoders without torch: onnxruntime multiplies, numpy does what lies between."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mudy.engines import Compute
from mudy.errors import ModelError, ModelUnavailable
from mudy.models.cache import INT8, WEIGHTS, float32_source
from mudy.models.fetch import Report, silent

if TYPE_CHECKING:
    from mudy.engines.light.conversion import LightWeights
    from mudy.engines.light.light_decoder_backbone import LightDecoder
    from mudy.engines.light.light_encoder import LightEncoder


def load_light_decoder(path: str | Path, compute: Compute, name: str, report: Report = silent) -> LightDecoder:
    """A decoder-only model that `supports` accepts; in 8 bits if `compute` asks for speed, else in float32."""
    from mudy._support.onnx import Sessions
    from mudy.engines.light.decoder import Decoder
    from mudy.engines.light.graphs import decoder_config
    from mudy.engines.light.light_decoder_backbone import LightDecoder
    from mudy.engines.light.light_tokenizer import LightTokenizer

    folder = Path(path)
    config = decoder_config(read_config(folder))
    weights = _weights(folder, compute, report, norm_offset=1.0 if config.gemma else 0.0)
    decoder = Decoder(config, weights, Sessions(compute.threads))
    return LightDecoder(decoder, LightTokenizer(folder), name, compute.batch_tokens)


def load_light_encoder(path: str | Path, compute: Compute, name: str, report: Report = silent) -> LightEncoder:
    """A sentence encoder that `supports` accepts; in 8 bits if `compute` asks for speed, else in float32."""
    from mudy._support.onnx import Sessions
    from mudy.engines.light.light_encoder import LightEncoder
    from mudy.engines.light.light_tokenizer import LightTokenizer

    folder = Path(path)
    weights, sessions = _weights(folder, compute, report), Sessions(compute.threads)
    return LightEncoder(read_config(folder), weights, LightTokenizer(folder), sessions, name, compute.batch_tokens)


def _weights(folder: Path, compute: Compute, report: Report, norm_offset: float = 0.0) -> LightWeights:
    from mudy.engines.light.conversion import LightWeights, WeightFile, int8_weights
    from mudy.engines.light.graphs import int8_is_exact

    int8 = compute.speed in ("fast", "quick") and compute.dtype is None and int8_is_exact()
    file = int8_weights(folder, report) if int8 else WeightFile(float32_source(folder, report))
    return LightWeights(file, int8, norm_offset)


def supports(path: str | Path) -> bool:
    """Whether a model's folder can be loaded here: a family that is computed without torch, in one weight file."""
    from mudy.engines.light.graphs import decoder_config

    folder = Path(path)
    weights = (folder / WEIGHTS).is_file() or (folder / INT8).is_file()
    if not weights or not (folder / "tokenizer.json").is_file():
        return False
    try:
        config = read_config(folder)
        if config.get("model_type") == "bert":
            kinds = config.get("position_embedding_type", "absolute"), config.get("hidden_act")
            return kinds == ("absolute", "gelu")
        decoder_config(config)
    except (ModelError, KeyError):
        return False
    return True


def read_config(folder: Path) -> dict[str, Any]:
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
