"""A vocabulary as a hash table in one file, which is mapped into memory, not read, and which processes share.

As Python's strings and dictionary, Gemma's tokens would take 36 MB of each process.
"""

import json
import mmap
import re
from array import array
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any
from zlib import crc32

TOKEN_TABLE = "tokens.table"  # the file's name in a model's folder
SPACE = "\u2581"  # how SentencePiece writes a space
_EMPTY = -1


class TokenTable:
    """Tokens and their numbers."""

    def __init__(self, header: dict[str, Any], body: bytes | memoryview) -> None:
        """`body` holds where each token begins, the slots of the hash table, and the tokens."""
        self.added: list[int] = header["added"]  # tokens that are found in a text before it is cut
        self.prefix: list[int] = header["prefix"]  # special tokens that stand before every text
        self.characters: list[int] = header["characters"]  # tokens of one character
        self.joints: str = header["joints"]  # characters that some token has before a space
        starts, slots = 4 * (header["tokens"] + 1), 4 * header["slots"]
        view = memoryview(body)
        self._starts, self._slots = view[:starts].cast("i"), view[starts : starts + slots].cast("i")
        self._tokens, self._last_slot = view[starts + slots :], header["slots"] - 1

    @classmethod
    def load(cls, path: Path) -> "TokenTable":
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        start = data.find(b"\n") + 1
        return cls(json.loads(data[:start]), memoryview(data)[start:])

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


def write_token_table(path: Path, tokens: Sequence[str], added: Sequence[int], prefix: Sequence[int]) -> None:
    """Write a vocabulary, given by id, as a TokenTable reads it."""
    coded = [token.encode() for token in tokens]
    slots = array("i", [_EMPTY]) * (1 << ((4 * len(coded)).bit_length() - 1))  # at least half of them stay empty
    for number, token in enumerate(coded):
        slot = crc32(token) & (len(slots) - 1)
        while slots[slot] != _EMPTY:
            slot = (slot + 1) & (len(slots) - 1)
        slots[slot] = number
    starts = array("i", accumulate(map(len, coded), initial=0))
    inner = re.compile(f"[^{SPACE}](?={SPACE})")
    header = {
        "added": added,
        "prefix": prefix,
        "characters": [number for number, token in enumerate(tokens) if len(token) == 1],
        "joints": "".join(sorted({character for token in tokens for character in inner.findall(token)})),
        "tokens": len(coded),
        "slots": len(slots),
    }
    path.write_bytes(json.dumps(header).encode() + b"\n" + starts.tobytes() + slots.tobytes() + b"".join(coded))
