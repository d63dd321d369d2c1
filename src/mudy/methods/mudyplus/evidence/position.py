"""Where a phrase stands: what a long text is about is named early."""

from __future__ import annotations

import numpy as np

from mudy.methods.mudyplus.evidence.places import Numbers, Places


def first_position(places: Places) -> Numbers:
    """log(1 + words before the phrase's first place): sees how soon it is named."""
    found: Numbers = np.log1p(np.array([starts[0] for starts in places.starts], dtype=np.float64))
    return found
