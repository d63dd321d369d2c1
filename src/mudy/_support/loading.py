"""Memory and start-up of processes that belong to MUDY: the command line and its workers. Other processes that import
MUDY keep their garbage collection, allocator and imports as they are.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from mudy._support import lean_imports

_owned = False  # whether this process belongs to MUDY


def own_process() -> None:
    """Tune this process; called by the main function of a process that runs nothing but MUDY."""
    global _owned
    _owned = True
    lean_imports.keep_torch_from_thinc()
    lean_imports.shorten_spacy()


@contextmanager
def loading() -> Iterator[None]:
    """Load libraries and models; in a process of our own, without Python's cyclic garbage collection.

    They make a million objects that stay, and the collector walks over all of them again and again: a sixth of a start.
    It is stopped by its threshold, since spaCy's readers switch the collector itself off and on again. What was made
    meanwhile counts as old afterwards; else the next few hundred objects would set off the walk that was saved.
    """
    if not _owned:
        yield
        return
    threshold = gc.get_threshold()
    at_work = threshold[0] > 0  # else another thread loads too, and will restore it
    if at_work:
        gc.set_threshold(0)
    try:
        yield
    finally:
        gc.freeze()
        gc.unfreeze()
        if at_work:
            gc.set_threshold(*threshold)
        give_back()


def give_back() -> None:
    """Return freed memory to the system, in a process of our own: glibc keeps what a tokeniser's parser used."""
    if _owned and sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
