"""What is computed together: items of similar length, or in their order, within a budget of tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from mudy.engines.tokens import Prompt

T = TypeVar("T")


def length_batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Indices of similar length together, each batch within a budget of padded tokens (at least one item)."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lambda i: (lengths[i], i)):
        if batch and (len(batch) + 1) * lengths[index] > budget:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


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


def of_one_shape(prompts: Sequence[Prompt], budget: int) -> Iterator[list[int]]:
    """Indices of prompts with equally many tokens and the candidate in the same place, within a budget of tokens."""
    order = sorted(range(len(prompts)), key=lambda i: (prompts[i].shape, i))
    for (length, _, _), same in groupby(order, key=lambda i: prompts[i].shape):
        yield from packs(same, lambda _, length=length: length, budget)  # type: ignore[misc]


def consecutive(lengths: Iterable[int]) -> Iterator[slice]:
    """Where each of several things stands that lie one after the other."""
    start = 0
    for length in lengths:
        yield slice(start, start := start + length)
