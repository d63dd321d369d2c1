"""Language models behind one protocol, `interfaces.Backbone`. Importing this package loads no model and no engine.

Two engines compute them. The light one (`light`) needs no torch and takes every model that it can, on a CPU; torch
takes the rest: other families, GPUs, half precision, and chat. Which one it is depends on the model and on what is
asked, never on what happens to be installed, but for a GPU, which only torch can use.
"""

from __future__ import annotations

import json
import platform
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Any, Literal, Protocol

from mudy._support.extras import missing_extra
from mudy._support.validation import check_options, declared
from mudy.errors import ModelError, ModelUnavailable, UnsupportedModel
from mudy.models.cache import INT8, WEIGHTS, float32_source
from mudy.models.fetch import Report, silent

if TYPE_CHECKING:
    from mudy.engines.interfaces import Backbone, SentenceEncoder

ENCODER_DECODERS = frozenset({"t5"})  # families of models that have an encoder of their own
CAUSAL_FAMILIES = frozenset({"llama", "gemma2", "gemma3_text", "qwen2", "qwen3", "mistral"})
ENCODER_FAMILIES = frozenset({"bert", "roberta", "xlm-roberta", "distilbert", "mpnet", "electra", "deberta-v2"})
_GPU_DEVICES = ("nvidia[0-9]*", "kfd", "dxg")  # of NVIDIA, of AMD, and of either under Windows' Linux

Precision = Literal["float32", "bfloat16", "float16"]
Speed = Literal["quick", "fast", "exact"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where and how to compute. All but `speed` and `dtype` leave results as they are."""

    device: str | None = declared(None, "cpu, cuda, mps, ...", none="a GPU if there is one")
    dtype: Precision | None = declared(None, "Precision.", none="float32 on a CPU, half precision on a GPU")
    threads: int | None = declared(None, "CPU threads.", none="all CPUs, or OMP_NUM_THREADS", least=1)
    batch_tokens: int | None = declared(
        None,
        "Tokens computed at once. A larger number takes more memory; results are the same.",
        none="256 on a CPU, else 8192",
        least=1,
    )
    speed: Speed | None = declared(
        None,
        "quick: no language model (mudyplus). fast: 8-bit arithmetic on a CPU, and less work in some methods.",
        none="fast for mudyplus, else exact",
    )

    def __post_init__(self) -> None:
        check_options(self)


class Chat(Protocol):
    """A model that follows instructions, here or behind an address."""

    @property
    def name(self) -> str: ...

    @property
    def room(self) -> int | None:
        """How many tokens a prompt and its answer may take together; None where nobody can tell."""

    def length(self, system: str, user: str) -> int:
        """How many tokens of that room a prompt takes; asked only where there is a room."""

    def write(self, system: str, user: str, max_new_tokens: int) -> str:
        """The answer to a user's turn under a system's instruction; empty where the model declines."""


def no_template(name: str) -> str:
    """A sentence for a model that was never taught to take turns."""
    return (
        f"{name} has no chat template, so it cannot be told what to write. Use a model that was tuned to follow "
        f"instructions: smollm2-135m, one by hub id or local folder, or one behind an endpoint."
    )


def load_backbone(path: str, compute: Compute, name: str, report: Report | None = None) -> Backbone:
    family = _family(path, name, CAUSAL_FAMILIES | ENCODER_DECODERS, "a language model")
    if computes_lightly(path, compute):
        from mudy.engines.light.backbone import LightDecoder

        return LightDecoder(Path(path), compute, name, report or silent)
    kind = "Seq2SeqBackbone" if family in ENCODER_DECODERS else "CausalBackbone"
    backbone: Backbone = _by_torch(kind, f"{name} (of the family {family!r})", path, compute, name, report=report)
    return backbone


def load_encoder(path: str, compute: Compute, name: str, report: Report | None = None) -> SentenceEncoder:
    family = _family(path, name, ENCODER_FAMILIES, "an encoder")
    if computes_lightly(path, compute):
        from mudy.engines.light.encoders import LightEncoder

        return LightEncoder(Path(path), compute, name, report or silent)
    what = f"{name} (of the family {family!r})"
    encoder: SentenceEncoder = _by_torch("TorchEncoder", what, path, compute, name, report=report)
    return encoder


def load_chat(path: str, compute: Compute, name: str, template: str = "") -> Chat:
    """A chat model from a folder; `template` serves where the folder holds none."""
    _family(path, name)
    chat: Chat = _by_torch("LocalChat", f"{name} as a model that writes", path, compute, name, template)
    return chat


def _by_torch(
    kind: str, what: str, path: str, compute: Compute, name: str, *more: str, report: Report | None = None
) -> Any:
    """A model that a class of the torch engine loads; MissingExtra says `what` needs torch where it is missing."""
    if compute.device not in (None, "cpu"):
        what = f"device={compute.device!r}"
    elif compute.dtype not in (None, "float32"):
        what = f"dtype={compute.dtype!r}"
    for package in ("torch", "transformers"):
        if find_spec(package) is None:
            raise missing_extra("torch", what, package)
    from transformers.utils import logging

    from mudy.engines.torch import Machine, transformer

    float32_source(Path(path), report or silent)
    machine = Machine.of(compute)
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with machine.on_threads():
            return getattr(transformer, kind).load(path, machine, name, *more)
    except (OSError, ValueError) as error:
        if "trust_remote_code" in str(error):
            raise UnsupportedModel(_brings_code(name)) from error
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        raise ModelUnavailable(
            f"{name} could not be loaded: {reason} "
            f"Use a known name (`mudy models`), a local folder, or a hub id with the hub in reach."
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()


def _family(path: str, name: str, known: frozenset[str] | None = None, kind: str = "") -> str:
    """The family that a model's config.json names; one that is not known, or brings code of its own, raises."""
    config = read_config(Path(path))
    family = str(config.get("model_type"))
    other = known is not None and family not in known
    if "auto_map" in read_settings(Path(path)) or (other and "auto_map" in config):
        raise UnsupportedModel(_brings_code(name))
    if other:
        raise UnsupportedModel(
            f"{name} is of the family {family!r}; {kind} of one of these is needed: {', '.join(sorted(known or ()))}."
        )
    return family


def _brings_code(name: str) -> str:
    return (
        f"{name} needs Python code of its own (auto_map in its config.json or tokenizer_config.json), and the code "
        "of a model is never run. Use a model whose architecture is part of transformers."
    )


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


def computes_lightly(path: str, compute: Compute) -> bool:
    """Whether the light engine computes a model: it can, and neither a GPU nor half precision is called for."""
    if compute.device not in (None, "cpu") or compute.dtype not in (None, "float32"):
        return False
    if not supported_lightly(Path(path)):
        return False
    if compute.device == "cpu" or find_spec("torch") is None or not may_have_gpu():  # else torch is imported to see
        return True
    from mudy.engines.torch import best_device

    return best_device() == "cpu"


def supported_lightly(folder: Path) -> bool:
    """Whether the light engine can load a model's folder: one weight file, of a family that it computes."""
    from mudy.engines.light.decoder import decoder_config

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


def may_have_gpu(devices: Path = Path("/dev")) -> bool:
    """Whether this machine may have a GPU that torch uses: false only if it certainly has none."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    if sys.platform == "win32":
        return which("nvidia-smi") is not None
    return any(True for pattern in _GPU_DEVICES for _ in devices.glob(pattern))
