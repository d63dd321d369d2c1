"""How often a phrase comes back: a text repeats what it is about."""

from __future__ import annotations

import numpy as np

from mudy.methods.mudyplus.evidence.containment import Containment
from mudy.methods.mudyplus.evidence.places import Numbers, Places


def dampened(counts: Numbers) -> Numbers:
    """log(1 + log n): the second place says much, the twentieth little; 0 for one place or none."""
    found: Numbers = np.log1p(np.log(np.maximum(counts, 1.0)))
    return found


def own_frequency(places: Places, containment: Containment) -> Numbers:
    """Sees how often a phrase is named by itself, not as a part of a longer one."""
    return dampened(places.counts - containment.nested)


def nested_frequency(places: Places, containment: Containment) -> Numbers:
    """Sees how much more often it is named if its places inside longer phrases count too."""
    found: Numbers = dampened(places.counts) - own_frequency(places, containment)
    return found
