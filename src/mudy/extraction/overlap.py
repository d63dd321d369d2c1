"""No list holds two phrases of which one says what the other says.

A phrase is left out of a list if it has the stems of one chosen before it, or stands inside one, or contains one. Two
such phrases may stay together only where both have a life of their own: "heat pump" beside "heat pump tariff", if the
shorter one is named alone often enough, or the longer one is not a passing mention. Of phrases with one head that
differ in one word of three or more ("hybrid fuzzy modeling", "adaptive fuzzy modeling") the first stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from mudy._support.cancellation import cancellable

INSIDE = 2.0  # a part of a chosen phrase must stand alone so many times as often as that phrase stands
MORE_THAN_A_HEAD = 2  # words that two phrases share
OUTSIDE = 0.1  # a longer form of a chosen phrase must stand so many times as often as that one stands alone


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase as overlap sees it."""

    stems: frozenset[str]
    places: int  # where it stands, also inside longer phrases
    alone: int  # where it stands by itself
    head: str = ""  # the stem of its last word; empty where that is not known to be its head


def says_the_same(phrase: Mention, chosen: Mention) -> bool:
    """Whether a phrase adds nothing to one that was chosen before it."""
    if phrase.stems == chosen.stems:
        return True
    if phrase.stems < chosen.stems:
        return phrase.alone < INSIDE * chosen.places
    if phrase.stems > chosen.stems:
        return phrase.places < OUTSIDE * chosen.alone
    return differ_in_a_modifier(phrase, chosen)


def differ_in_a_modifier(phrase: Mention, other: Mention) -> bool:
    """Whether two phrases of one head share all words but one, and more than the head."""
    if not phrase.head or phrase.head != other.head:
        return False
    shared = phrase.stems & other.stems
    longest = max(len(phrase.stems), len(other.stems))
    return len(shared) >= MORE_THAN_A_HEAD and len(shared) >= longest - 1


def distinct_mentions(ranked: Sequence[Mention], most: int | None = None) -> list[int]:
    """Which of ranked phrases make the list, as indices: each is held against those chosen before it."""
    chosen: list[int] = []
    holding: dict[str, set[int]] = defaultdict(set)  # stem -> the chosen phrases that have it
    for index, mention in enumerate(cancellable(ranked, every=256)):
        if len(chosen) == most:
            break
        near: set[int] = set().union(*(holding[stem] for stem in mention.stems))
        if not any(says_the_same(mention, ranked[other]) for other in near):
            chosen.append(index)
            for stem in mention.stems:
                holding[stem].add(index)
    return chosen
