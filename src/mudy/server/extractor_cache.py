"""Extractors by method and settings, all with the models of one."""

from __future__ import annotations

from collections import OrderedDict

from mudy.extraction.extractor import Extractor
from mudy.server.jobs import ExtractorKey

CACHE_SIZE = 32  # extractors; each is small, the models are shared


class ExtractorCache:
    """The most recently used extractors."""

    def __init__(self, root: Extractor, size: int = CACHE_SIZE) -> None:
        self._root, self._size = root, size
        self._extractors: OrderedDict[ExtractorKey, Extractor] = OrderedDict()

    def __getitem__(self, key: ExtractorKey) -> Extractor:
        """The extractor for a key, with its models loaded."""
        extractor = self._extractors.get(key) or self._root.using(key.method, None, **dict(key.settings))
        extractor.load()
        self._extractors[key] = extractor
        self._extractors.move_to_end(key)
        if len(self._extractors) > self._size:
            self._extractors.popitem(last=False)
        return extractor

    def __len__(self) -> int:
        return len(self._extractors)
