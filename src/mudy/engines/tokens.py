"""A text as a model's tokeniser cuts it, in characters of the document: spans become token positions here."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mudy.errors import CandidateTooLong, UnsupportedModel
from mudy.reading.document import Span

LONGEST_PROMPT = 512  # tokens kept free for the template and a candidate
WORD_MARKS = ("\u2581", "\u0120")  # how SentencePiece and byte-level tokenisers write a space


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


def fast_tokenizer(path: str) -> Any:
    """The model's tokeniser; only a fast one knows where in the text its tokens stand."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    if not tokenizer.is_fast:
        raise UnsupportedModel(f"{path} has no fast tokenizer (tokenizer.json), which is needed for character offsets.")
    return tokenizer
