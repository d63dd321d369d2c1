"""How long the work in the queue will take, estimated from the batches so far."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from mudy.server.jobs import ExtractorKey

NEWEST_WEIGHT = 0.3  # of the last batch in the moving average
WORDS_PER_TEXT = 20  # a text costs as much as this many words, whatever its length
LONGEST_RETRY_AFTER = 60  # seconds


class Eta:
    """Seconds per word, by method. Settings can change the rate; the next batches correct it."""

    def __init__(self, workers: int = 1) -> None:
        self.workers = workers  # processes that share the work
        self._rates: dict[str, float] = {}

    def learn(self, key: ExtractorKey, words: Iterable[int], seconds: float) -> None:
        """Add a batch of texts with these numbers of words to the average."""
        rate = seconds / sum(map(_cost, words))
        known = self._rates.get(key.method, rate)
        self._rates[key.method] = known + NEWEST_WEIGHT * (rate - known)

    def expected(self, work: Iterable[tuple[ExtractorKey, int]]) -> float | None:
        """Seconds for texts, given as key and number of words; None if a method was never used yet."""
        total = 0.0
        for key, words in work:
            rate = self._rates.get(key.method)
            if rate is None:
                return None
            total += rate * _cost(words)
        return total

    def retry_after(self, work: Iterable[tuple[ExtractorKey, int]]) -> int:
        """Seconds until about half of the waiting work is done; methods without a rate count as nothing."""
        known = ((key, words) for key, words in work if key.method in self._rates)
        return max(1, min(LONGEST_RETRY_AFTER, ceil((self.expected(known) or 0) / 2 / self.workers)))


def _cost(words: int) -> int:
    return words + WORDS_PER_TEXT
