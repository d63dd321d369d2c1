"""Gemma's tokenizer.json -> a table of its tokens, which is mapped and not read.

The file lists 514,906 merges, but they are implied by the order of the tokens: every way to cut a token into two
tokens, earlier tokens first, then longer left halves. Where that is so, the tokens alone are kept, in the cache, and
`byte_pairs.BytePairTokenizer` cuts texts as the `tokenizers` package would. Any other tokeniser is left to it.
"""

from __future__ import annotations

import json
import mmap
import re
import sys
from array import array
from dataclasses import dataclass
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from mudy._support.storage import atomic_write
from mudy.engines.light.conversion import converted_path, source_identity
from mudy.models.gguf import merges

_FORMAT = f"mudy-tokens-2-{sys.byteorder}"
_EMPTY = -1
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


class TokenTable:
    """The same as a hash table in one stretch of bytes, which processes share if it is a mapped file.

    As Python's strings and dictionary, Gemma's tokens would take 36 MB of each process.
    """

    def __init__(self, header: dict[str, Any], data: bytes | mmap.mmap, at: int = 0) -> None:
        """`data` holds the table from `at` on: where each token begins, the slots of the hash table, the tokens."""
        self.added, self.prefix = header["added"], header["prefix"]
        self.characters: list[int] = header["characters"]  # tokens of one character
        self.joints: str = header["joints"]  # characters that some token has before a space
        starts, slots = 4 * (header["tokens"] + 1), 4 * header["slots"]
        view = memoryview(data)[at:]
        self._starts, self._slots = view[:starts].cast("i"), view[starts : starts + slots].cast("i")
        self._tokens, self._last_slot = view[starts + slots :], header["slots"] - 1

    def __len__(self) -> int:
        return len(self._starts) - 1

    def token(self, number: int) -> str:
        return str(self._coded(number), "utf-8")

    def number(self, token: str) -> int | None:
        """The id of a token; None if it is none."""
        coded = token.encode("utf-8", "surrogatepass")
        slot = crc32(coded) & self._last_slot
        number: int = self._slots[slot]
        while number != _EMPTY and self._coded(number) != coded:
            slot = (slot + 1) & self._last_slot
            number = self._slots[slot]
        return None if number == _EMPTY else number

    def _coded(self, number: int) -> memoryview:
        return self._tokens[self._starts[number] : self._starts[number + 1]]


def packed(listed: TokenList) -> tuple[dict[str, Any], bytes]:
    """What a TokenTable is made of."""
    coded = [token.encode() for token in listed.tokens]
    slots = array("i", [_EMPTY]) * (1 << ((4 * len(coded)).bit_length() - 1))  # at least half of them stay empty
    for number, token in enumerate(coded):
        slot = crc32(token) & (len(slots) - 1)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
    starts = array("i", accumulate(map(len, coded), initial=0))
    inner = re.compile(f"[^{SPACE}](?={SPACE})")
    joints = {character for token in listed.tokens for character in inner.findall(token)}
    header = {
        "added": listed.added,
        "prefix": listed.prefix,
        "characters": [number for number, token in enumerate(listed.tokens) if len(token) == 1],
        "joints": "".join(sorted(joints)),
        "tokens": len(coded),
        "slots": len(slots),
    }
    return header, starts.tobytes() + slots.tobytes() + b"".join(coded)


# -- The cache --------------------------------------------------------------------------------------------------------


def token_table(folder: Path) -> TokenTable | None:
    """The tokens of a model's tokeniser, from the cache or written to it; None if they do not imply its merges."""
    path, source = converted_path(folder).with_suffix(".table"), source_identity(folder / "tokenizer.json")
    found = read_table(path, source)
    if found is None:
        listed = implied(json.loads((folder / "tokenizer.json").read_text(encoding="utf-8")))
        header, body = packed(listed) if listed else ({}, b"")
        write_table(path, source, header, body)
        return TokenTable(header, body) if listed else None
    return found or None


def read_table(path: Path, source: str) -> TokenTable | Literal[False] | None:
    """What was kept: a table, or False for a tokeniser that has none; None if nothing was, or it is damaged."""
    from xxhash import xxh3_128_hexdigest

    try:
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        at = data.find(b"\n") + 1
        header = json.loads(data[:at])
        with memoryview(data)[at:] as body:
            known = [header["format"], header["source"], header["xxh3_128"]]
            if known != [_FORMAT, source, xxh3_128_hexdigest(body)]:
                return None
            empty = not body
        return False if empty else TokenTable(header, data, at)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def write_table(path: Path, source: str, header: dict[str, Any], body: bytes) -> None:
    """Keep a table, or that there is none; a cache that cannot be written only costs time."""
    from xxhash import xxh3_128_hexdigest

    known = {"format": _FORMAT, "source": source, "xxh3_128": xxh3_128_hexdigest(body)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as unfinished:
            unfinished.write_bytes(json.dumps({**known, **header}).encode() + b"\n" + body)
    except OSError:
        return


# -- What a tokenizer.json says ---------------------------------------------------------------------------------------


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
