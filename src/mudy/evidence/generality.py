"""How little a word says by itself: "people", "time" and "money" stand in every text.

The words are ours: nouns that seldom say what a text is about, chosen by hand. Where one of them is the subject the
text repeats it, so the evidence fades with every place and is gone at ten.
"""

from __future__ import annotations

import numpy as np

from mudy.evidence.places import Numbers, Places
from mudy.porter import stem

_GENERIC = """
ability account act action activity addition advantage age aim amount answer approach area article aspect attempt
attention author autumn basis beginning behavior benefit bit building business case cause chance change chapter child
children choice circumstance comment comparison concept concern condition consequence contribution country couple
course date day deal decade decision degree detail development difference difficulty direction discussion distance
effect effort element end event everybody evidence example experience experiment fact factor feature figure folk form
friend front fun function future goal group guy half hand help home hope hour house idea importance improvement
increase individual information instance interest issue item job kind knowledge lack level life line list look lot
luck majority man matter mean means measure member men method mind minute mistake moment money month morning name
nature need news night notion number object objective one opinion opportunity option order paper part past people
period person perspective picture place plan point position possibility practice presence price problem procedure
process product program progress property purpose quality quantity question range rate reader reason reference
relation relationship research result review right role room rule sample scale section sense series set share side
sight situation size solution something sort source space spring stage standard start state statement step stuff style
subject success summary summer support system table task technique term text thing thought thousand time tip today
tomorrow top topic total type understanding use user value variety version view volume water way week while winter
woman women word work world year yesterday zone
"""
GENERIC = frozenset(stem(word) for word in _GENERIC.split())  # of English
ENOUGH = 10  # places at which a word is taken for a subject


def generic(places: Places) -> Numbers:
    """Between 0 and 1: sees an everyday noun that is named a few times."""
    fading = np.maximum(0.0, 1 - np.log(places.counts) / np.log(ENOUGH))
    found: Numbers = fading * np.array([float(len(key) == 1 and key[0] in GENERIC) for key in places.keys])
    return found
