"""A GGUF file -> the files that transformers loads: config.json, model.safetensors, tokenizer.json; and a token table.

Reads the files of the known models, which are pinned by their hashes: Llama and Gemma 3, and their tokenizers. It gives
bit by bit the weights that transformers' own GGUF loader gives, about ten times as fast, as float32. The header is not
read by gguf.GGUFReader, which makes an array of each of Gemma's 262,144 tokens: 47 s instead of 1.1 s.
"""

import json
import mmap
import re
import struct
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from mudy.models.cache import TOKEN_TABLE, safetensors_header
from mudy.models.fetch import Report, silent

_NUMBER_FORMATS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
STRING, ARRAY = 8, 9
UNKNOWN, CONTROL, USER_DEFINED = 2, 3, 4  # token types
_ROWS_AT_ONCE = 16_384  # de-quantised at a time, so that an embedding of 262,144 rows never stands in memory

_BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TENSOR_NAMES = {
    "llama": _BLOCK_NAMES | {"ffn_norm": "post_attention_layernorm"},
    "gemma3": _BLOCK_NAMES
    | {
        "attn_q_norm": "self_attn.q_norm",
        "attn_k_norm": "self_attn.k_norm",
        "post_attention_norm": "post_attention_layernorm",
        "ffn_norm": "pre_feedforward_layernorm",
        "post_ffw_norm": "post_feedforward_layernorm",
    },
}


class Tensor(NamedTuple):
    name: str
    shape: tuple[int, ...]  # rows first
    type: int  # a GGMLQuantizationType
    start: int  # in bytes, from the start of the file


class Cursor:
    """Reads the little-endian values of a GGUF file one after the other."""

    def __init__(self, data: mmap.mmap) -> None:
        self.data, self.at = data, 8  # after "GGUF" and the version, 3

    def number(self, form: str) -> Any:
        (value,) = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def string(self) -> str:
        """The next string: its length in bytes, then its UTF-8."""
        start = self.at + 8
        self.at = start + struct.unpack_from("<Q", self.data, self.at)[0]
        return self.data[start : self.at].decode()

    def value(self, kind: int) -> Any:
        """The next metadata value: a number, a string, or an array of one of them."""
        if kind == STRING:
            return self.string()
        if kind != ARRAY:
            return self.number(_NUMBER_FORMATS[kind])
        of, count = self.number("<I"), self.number("<Q")
        return [self.value(of) for _ in range(count)]


def header(data: mmap.mmap) -> tuple[dict[str, Any], list[Tensor]]:
    """The metadata and the table of tensors at the head of a GGUF file."""
    cursor = Cursor(data)
    tensor_count, pair_count = cursor.number("<Q"), cursor.number("<Q")
    metadata = {cursor.string(): cursor.value(cursor.number("<I")) for _ in range(pair_count)}
    table = []
    for _ in range(tensor_count):
        name, rank = cursor.string(), cursor.number("<I")
        shape = tuple(cursor.number("<Q") for _ in range(rank))[::-1]
        table.append(Tensor(name, shape, cursor.number("<I"), cursor.number("<Q")))
    step = metadata.get("general.alignment", 32)
    base = -(-cursor.at // step) * step
    return metadata, [tensor._replace(start=base + tensor.start) for tensor in table]


def convert(source: Path, folder: Path, report: Report = silent) -> None:
    """Write config.json, model.safetensors, tokenizer.json and tokenizer_config.json of a GGUF file into a folder."""
    with source.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        metadata, tensors = header(data)
        (folder / "config.json").write_text(json.dumps(config(metadata), indent=2) + "\n", encoding="utf-8")
        write_weights(folder / "model.safetensors", metadata, tensors, data, report)
    write_tokenizer(folder, metadata)


def config(metadata: dict[str, Any]) -> dict[str, Any]:
    """The fields of transformers' configuration, from the metadata of a Llama or Gemma 3 file."""
    architecture = metadata["general.architecture"]
    of = {key.removeprefix(f"{architecture}."): value for key, value in metadata.items()}
    theta = of["rope.freq_base"]
    shared = {
        "hidden_size": of["embedding_length"],
        "intermediate_size": of["feed_forward_length"],
        "num_hidden_layers": of["block_count"],
        "num_attention_heads": of["attention.head_count"],
        "num_key_value_heads": of["attention.head_count_kv"],
        "max_position_embeddings": of["context_length"],
        "rms_norm_eps": of["attention.layer_norm_rms_epsilon"],
        "vocab_size": len(of["tokenizer.ggml.tokens"]),
        "bos_token_id": of["tokenizer.ggml.bos_token_id"],
        "eos_token_id": of["tokenizer.ggml.eos_token_id"],
        "pad_token_id": of["tokenizer.ggml.padding_token_id"],
        "unk_token_id": of["tokenizer.ggml.unknown_token_id"],
        "tie_word_embeddings": True,
        "dtype": "float32",
        "transformers_version": "5.15.0",  # the format of this file; without it transformers suspects an old Mistral
    }
    if architecture == "llama":
        return shared | {
            "architectures": ["LlamaForCausalLM"],
            "model_type": "llama",
            "head_dim": of["rope.dimension_count"],
            "rope_parameters": {"rope_type": "default", "rope_theta": theta},
        }
    layers = ["full_attention" if (i + 1) % 6 == 0 else "sliding_attention" for i in range(of["block_count"])]
    return shared | {
        "architectures": ["Gemma3ForCausalLM"],
        "model_type": "gemma3_text",
        "head_dim": of["attention.key_length"],
        "query_pre_attn_scalar": of["attention.key_length"],
        "sliding_window": of["attention.sliding_window"],
        "layer_types": layers,
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": theta},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},  # the file does not say
        },
    }


def write_weights(path: Path, metadata: dict[str, Any], tensors: list[Tensor], data: mmap.mmap, report: Report) -> None:
    """All tensors as float32 under transformers' names, in one safetensors file, written a few rows at a time."""
    architecture = metadata["general.architecture"]
    table = [(rename(tensor.name, architecture), "F32", tensor.shape) for tensor in tensors]
    done, total = 0, 4 * sum(prod(tensor.shape) for tensor in tensors)
    with path.open("wb") as file:
        file.write(safetensors_header(table, {"format": "pt"}))
        for tensor in tensors:
            for values in dequantised(tensor, data):
                file.write(restored(values, tensor.name, metadata).astype("<f4").tobytes())
                done += 4 * values.size
                report("Converting", done, total)


def restored(values: NDArray[Any], name: str, metadata: dict[str, Any]) -> NDArray[Any]:
    """Weights as transformers wants them, with what GGUF did to them undone."""
    architecture = metadata["general.architecture"]
    if architecture == "llama" and ".attn_q." in name:
        return regroup(values, metadata["llama.attention.head_count"])
    if architecture == "llama" and ".attn_k." in name:
        return regroup(values, metadata["llama.attention.head_count_kv"])
    if architecture == "gemma3" and name.endswith("norm.weight"):
        return values - 1  # the file holds the factor itself, transformers adds one to it
    return values


def rename(name: str, architecture: str) -> str:
    """A tensor's name in GGUF -> its name in transformers."""
    whole = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight": "model.norm.weight"}
    if name in whole:
        return whole[name]
    _, layer, part, suffix = name.split(".")
    return f"model.layers.{layer}.{_TENSOR_NAMES[architecture][part]}.{suffix}"


def dequantised(tensor: Tensor, data: mmap.mmap) -> Iterator[NDArray[Any]]:
    """The values of a tensor, at most _ROWS_AT_ONCE rows at a time."""
    from gguf import GGML_QUANT_SIZES, GGMLQuantizationType
    from gguf.quants import dequantize

    kind = GGMLQuantizationType(tensor.type)
    values_a_block, bytes_a_block = GGML_QUANT_SIZES[kind]
    columns, rows = tensor.shape[-1], prod(tensor.shape[:-1])
    width = columns // values_a_block * bytes_a_block
    for top in range(0, rows, _ROWS_AT_ONCE):
        count = min(_ROWS_AT_ONCE, rows - top)
        start = tensor.start + top * width
        packed = np.frombuffer(data[start : start + count * width], np.uint8).reshape(count, width)
        yield dequantize(packed, kind).reshape(count, *tensor.shape[1:]) if rows > 1 else dequantize(packed, kind)[0]


def regroup(values: NDArray[Any], heads: int) -> NDArray[Any]:
    """Undo GGUF's interleaving of the two rotary halves of each Llama head's rows."""
    rows, columns = values.shape
    return values.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)


# --- Tokenizers: Gemma 3 and SmolLM2 ---------------------------------------------------------------------------


def write_tokenizer(folder: Path, metadata: dict[str, Any]) -> None:
    """tokenizer.json and tokenizer_config.json; Gemma's puts BOS first, as the model needs, SmolLM2's adds nothing."""
    from tokenizers import AddedToken
    from tokenizers.processors import TemplateProcessing

    kind = metadata["tokenizer.ggml.model"]
    types: list[int] = metadata["tokenizer.ggml.token_type"]
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    if kind == "llama":  # Gemma's runs of spaces stand in the file as spaces; its tokenizer sees every space as ▁
        tokens = [token.replace(" ", "▁") if token.isspace() else token for token in tokens]
    tokenizer = gemma_tokenizer(tokens) if kind == "llama" else byte_level_tokenizer(tokens, metadata)
    special = [t for t, type_ in zip(tokens, types, strict=True) if type_ in (UNKNOWN, CONTROL)]
    whole = [t for t, type_ in zip(tokens, types, strict=True) if type_ == USER_DEFINED and not t.startswith("▁")]
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    tokenizer.add_tokens([AddedToken(token, normalized=False, special=False) for token in whole])
    role = {
        name: tokens[metadata[f"tokenizer.ggml.{key}_token_id"]]
        for name, key in {"bos": "bos", "eos": "eos", "unk": "unknown", "pad": "padding"}.items()
    }
    if metadata.get("tokenizer.ggml.add_bos_token"):
        bos = role["bos"]
        tokenizer.post_processor = TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B:1", special_tokens=[(bos, tokens.index(bos))]
        )
    (folder / "tokenizer.json").write_text(short(tokenizer.to_str()), encoding="utf-8")
    if kind == "llama":  # what the merges are made of is all that is needed to cut a text
        added = sorted(map(tokenizer.token_to_id, (*special, *whole)))
        write_token_table(folder / TOKEN_TABLE, tokens, added, [metadata["tokenizer.ggml.bos_token_id"]])
    settings = {f"{name}_token": token for name, token in role.items()} | {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": metadata[f"{metadata['general.architecture']}.context_length"],
        "clean_up_tokenization_spaces": False,
        "added_tokens_decoder": {  # with it, loading does not parse tokenizer.json a second time
            tokens.index(token): {"content": token, "normalized": False, "special": True} for token in role.values()
        },
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def short(tokenizer: str) -> str:
    """A tokenizer's JSON with each merge as "left right", not as a pair: Gemma's are read in 0.7 s, not 0.9."""
    content = json.loads(tokenizer)
    pairs = content["model"]["merges"]
    if any(" " in part or part.startswith("#version") for pair in pairs for part in pair):  # would be misread
        return tokenizer
    content["model"]["merges"] = [" ".join(pair) for pair in pairs]
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def gemma_tokenizer(tokens: list[str]) -> Any:
    """Gemma's byte-pair encoding; the file lists no merges, so the order of the tokens gives them."""
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

    ids = {token: index for index, token in enumerate(tokens)}
    model = models.BPE(vocab=ids, merges=list(merges(ids)), unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    return tokenizer


def merges(vocabulary: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Every way to cut a token into two tokens, best first: earlier tokens, then longer left halves."""
    for token in vocabulary:
        for cut in range(len(token) - 1, 0, -1):
            if (left := token[:cut]) in vocabulary and (right := token[cut:]) in vocabulary:
                yield left, right


def byte_level_tokenizer(tokens: list[str], metadata: dict[str, Any]) -> Any:
    """SmolLM2's byte-level encoding: digits by themselves (transformers forgets these), GPT-2's pieces, merges."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    pairs = [tuple(merge.split(" ")) for merge in metadata["tokenizer.ggml.merges"]]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=pairs))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def write_token_table(path: Path, tokens: Sequence[str], added: Sequence[int], prefix: Sequence[int]) -> None:
    """Write a vocabulary, given by id, as a TokenTable reads it."""
    coded = [token.encode() for token in tokens]
    slots = array("i", [-1]) * (1 << ((4 * len(coded)).bit_length() - 1))  # at least half of them stay -1
    for number, token in enumerate(coded):
        slot = crc32(token) & (len(slots) - 1)
        while slots[slot] >= 0:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
    starts = array("i", accumulate(map(len, coded), initial=0))
    inner = re.compile("[^▁](?=▁)")
    header = {
        "added": added,
        "prefix": prefix,
        "characters": [number for number, token in enumerate(tokens) if len(token) == 1],
        "joints": "".join(sorted({character for token in tokens for character in inner.findall(token)})),
        "tokens": len(coded),
        "slots": len(slots),
    }
    path.write_bytes(json.dumps(header).encode() + b"\n" + starts.tobytes() + slots.tobytes() + b"".join(coded))
