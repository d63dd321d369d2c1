"""Keyphrases of any text, found by a pre-trained language model without training data.

>>> from mudy import Extractor
>>> Extractor().extract("...").as_tuples()
"""

from mudy.errors import (
    CandidateTooLong,
    EndpointError,
    EndpointRefused,
    InputError,
    MissingExtra,
    ModelError,
    ModelUnavailable,
    MudyError,
    SettingError,
    UnsupportedModel,
)
from mudy.extractor import Extractor
from mudy.results import Coverage, Keyphrase, Result, ScoredOccurrence

__version__ = "0.1.0"

__all__ = [
    "CandidateTooLong",
    "Coverage",
    "EndpointError",
    "EndpointRefused",
    "Extractor",
    "InputError",
    "Keyphrase",
    "MissingExtra",
    "ModelError",
    "ModelUnavailable",
    "MudyError",
    "Result",
    "ScoredOccurrence",
    "SettingError",
    "UnsupportedModel",
]
