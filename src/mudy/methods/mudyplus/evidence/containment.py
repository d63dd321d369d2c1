"""How often a phrase stands inside longer ones: whether it is named by itself, or only as a part."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from mudy.methods.mudyplus.evidence.places import Key, Numbers, Places


@dataclass(frozen=True)
class Containment:
    """For each candidate, how many of its places lie inside longer candidates."""

    nested: Numbers

    @classmethod
    def of(cls, places: Places) -> Containment:
        by_key: dict[Key, list[int]] = defaultdict(list)
        for index, key in enumerate(places.keys):
            by_key[key].append(index)
        inside: dict[Key, set[int]] = defaultdict(set)  # starts of places inside longer ones
        for key, indices in by_key.items():
            starts = places.starts[indices[0]]
            for start, end in _proper_parts(len(key)):
                if key[start:end] in by_key:
                    inside[key[start:end]].update(place + start for place in starts)
        return cls(np.array([len(inside[key]) for key in places.keys], dtype=np.float64))


def _proper_parts(length: int) -> list[tuple[int, int]]:
    return [(start, end) for start in range(length) for end in range(start + 1, length + 1) if end - start < length]
