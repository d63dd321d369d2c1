"""Language models behind one protocol, `backbone.Backbone`. Importing this package loads no model and no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mudy.errors import ModelError, ModelUnavailable, UnsupportedModel

if TYPE_CHECKING:
    from mudy.backbones.backbone import Backbone
    from mudy.backbones.chat import Chat
    from mudy.backbones.compute import Machine
    from mudy.backbones.encoder import SentenceEncoder


ENCODER_DECODERS = frozenset({"t5"})  # families of models that have an encoder of their own


def has_encoder(family: str) -> bool:
    """Whether language models of a family embed spans with an encoder of their own."""
    return family in ENCODER_DECODERS


def load_backbone(path: str, machine: Machine, name: str) -> Backbone:
    """A language model from a folder or a hub id, as the backbone of its family."""
    from mudy.backbones import causal, seq2seq

    family = _family(path, name)
    backbone: Backbone
    if family in causal.CAUSAL_FAMILIES:
        backbone = _loaded(causal.CausalBackbone, path, machine, name)
        return backbone
    if family in ENCODER_DECODERS:
        backbone = _loaded(seq2seq.Seq2SeqBackbone, path, machine, name)
        return backbone
    known = ", ".join(sorted(causal.CAUSAL_FAMILIES | ENCODER_DECODERS))
    raise UnsupportedModel(f"{name} is of the family {family!r}; a language model of one of these is needed: {known}.")


def load_encoder(path: str, machine: Machine, name: str) -> SentenceEncoder:
    """A sentence encoder from a folder or a hub id."""
    from mudy.backbones import encoder

    family = _family(path, name)
    if family not in encoder.ENCODER_FAMILIES:
        known = ", ".join(sorted(encoder.ENCODER_FAMILIES))
        raise UnsupportedModel(f"{name} is of the family {family!r}; an encoder of one of these is needed: {known}.")
    loaded: SentenceEncoder = _loaded(encoder.SentenceEncoder, path, machine, name)
    return loaded


def load_chat(path: str, machine: Machine, name: str, template: str = "") -> Chat:
    """A chat model from a folder or a hub id; `template` serves where the folder holds none."""
    from mudy.backbones import local_chat

    loaded: Chat = _loaded(local_chat.LocalChat, path, machine, name, template)
    return loaded


def _family(path: str, name: str) -> str:
    from transformers import AutoConfig

    try:
        return str(AutoConfig.from_pretrained(path, trust_remote_code=False).model_type)
    except (OSError, ValueError) as error:
        raise _told(name, error) from error


def _loaded(kind: Any, path: str, machine: Machine, name: str, *more: str) -> Any:
    from transformers.utils import logging

    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        with machine.on_threads():
            return kind.load(path, machine, name, *more)
    except (OSError, ValueError) as error:
        raise _told(name, error) from error
    finally:
        if bars:
            logging.enable_progress_bar()


def _told(name: str, error: Exception) -> ModelError:
    """Transformers' error as one of ours."""
    if "trust_remote_code" in str(error):
        return UnsupportedModel(
            f"{name} needs Python code of its own (auto_map in its config.json or tokenizer_config.json), and the code "
            "of a model is never run. Use a model whose architecture is part of transformers."
        )
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    return ModelUnavailable(
        f"{name} could not be loaded: {reason} "
        f"Use a known name (`mudy models`), a local folder, or a hub id with the hub in reach."
    )
