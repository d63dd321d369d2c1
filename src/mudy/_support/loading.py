"""Loading models: no garbage collection meanwhile, freed memory returned to the system, bounded kernel caches."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

KERNEL_CACHES = ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY")  # oneDNN's own, and torch's in front of it
KERNELS_KEPT = 64  # as fast as 1,024: 16.4 and 16.6 CPU-seconds for 25 texts of 40 to 160 words


def bound_kernel_caches() -> None:
    """Let oneDNN keep few kernels, unless the caller has set how many; it asks before it is first used.

    It makes one of about half a megabyte for each shape of matrices that it multiplies, and keeps 1,024 of them twice.
    Texts have ever new lengths, so with speed="fast" memory grew by 800 MB over the first hundreds of them.
    """
    for name in KERNEL_CACHES:
        os.environ.setdefault(name, str(KERNELS_KEPT))


@contextmanager
def loading() -> Iterator[None]:
    """Load libraries and models without Python's cyclic garbage collection.

    They make a million objects that stay, and the collector walks over all of them again and again: a sixth of a start.
    It is stopped by its threshold, since spaCy's readers switch the collector itself off and on again. What was made
    meanwhile counts as old afterwards; else the next few hundred objects would set off the walk that was saved.
    """
    bound_kernel_caches()
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
    """Return freed memory to the system: a tokeniser's parser leaves up to 190 MB that glibc would keep."""
    if sys.platform == "linux":
        import ctypes

        with suppress(AttributeError):  # another C library than glibc
            ctypes.CDLL(None).malloc_trim(0)
