"""Keyphrases of any text, found by a pre-trained language model without training data.

>>> from mudy import Extractor
>>> Extractor().extract("...").as_tuples()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mudy._support import __version__ as __version__

if TYPE_CHECKING:
    from mudy.errors import (
        CandidateTooLong,
        EndpointError,
        EndpointRefused,
        InputError,
        LanguageWarning,
        MissingExtra,
        ModelError,
        ModelUnavailable,
        MudyError,
        SettingError,
        TextWarning,
        UnsupportedModel,
        VocabularyWarning,
        WorkerError,
    )
    from mudy.extraction.extractor import Extractor
    from mudy.extraction.results import ConceptMatch, Coverage, Keyphrase, Result, ScoredOccurrence, SectionResult
    from mudy.reading.candidates.vocabularies import Concept, Vocabulary

__all__ = [
    "CandidateTooLong",
    "Concept",
    "ConceptMatch",
    "Coverage",
    "EndpointError",
    "EndpointRefused",
    "Extractor",
    "InputError",
    "Keyphrase",
    "LanguageWarning",
    "MissingExtra",
    "ModelError",
    "ModelUnavailable",
    "MudyError",
    "Result",
    "ScoredOccurrence",
    "SectionResult",
    "SettingError",
    "TextWarning",
    "UnsupportedModel",
    "Vocabulary",
    "VocabularyWarning",
    "WorkerError",
]
_MODULES = {
    "Extractor": "extraction.extractor",
    **dict.fromkeys(
        ("ConceptMatch", "Coverage", "Keyphrase", "Result", "ScoredOccurrence", "SectionResult"), "extraction.results"
    ),
    **dict.fromkeys(("Concept", "Vocabulary"), "reading.candidates.vocabularies"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for, so that the command line can take care of interrupts first."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"mudy.{_MODULES.get(name, 'errors')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
