"""Memory while models are loaded: nothing is collected meanwhile, and what is left over is given back."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def loading() -> Iterator[None]:
    """Load libraries and models with Python's cyclic collector at rest.

    They make a million objects that stay, and the collector walks over all of them again and again: a sixth of a start.
    It is stopped by its threshold, since spaCy's readers switch the collector itself off and on again. What was made
    meanwhile counts as old afterwards; else the next few hundred objects would set off the walk that was saved.
    """
    threshold = gc.get_threshold()
    at_work = threshold[0] > 0  # else it rests for a caller, or for another thread, which will end that
    if at_work:
        gc.set_threshold(0)
    try:
        yield
    finally:
        if gc.get_freeze_count() == 0:  # else a caller froze objects of its own, to stay frozen
            gc.freeze()
            gc.unfreeze()
        if at_work:
            gc.set_threshold(*threshold)
        give_back()


def give_back() -> None:
    """Let the system have the memory that was freed: a tokeniser's parser leaves up to 190 MB that glibc would keep."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
