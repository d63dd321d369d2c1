"""The CPUs of this process; and its memory and imports, which are tuned only in MUDY's own command line and workers."""

import gc
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

USES_TORCH = ("spacy_transformers", "spacy_curated_transformers")  # spaCy pipelines that compute with torch
_owned = False  # whether this process belongs to MUDY


def usable_cpus() -> int:
    affinity: Any = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def own_process() -> None:
    """Tune this process; called by the main function of a process that runs nothing but MUDY."""
    global _owned
    _owned = True
    if not any(map(find_spec, USES_TORCH)):
        sys.meta_path.insert(0, TorchlessThinc())
    sys.meta_path.insert(0, ShortSpacy())


@contextmanager
def loading() -> Iterator[None]:
    """Load libraries and models; in a process of our own, without Python's cyclic garbage collection.

    They make a million objects that stay, and the collector walks over all of them again and again: a sixth of a start.
    It is stopped by its threshold, since spaCy's readers switch the collector itself off and on again. What was made
    meanwhile counts as old afterwards.
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


class TorchlessThinc(MetaPathFinder):
    """Tells thinc, which spaCy computes with, that there is no torch: it would import it, which takes over a second."""

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torch" and _being_imported("thinc.compat"):
            raise ModuleNotFoundError("torch is not looked for on behalf of thinc", name=name)


class ShortSpacy(MetaPathFinder, Loader):
    """Gives spaCy an empty command line: its own takes a quarter of the start. Its modules can be imported later."""

    def find_spec(self, name: str, path: Sequence[str] | None, *_: object) -> ModuleSpec | None:
        if name not in ("spacy.cli", "spacy.cli.info") or not _being_imported("spacy"):
            return None
        spec = ModuleSpec(name, self, is_package=name == "spacy.cli")
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations += [f"{folder}/cli" for folder in path or ()]
        return spec

    def exec_module(self, module: ModuleType) -> None:
        vars(module)["info"] = None


def _being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))
