"""A model's tokeniser without transformers: tokenizer.json, called as transformers' fast tokenisers are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple

from mudy.engines.light import read_settings
from mudy.errors import ModelUnavailable, UnsupportedModel
from mudy.models.cache import is_cached
from mudy.models.token_table import SPACE, TOKEN_TABLE, TokenTable

KEPT = 1 << 16  # words whose tokens are remembered


class LightTokenizer:
    """Cuts texts into tokens, and knows where in the text each stands."""

    def __init__(self, folder: Path) -> None:
        path = folder / "tokenizer.json"
        if not path.is_file():
            raise UnsupportedModel(f"{folder} holds no tokenizer.json, which is needed for character offsets.")
        try:
            self._inner = _opened(folder)
        except Exception as error:  # the package raises nothing narrower
            raise ModelUnavailable(f"{path} cannot be read: {error}.") from error
        self._settings = read_settings(folder)

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        add_special_tokens: bool = True,
        return_offsets_mapping: bool = True,  # noqa: ARG002 (always given)
        verbose: bool = True,  # noqa: ARG002 (as transformers has it)
    ) -> dict[str, Any]:
        """Token ids and the characters of each; of one text, or of each of several."""
        if isinstance(text, str):
            encoded = self._inner.encode(text, add_special_tokens=add_special_tokens)
            return {"input_ids": encoded.ids, "offset_mapping": encoded.offsets}
        every = [self._inner.encode(one, add_special_tokens=add_special_tokens) for one in text]  # on one thread
        return {"input_ids": [each.ids for each in every], "offset_mapping": [each.offsets for each in every]}

    def convert_ids_to_tokens(self, ids: Sequence[int]) -> list[str]:
        return [self._inner.id_to_token(token) or "" for token in ids]

    def single_characters(self) -> list[int]:
        """The tokens that are one character, in their order."""
        if hasattr(self._inner, "single_characters"):
            return list(self._inner.single_characters())
        return sorted(token for text, token in self._inner.get_vocab().items() if len(text) == 1)

    def num_special_tokens_to_add(self) -> int:
        return int(self._inner.num_special_tokens_to_add(False))

    @property
    def mask_token_id(self) -> int | None:
        token = self._settings.get("mask_token")
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self._inner.token_to_id(token)


def _opened(folder: Path) -> Any:
    """A tokeniser of our own that starts in a tenth of the time, where a pull wrote a table of the tokens."""
    if is_cached(folder) and (folder / TOKEN_TABLE).is_file():
        return BytePairTokenizer(TokenTable.load(folder / TOKEN_TABLE))
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found.no_truncation()
    found.no_padding()
    return found


class Cut(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]


class BytePairTokenizer:
    """Gemma's byte-pair encoding, by a table of tokens that is mapped into memory and not read.

    tokenizer.json lists 514,906 merges, but they are implied by the order of the tokens: every way to cut a token into
    two tokens, earlier tokens first, then longer left halves. So the tokens alone, which a pull writes into a table,
    are enough to cut texts as the `tokenizers` package would, which takes 0.4 s of CPU time and 130 MB more to start.
    """

    def __init__(self, table: TokenTable) -> None:
        self._table, self._prefix = table, table.prefix
        self._word = lru_cache(KEPT)(self._cut)
        self._added = {table.token(number): number for number in table.added}
        self._first = re.compile("[" + re.escape("".join(sorted({token[0] for token in self._added}))) + "]")
        self._lengths = sorted({len(token) for token in self._added}, reverse=True)
        # What can be cut by itself: a word and the spaces before it. No token goes on from a letter to a space, but for
        # a few, after whose characters a text is not divided.
        joint = f"(?:[{re.escape(table.joints)}]{SPACE}+)" if table.joints else "(?!)"
        self._words = re.compile(f"{SPACE}*(?:{joint}|[^{SPACE}])+|{SPACE}+", re.DOTALL)

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

    def _cut(self, word: str) -> list[tuple[int, int]]:
        """Its tokens, and how many characters each stands for."""
        return self._merged(*self._symbols(word))

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
                symbols += [f"<0x{byte:02X}>" for byte in coded]
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
        return [
            (number, length)
            for symbol, length in zip(symbols, lengths, strict=True)
            if symbol and (number := self._table.number(symbol)) is not None
        ]

    def _pair(self, symbols: Sequence[str], left: int, right: int) -> tuple[int, int, int, int, str] | None:
        """Two neighbours in the order in which pairs are joined, if they make a token."""
        joined = symbols[left] + symbols[right]
        token = self._table.number(joined)
        return None if token is None else (token, -len(symbols[left]), left, right, joined)
