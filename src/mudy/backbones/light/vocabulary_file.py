"""Gemma's tokenizer.json -> a list of its tokens, which is read ten times as fast.

The file lists 514,906 merges, but they are implied by the order of the tokens: every way to cut a token into two
tokens, earlier tokens first, then longer left halves. Where that is so, the tokens alone are kept, in the cache, and
`byte_pairs.BytePairTokenizer` cuts texts as the `tokenizers` package would. Any other tokeniser is left to it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal

from mudy.backbones.light.conversion import converted_path, source_identity
from mudy.models.tokenizer import merges
from mudy.storage import atomic_write

_FORMAT = "mudy-tokens-1"
SPACE = "\u2581"  # how SentencePiece writes a space
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
NORMALIZER = {"type": "Replace", "pattern": {"String": " "}, "content": SPACE}
PRE_TOKENIZER = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


@dataclass(frozen=True, slots=True)
class TokenList:
    """A vocabulary whose merges are implied by its order."""

    tokens: list[str]  # by id
    added: list[int]  # tokens that are found in a text before it is cut
    prefix: list[int]  # special tokens that stand before every text


def token_list(folder: Path) -> TokenList | None:
    """The tokens of a model's tokeniser, from the cache or written to it; None if they do not imply its merges."""
    path, source = converted_path(folder).with_suffix(".tokens"), source_identity(folder / "tokenizer.json")
    found = read_tokens(path, source)
    if found is None:
        listed = implied(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))
        write_tokens(path, source, listed)
        return listed
    return found or None


def read_tokens(path: Path, source: str) -> TokenList | Literal[False] | None:
    """What was kept: a list, or False for a tokeniser that is none; None if nothing was, or it is damaged."""
    from xxhash import xxh3_128_hexdigest

    try:
        head, _, body = path.read_bytes().partition(b"\n")
        header = json.loads(head)
        if [header["format"], header["source"], header["xxh3_128"]] != [_FORMAT, source, xxh3_128_hexdigest(body)]:
            return None
        return TokenList(body.decode().split("\0"), header["added"], header["prefix"]) if body else False
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_tokens(path: Path, source: str, listed: TokenList | None) -> None:
    """Keep a list, or that there is none; a cache that cannot be written only costs time."""
    from xxhash import xxh3_128_hexdigest

    body = "\0".join(listed.tokens).encode() if listed else b""
    header: dict[str, Any] = {"format": _FORMAT, "source": source, "xxh3_128": xxh3_128_hexdigest(body)}
    header |= {"added": listed.added, "prefix": listed.prefix} if listed else {}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, unique=True) as unfinished:
            unfinished.write_bytes(json.dumps(header).encode() + b"\n" + body)
    except OSError:
        return


def implied(content: dict[str, Any]) -> TokenList | None:
    """The tokens of a tokenizer.json, if they are all that it says."""
    model, added = content["model"], content["added_tokens"]
    if model.get("type") != "BPE" or not model.get("byte_fallback") or model.get("ignore_merges"):
        return None
    if content["normalizer"] != NORMALIZER or content["pre_tokenizer"] != PRE_TOKENIZER:
        return None
    ids: dict[str, int] = dict(sorted(model["vocab"].items(), key=lambda pair: pair[1]))
    tokens = list(ids)
    plain = all(
        not any(token[key] for key in ("normalized", "lstrip", "rstrip", "single_word"))
        and ids.get(token["content"]) == token["id"]
        for token in added
    )
    prefix = special_prefix(content["post_processor"])
    whole = list(ids.values()) == list(range(len(ids))) and all(byte in ids for byte in BYTES)
    if prefix is None or not plain or not whole or any("\0" in token or " " in token for token in tokens):
        return None
    listed = (tuple(pair.split(" ")) if isinstance(pair, str) else tuple(pair) for pair in model["merges"])
    if not all(one == other for one, other in zip_longest(listed, merges(ids))):
        return None
    return TokenList(tokens, [token["id"] for token in added], prefix)


def special_prefix(processor: dict[str, Any] | None) -> list[int] | None:
    """The special tokens that a post-processor puts before a text; None if it does anything else."""
    if processor is None:
        return []
    if processor.get("type") != "TemplateProcessing" or "Sequence" not in processor["single"][-1]:
        return None
    names = [part.get("SpecialToken", {}).get("id") for part in processor["single"][:-1]]
    return [token for name in names for token in processor["special_tokens"][name]["ids"]] if all(names) else None
