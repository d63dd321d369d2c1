"""The small models of `tests.small` as folders on the disk, and both engines on them."""

import json
from pathlib import Path
from typing import Any

from mudy.engines import Compute
from mudy.engines.light.backbone import LightDecoder
from mudy.engines.light.encoders import LightEncoder
from mudy.engines.torch import Machine
from mudy.engines.torch.transformer import CausalBackbone
from tests import small

DECODERS = ("llama", "gemma3")


def save(folder: Path, model: Any, tokenizer: Any) -> Path:
    """A model's folder, as transformers writes it."""
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def decoder_folder(folder: Path, kind: str) -> Path:
    return save(folder, small.decoder(kind).model, small.tokenizer("decoder"))


def encoder_folder(folder: Path) -> Path:
    return save(folder, small.bert().model, small.wordpieces())


def light_decoder(folder: Path, **compute: Any) -> LightDecoder:
    return LightDecoder(folder, Compute(**compute), "small")


def light_encoder(folder: Path, **compute: Any) -> LightEncoder:
    return LightEncoder(folder, Compute(**compute), "small")


def torch_decoder(folder: Path, **compute: Any) -> CausalBackbone:
    return CausalBackbone.load(str(folder), Machine.of(Compute("cpu", **compute)), "small")


def change_config(folder: Path, **changes: Any) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
