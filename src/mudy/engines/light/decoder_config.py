"""The shape of a decoder-only model, read from config.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mudy._support.extras import install_command
from mudy.errors import UnsupportedModel

FAMILIES = frozenset({"llama", "gemma3_text"})
ACTIVATIONS = {"silu": "silu", "gelu_pytorch_tanh": "gelu_tanh"}


@dataclass(frozen=True, slots=True)
class DecoderConfig:
    """What a forward pass needs to know."""

    family: str
    depth: int
    width: int
    heads: int
    kv_heads: int
    head_width: int
    positions: int  # how many tokens the model reads at most
    epsilon: float  # of its norms
    activation: str
    scaling: float  # of attention scores
    embedding_factor: float  # of word vectors
    norm_offset: float  # added to the weights of norms: Gemma's are stored around 0
    gemma: bool  # norms of queries and keys, and after each half of a layer
    windows: tuple[int | None, ...]  # for each layer, how far back it looks
    thetas: tuple[float, ...]  # for each layer, the base of its rotary positions

    @property
    def groups(self) -> int:
        """Query heads that share a key head."""
        return self.heads // self.kv_heads


def decoder_config(config: Mapping[str, Any], name: str) -> DecoderConfig:
    """The shape that a config.json describes; what this engine does not compute raises."""
    family = str(config.get("model_type"))
    if family not in FAMILIES:
        raise UnsupportedModel(_other(name, f"is of the family {family!r}"))
    gemma = family == "gemma3_text"
    depth, heads, width = (int(config[key]) for key in ("num_hidden_layers", "num_attention_heads", "hidden_size"))
    head_width = int(config.get("head_dim") or width // heads)
    sliding = [kind == "sliding_attention" for kind in config.get("layer_types") or ["full_attention"] * depth]
    _refuse_variants(config, name)
    return DecoderConfig(
        family,
        depth,
        width,
        heads,
        int(config.get("num_key_value_heads") or heads),
        head_width,
        int(config.get("max_position_embeddings", 2048)),
        float(config["rms_norm_eps"]),
        _activation(config, gemma, name),
        float(config.get("query_pre_attn_scalar", 256) if gemma else head_width) ** -0.5,
        width**0.5 if gemma else 1.0,
        1.0 if gemma else 0.0,
        gemma,
        tuple(int(config["sliding_window"]) if slides else None for slides in sliding),
        tuple(_theta(config, slides, gemma, name) for slides in sliding),
    )


def _activation(config: Mapping[str, Any], gemma: bool, name: str) -> str:
    key, usual = ("hidden_activation", "gelu_pytorch_tanh") if gemma else ("hidden_act", "silu")
    found = str(config.get(key) or usual)
    if found not in ACTIVATIONS:
        raise UnsupportedModel(_other(name, f"has the activation {found!r}"))
    return ACTIVATIONS[found]


def _theta(config: Mapping[str, Any], slides: bool, gemma: bool, name: str) -> float:
    """The base of rotary positions; older files name it otherwise."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    rope = rope.get("sliding_attention" if slides else "full_attention", rope)
    if rope.get("rope_type", rope.get("type", "default")) not in ("default", None):
        raise UnsupportedModel(_other(name, "has scaled rotary positions"))
    if "rope_theta" in rope:
        return float(rope["rope_theta"])
    if gemma and slides:
        return float(config.get("rope_local_base_freq", 10_000))
    return float(config.get("rope_theta", 1_000_000 if gemma else 10_000))


def _refuse_variants(config: Mapping[str, Any], name: str) -> None:
    for key in ("attention_bias", "mlp_bias", "attn_logit_softcapping", "final_logit_softcapping"):
        if config.get(key):
            raise UnsupportedModel(_other(name, f"has {key}"))
    if config.get("use_bidirectional_attention"):
        raise UnsupportedModel(_other(name, "looks ahead"))


def _other(name: str, what: str) -> str:
    known = ", ".join(sorted(FAMILIES))
    needed = f"{name} {what}, which only the torch engine computes (without torch: {known})."
    return f"{needed} Install it: {install_command('torch')}"
