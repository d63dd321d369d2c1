"""How long a phrase is, and how long phrases of this text usually are."""

from __future__ import annotations

import numpy as np

from mudy.methods.mudyplus.evidence.containment import Containment
from mudy.methods.mudyplus.evidence.places import Numbers, Places

LONGEST = 4  # words; longer phrases count as phrases of four


def one_word(places: Places) -> Numbers:
    """1 for a single word, else 0: sees words, which are keyphrases less often than phrases are."""
    found: Numbers = (places.lengths == 1).astype(np.float64)
    return found


def usual_length(places: Places, containment: Containment) -> Numbers:
    """Log of the share of phrases that are as long as this one: sees whether a text speaks in words or in phrases.

    Each phrase counts as often as it stands by itself. One more of each length is counted, so that no share is 0.
    """
    lengths = np.minimum(places.lengths, LONGEST)
    alone = places.counts - containment.nested
    held = np.array([alone[lengths == length].sum() for length in range(1, LONGEST + 1)])
    shares = (held + 1) / (alone.sum() + LONGEST)
    found: Numbers = np.log(shares[lengths.astype(int) - 1])
    return found
