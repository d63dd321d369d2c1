"""Texts as tokens: spans and prompts as token positions, and the tokenisers that cut them."""

import json
import mmap
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

from mudy.engines import read_settings
from mudy.errors import CandidateTooLong, ModelUnavailable, UnsupportedModel
from mudy.models.cache import TOKEN_TABLE, is_cached
from mudy.reading.document import Span

KEPT = 1 << 16  # words whose tokens are remembered
T = TypeVar("T")
LONGEST_PROMPT = 512  # tokens kept free for the template and a candidate
SPACE = "\u2581"  # how SentencePiece writes a space


@dataclass(frozen=True, slots=True)
class Tokens:
    """A stretch of text as tokens. Those that stand for no text (a prefix, BOS) have an empty span."""

    ids: list[int]
    starts: list[int]  # characters of the document, never decreasing
    ends: list[int]
    first: int = 0  # the first token that stands for text

    def of(self, span: Span) -> range:
        """The tokens that hold a span: at least one, the nearest where the tokeniser left it out."""
        start = min(bisect_right(self.ends, span.start, lo=self.first), len(self.ids) - 1)
        end = bisect_left(self.starts, span.end, lo=self.first)
        return range(start, max(end, start + 1))

    def __len__(self) -> int:
        return len(self.ids)


def tokenise(tokenizer: Any, text: str, span: Span, prefix: str = "", suffix: str = "", special: bool = True) -> Tokens:
    """Cut prefix + text[span] + suffix into tokens whose offsets are characters of the whole text."""
    part = prefix + span.of(text) + suffix
    encoded = tokenizer(encodable(part), return_offsets_mapping=True, add_special_tokens=special, verbose=False)
    low, high = len(prefix), len(part) - len(suffix)
    shift = span.start - low
    reached, first = span.start, None
    starts, ends = [], []
    for index, (start, end) in enumerate(encoded["offset_mapping"]):
        stands_for_text = low < end and start < high and start < end
        if stands_for_text:
            first = index if first is None else first
            reached = min(end, high) + shift
        starts.append(max(start, low) + shift if stands_for_text else reached)
        ends.append(reached)
    return Tokens(list(encoded["input_ids"]), starts, ends, first or 0)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A template with one candidate in it, as tokens."""

    ids: list[int]
    first: int  # the candidate's first token
    last: int  # and its last

    @property
    def shape(self) -> tuple[int, int, int]:
        """What prompts must have in common to be computed side by side without padding."""
        return len(self.ids), self.first, self.last

    def aligned(self, rows: str) -> range:
        """The rows that say which tokens of a text are well-aligned: the candidate's, or all from its first on."""
        return range(self.first, len(self.ids) if rows == "tail" else self.last + 1)

    @property
    def scored(self) -> range:
        """The last token of the template ("about"), the candidate, and the token after it (Eq. 1, as published)."""
        return range(max(self.first - 1, 1), min(self.last + 2, len(self.ids)))


def prompts_of(tokenizer: Any, template: str, phrases: Sequence[str], limit: int, special: bool) -> list[Prompt]:
    """Each phrase in the template; the candidate's tokens are found by their characters, with the space before them."""
    if not phrases:
        return []
    before = len(template.split("{}")[0])
    filled = [encodable(template.replace("{}", phrase)) for phrase in phrases]
    encoded = tokenizer(filled, add_special_tokens=special, return_offsets_mapping=True)
    found = []
    for ids, offsets, phrase in zip(encoded["input_ids"], encoded["offset_mapping"], phrases, strict=True):
        if len(ids) > limit:
            raise CandidateTooLong(
                f"A candidate of {len(phrase):,} characters makes a prompt of {len(ids)} tokens, but there is room for "
                f"{limit}: {phrase[:60]!r}... Leave it out or shorten it."
            )
        end = before + len(phrase)
        held = [i for i, (low, high) in enumerate(offsets) if low < end and high > before - 1 and high > low]
        found.append(Prompt(list(ids), held[0], held[-1]))
    return found


def encodable(text: str) -> str:
    """The text with lone surrogates, which no tokeniser takes, replaced one for one."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def packs(items: Iterable[T], size: Callable[[T], int], budget: int) -> Iterator[list[T]]:
    """Items in their order, as many together as a budget holds (at least one)."""
    pack: list[T] = []
    held = 0
    for item in items:
        if pack and held + size(item) > budget:
            yield pack
            pack, held = [], 0
        pack.append(item)
        held += size(item)
    if pack:
        yield pack


def consecutive(lengths: Iterable[int]) -> Iterator[slice]:
    """Where each of several things stands that lie one after the other."""
    start = 0
    for length in lengths:
        yield slice(start, start := start + length)


def fast_tokenizer(path: str) -> Any:
    """The model's tokeniser; only a fast one knows where in the text its tokens stand."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise UnsupportedModel(f"{path} has no fast tokenizer (tokenizer.json), which is needed for character offsets.")
    return tokenizer


class LightTokenizer:
    """Cuts texts into tokens, and knows where in the text each stands."""

    def __init__(self, folder: Path) -> None:
        try:
            self._inner = _opened(folder)
        except Exception as error:  # the package raises nothing narrower
            raise ModelUnavailable(f"{folder / 'tokenizer.json'} cannot be read: {error}.") from error
        self._settings = read_settings(folder)

    def __call__(self, text: str | Sequence[str], *, add_special_tokens: bool = True, **_: Any) -> dict[str, Any]:
        """Token ids and the characters of each; of one text, or of each of several. Called as transformers' are."""
        if isinstance(text, str):
            encoded = self._inner.encode(text, add_special_tokens=add_special_tokens)
            return {"input_ids": encoded.ids, "offset_mapping": encoded.offsets}
        every = [self._inner.encode(one, add_special_tokens=add_special_tokens) for one in text]  # on one thread
        return {"input_ids": [each.ids for each in every], "offset_mapping": [each.offsets for each in every]}

    def single_characters(self) -> list[int]:
        """The tokens that are one character, in their order."""
        if hasattr(self._inner, "single_characters"):
            return list(self._inner.single_characters())
        return sorted(token for text, token in self._inner.get_vocab().items() if len(text) == 1)

    @property
    def mask_token_id(self) -> int | None:
        token = self._settings.get("mask_token")
        token = token.get("content") if isinstance(token, dict) else token
        return None if token is None else self._inner.token_to_id(token)


def _opened(folder: Path) -> Any:
    """A tokeniser of our own that starts in a tenth of the time, where a pull wrote a table of the tokens."""
    if is_cached(folder) and (folder / TOKEN_TABLE).is_file():
        return BytePairTokenizer(TokenTable(folder / TOKEN_TABLE))
    from tokenizers import Tokenizer

    found = Tokenizer.from_file(str(folder / "tokenizer.json"))
    found.no_truncation()
    found.no_padding()
    return found


class Cut(NamedTuple):
    ids: list[int]
    offsets: list[tuple[int, int]]


class TokenTable:
    """A vocabulary as a hash table in one file, which is mapped into memory, not read, and which processes share.

    As Python's strings and dictionary, Gemma's tokens would take 36 MB of each process. A pull writes the file
    (`mudy.models.gguf`).
    """

    def __init__(self, path: Path) -> None:
        """The file holds a header, where each token begins, the slots of the hash table, and the tokens."""
        with path.open("rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        body = data.find(b"\n") + 1
        header = json.loads(data[:body])
        self.added: list[int] = header["added"]  # tokens that are found in a text before it is cut
        self.prefix: list[int] = header["prefix"]  # special tokens that stand before every text
        self.characters: list[int] = header["characters"]  # tokens of one character
        self.joints: str = header["joints"]  # characters that some token has before a space
        starts, slots = 4 * (header["tokens"] + 1), 4 * header["slots"]
        view = memoryview(data)[body:]
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
        while number >= 0 and self._coded(number) != coded:
            slot = (slot + 1) & self._last_slot
            number = self._slots[slot]
        return None if number < 0 else number

    def _coded(self, number: int) -> memoryview:
        return self._tokens[self._starts[number] : self._starts[number + 1]]


class BytePairTokenizer:
    """Gemma's byte-pair encoding, by a table of tokens that is mapped into memory and not read.

    tokenizer.json lists 514,906 merges, but they are implied by the order of the tokens: every way to cut a token into
    two tokens, earlier tokens first, then longer left halves. So the tokens alone, which a pull writes into a table,
    are enough to cut texts as the `tokenizers` package would, which takes 0.4 s of CPU time and 130 MB more to start.
    """

    def __init__(self, table: TokenTable) -> None:
        self._table, self._prefix = table, table.prefix
        self._word = lru_cache(KEPT)(self._merged)
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

    def single_characters(self) -> list[int]:
        return self._table.characters

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

    def _symbols(self, word: str) -> tuple[list[str], list[int]]:
        """A word's characters; those that are no tokens as bytes, the last of which stands for the character."""
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

    def _merged(self, word: str) -> list[tuple[int, int]]:
        """A word's tokens, and how many characters each stands for.

        Neighbours are joined into tokens, the earliest token of the vocabulary first, then the leftmost place.
        """
        symbols, lengths = self._symbols(word)
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
