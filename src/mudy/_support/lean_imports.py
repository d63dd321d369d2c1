"""A process of our own starts without libraries that it does not need."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType

USES_TORCH = ("spacy_transformers", "spacy_curated_transformers")  # spaCy pipelines that compute with torch


class TorchlessThinc(MetaPathFinder):
    """Tells thinc, which spaCy computes with, that there is no torch: it would import it just to see whether there is.

    That takes more than a second, and methods without a language model have no use for it. Others import it later.
    """

    def find_spec(self, name: str, *_: object) -> None:
        if name == "torch" and _being_imported("thinc.compat"):
            raise ModuleNotFoundError("torch is not looked for on behalf of thinc", name=name)


class ShortSpacy(MetaPathFinder, Loader):
    """Gives spaCy an empty command line of its own: it brings a web client, and takes a quarter of spaCy's start.

    spaCy wants one function of it, which prints what is installed. The modules of that command line can be imported.
    """

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


def shorten_spacy() -> None:
    """For a process of our own, where nobody else uses spaCy."""
    sys.meta_path.insert(0, ShortSpacy())


def keep_torch_from_thinc() -> None:
    """For a process of our own, where nobody else uses thinc; and unless a spaCy pipeline may need both."""
    if not any(map(find_spec, USES_TORCH)):
        sys.meta_path.insert(0, TorchlessThinc())
