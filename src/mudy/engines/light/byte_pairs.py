"""Gemma's tokeniser: byte-pair encoding by a table of tokens that is mapped into memory and not read.

tokenizer.json lists 514,906 merges, but they are implied by the order of the tokens: every way to cut a token into two
tokens, earlier tokens first, then longer left halves. Where that is so, the tokens alone are kept, in the cache, and
`BytePairTokenizer` cuts texts as the `tokenizers` package would. Any other tokeniser is left to that package.
"""

from __future__ import annotations

import json
import mmap
import re
import sys
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple
from zlib import crc32

from mudy._support.storage import atomic_write
from mudy.engines.light.conversion import converted_path, source_identity
from mudy.models.gguf import merges

KEPT = 1 << 16  # words whose tokens are remembered


class Cut(NamedTuple):
    """A text as tokens, in the form of the `tokenizers` package."""

    ids: list[int]
    offsets: list[tuple[int, int]]


class BytePairTokenizer:
    """Cuts texts into tokens; each knows which characters it stands for."""

    def __init__(self, table: TokenTable) -> None:
        self._table, self._prefix = table, table.prefix
        self._known: dict[str, list[tuple[int, int]]] = {}
        self._added = {table.token(number): number for number in table.added}
        self._first = re.compile("[" + re.escape("".join(sorted({token[0] for token in self._added}))) + "]")
        self._lengths = sorted({len(token) for token in self._added}, reverse=True)
        self._words = self._word_pattern()

    def _word_pattern(self) -> re.Pattern[str]:
        """What can be cut by itself: a word and the spaces before it.

        No token goes on from a letter to a space, but for a few, after whose characters a text is not divided.
        """
        joint = f"(?:[{re.escape(self._table.joints)}]{SPACE}+)" if self._table.joints else "(?!)"
        return re.compile(f"{SPACE}*(?:{joint}|[^{SPACE}])+|{SPACE}+", re.DOTALL)

    # --- The interface of tokenizers.Tokenizer, as far as it is used ---------------------------------------------

    def encode(self, text: str, add_special_tokens: bool = True) -> Cut:
        ids = list(self._prefix) if add_special_tokens else []
        offsets = [(0, 0)] * len(ids)
        for start, stop, token in self._parts(text):
            if token is not None:
                ids.append(token)
                offsets.append((start, stop))
                continue
            for word in self._words.finditer(text[start:stop].replace(" ", SPACE)):
                at = start + word.start()
                for found, length in self._word(word.group()):
                    ids.append(found)
                    offsets.append((at, at + max(length, 1)))
                    at += length
        return Cut(ids, offsets)

    def id_to_token(self, token: int) -> str:
        return self._table.token(token)

    def token_to_id(self, token: str) -> int | None:
        return self._table.number(token)

    def single_characters(self) -> list[int]:
        return self._table.characters

    def num_special_tokens_to_add(self, pair: bool) -> int:
        return len(self._prefix) * (2 if pair else 1)

    # --- Parts of a text -----------------------------------------------------------------------------------------

    def _parts(self, text: str) -> Iterator[tuple[int, int, int | None]]:
        """Added tokens, the longest at each place, and the stretches between them."""
        done = at = 0
        while (hit := self._first.search(text, at)) is not None:
            at = hit.start()
            added = next((part for n in self._lengths if (part := text[at : at + n]) in self._added), None)
            if added is None:
                at += 1
                continue
            if done < at:
                yield done, at, None
            yield at, at + len(added), self._added[added]
            done = at = at + len(added)
        if done < len(text):
            yield done, len(text), None

    def _word(self, word: str) -> list[tuple[int, int]]:
        """Its tokens, and how many characters each stands for."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[word] = self._merged(*self._symbols(word))
        return known

    def _symbols(self, word: str) -> tuple[list[str], list[int]]:
        """Its characters; those that are no tokens as bytes, the last of which stands for the character."""
        symbols: list[str] = []
        lengths: list[int] = []
        for character in word:
            if self._table.number(character) is not None:
                symbols.append(character)
                lengths.append(1)
            else:
                coded = character.encode()
                symbols += [BYTES[byte] for byte in coded]
                lengths += [0] * (len(coded) - 1) + [1]
        return symbols, lengths

    def _merged(self, symbols: list[str], lengths: list[int]) -> list[tuple[int, int]]:
        """Join neighbours into tokens, the earliest token of the vocabulary first, then the leftmost place."""
        after = list(range(1, len(symbols) + 1))
        before = list(range(-1, len(symbols) - 1))
        queue = [entry for i in range(len(symbols) - 1) if (entry := self._pair(symbols, i, i + 1))]
        heapify(queue)
        while queue:
            _, _, left, right, joined = heappop(queue)
            if symbols[left] + symbols[right] != joined or not symbols[left] or after[left] != right:
                continue  # one of the two has been joined with another meanwhile
            symbols[left], symbols[right] = joined, ""
            lengths[left] += lengths[right]
            after[left] = after[right]
            if after[right] < len(symbols):
                before[after[right]] = left
                if entry := self._pair(symbols, left, after[left]):
                    heappush(queue, entry)
            if before[left] >= 0 and (entry := self._pair(symbols, before[left], left)):
                heappush(queue, entry)
        found = (
            (self._table.number(symbol), length) for symbol, length in zip(symbols, lengths, strict=True) if symbol
        )
        return [(number, length) for number, length in found if number is not None]

    def _pair(self, symbols: Sequence[str], left: int, right: int) -> tuple[int, int, int, int, str] | None:
        """Two neighbours in the order in which pairs are joined, if they make a token."""
        joined = symbols[left] + symbols[right]
        token = self._table.number(joined)
        return None if token is None else (token, -len(symbols[left]), left, right, joined)


# --- The table of tokens -----------------------------------------------------------------------------------------


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
