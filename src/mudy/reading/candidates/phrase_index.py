"""Many phrases found in a text in one pass (Aho and Corasick, Communications of the ACM 1975).

Time is linear in the text and the matches, whatever the number and the length of the phrases. A phrase is a sequence of
units: words, marks, white space. Nodes of the tree are numbered as they are made, so that the next unit of a phrase
mostly leads to the next number: four numbers a node, and a dictionary only where phrases part.
"""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from mudy._support.callbacks import cancellable, check
from mudy.errors import InputError

AT_ONCE, PER_UNIT = 10_000, 2  # at most so many matches in any stretch of a text, and so many for each of its units
ROOT, NONE = 0, -1
STRIDE = 4096  # units between two checks for cancellation


class Match(NamedTuple):
    """An occurrence of a phrase: units `start` up to, not including, `end`."""

    start: int
    end: int
    phrase: int  # index into the phrases


class PhraseIndex:
    """Phrases, to be found in any number of texts. Of two equal phrases the first one is found."""

    def __init__(self, phrases: Sequence[Sequence[str]]) -> None:
        self._lengths = [len(phrase) for phrase in phrases]
        self._numbers: dict[str, int] = {}  # of the units
        self._next = array("i", [NONE])  # node -> the unit that leads to the node numbered next
        self._branches: dict[int, dict[int, int]] = {}  # node -> unit -> any other node
        self._phrase = array("i", [NONE])  # node -> the phrase that ends here
        for number, phrase in enumerate(cancellable(phrases)):
            self._add(number, phrase)
        self._fallback = array("i", [ROOT]) * len(self._next)  # node -> that of its longest proper suffix in the tree
        self._shorter = array("i", [ROOT]) * len(self._next)  # node -> that of its longest suffix which is a phrase
        self._link()

    def places(self, units: Iterable[str]) -> list[Match]:
        """Every occurrence of every phrase, in text order, the shorter first; phrases that overlap everywhere raise."""
        matches: list[Match] = []
        reached, left = 0, AT_ONCE
        for match in self.matches(units):
            left = min(AT_ONCE, left + PER_UNIT * (match.end - reached)) - 1
            reached = match.end
            if left < 0:
                raise InputError(
                    f"The given phrases overlap too much: they have more than {AT_ONCE:,} occurrences within a few "
                    "words of the text. Leave out those that are parts of others."
                )
            matches.append(match)
        return sorted(matches)

    def matches(self, units: Iterable[str]) -> Iterator[Match]:
        """Every occurrence of every phrase, in the order of their ends."""
        node = ROOT
        for position, unit in enumerate(cancellable(units, STRIDE), start=1):
            node = self._step(node, self._numbers.get(unit, NONE))
            ending = node if self._phrase[node] != NONE else self._shorter[node]
            while ending != ROOT:
                phrase = self._phrase[ending]
                yield Match(position - self._lengths[phrase], position, phrase)
                ending = self._shorter[ending]

    def _add(self, number: int, phrase: Sequence[str]) -> None:
        node = ROOT
        for name in phrase:
            unit = self._numbers.setdefault(name, len(self._numbers))
            child = self._child(node, unit)
            if child == NONE:
                child = len(self._next)
                if node + 1 == child:
                    self._next[node] = unit
                else:
                    self._branches.setdefault(node, {})[unit] = child
                self._next.append(NONE)
                self._phrase.append(NONE)
            node = child
        if node != ROOT and self._phrase[node] == NONE:
            self._phrase[node] = number

    def _child(self, node: int, unit: int) -> int:
        if self._next[node] == unit != NONE:
            return node + 1
        branches = self._branches.get(node)
        return NONE if branches is None else branches.get(unit, NONE)

    def _link(self) -> None:
        """Set what each node falls back to, nodes of shorter phrases first."""
        level = [ROOT]
        while level:
            below = []
            for node in cancellable(level, STRIDE):
                for unit, child in self._children(node):
                    suffix = ROOT if node == ROOT else self._step(self._fallback[node], unit)
                    self._fallback[child] = suffix
                    self._shorter[child] = suffix if self._phrase[suffix] != NONE else self._shorter[suffix]
                    below.append(child)
            level = below
            check()

    def _children(self, node: int) -> Iterator[tuple[int, int]]:
        if self._next[node] != NONE:
            yield self._next[node], node + 1
        yield from self._branches.get(node, {}).items()

    def _step(self, node: int, unit: int) -> int:
        """The node of the longest suffix, with one more unit, that begins a phrase."""
        if unit == NONE:
            return ROOT
        while (child := self._child(node, unit)) == NONE:
            if node == ROOT:
                return ROOT
            node = self._fallback[node]
        return child
