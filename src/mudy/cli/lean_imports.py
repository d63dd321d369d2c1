"""A command starts without libraries that it does not need."""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.util import find_spec

USES_TORCH = ("spacy_transformers", "spacy_curated_transformers")  # spaCy pipelines that compute with torch


class TorchlessThinc(MetaPathFinder):
    """Tells thinc, which spaCy computes with, that there is no torch: it would import it just to see whether there is.

    That takes more than a second, and methods without a language model have no use for it. Others import it later.
    """

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torch" and _being_imported("thinc.compat"):
            raise ModuleNotFoundError("torch is not looked for on behalf of thinc", name=name)


def _being_imported(name: str) -> bool:
    spec = getattr(sys.modules.get(name), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


def keep_torch_from_thinc() -> None:
    """For a process of our own, where nobody else uses thinc; and unless a spaCy pipeline may need both."""
    if not any(map(find_spec, USES_TORCH)):
        sys.meta_path.insert(0, TorchlessThinc())
