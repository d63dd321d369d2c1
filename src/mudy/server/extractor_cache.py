"""Extractors by method and settings, all on the models of one."""

from __future__ import annotations

from collections import OrderedDict
from functools import cache

from mudy.extractor import GATHERED_TEXTS, Extractor
from mudy.methods import method_class
from mudy.server.jobs import Key

KEPT = 32  # extractors; each is small, the models are shared


class Makers:
    """The extractors of late, each made once."""

    def __init__(self, root: Extractor, kept: int = KEPT) -> None:
        self._root, self._most = root, kept
        self._made: OrderedDict[Key, Extractor] = OrderedDict()

    def __getitem__(self, key: Key) -> Extractor:
        """The extractor for a key, with its models loaded."""
        maker = self._made.get(key) or self._root.using(key.method, None, **dict(key.settings))
        assert maker.scorer
        self._made[key] = maker
        self._made.move_to_end(key)
        if len(self._made) > self._most:
            self._made.popitem(last=False)
        return maker

    def __len__(self) -> int:
        return len(self._made)


@cache
def together(method: str) -> int:
    """How many texts a method computes at once."""
    return GATHERED_TEXTS if hasattr(method_class(method), "score_many") else 1
