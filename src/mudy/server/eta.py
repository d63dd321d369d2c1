"""How fast the work goes, learned from what was done."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil

from mudy.server.jobs import Key

NEWEST = 0.3  # weight of the last batch
LEAST_WORDS = 20  # a text costs as much as so many words before its first
LONGEST_WAIT = 60  # seconds that a client is told to wait at most


class Pace:
    """Seconds for each word, by method. Settings can change them; the next batches will tell."""

    def __init__(self) -> None:
        self._rates: dict[str, float] = {}

    def learn(self, key: Key, words: Iterable[int], seconds: float) -> None:
        rate = seconds / sum(map(_effort, words))
        known = self._rates.get(key.method, rate)
        self._rates[key.method] = known + NEWEST * (rate - known)

    def expected(self, work: Iterable[tuple[Key, int]]) -> float | None:
        """Seconds for some texts; None where a method was never used yet."""
        total = 0.0
        for key, words in work:
            rate = self._rates.get(key.method)
            if rate is None:
                return None
            total += rate * _effort(words)
        return total

    def retry_after(self, work: Iterable[tuple[Key, int]]) -> int:
        """Seconds until about half of the waiting work is done; what is not known counts as nothing."""
        known = ((key, words) for key, words in work if key.method in self._rates)
        return max(1, min(LONGEST_WAIT, ceil((self.expected(known) or 0) / 2)))


def _effort(words: int) -> int:
    return words + LEAST_WORDS
