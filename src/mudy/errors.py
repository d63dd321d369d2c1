"""Everything that can go wrong, as one small tree.

    MudyError                  catch this to catch ours and only ours
    ├── InputError             the text, file or candidates given cannot be used
    │   └── CandidateTooLong   a phrase that does not fit into the model's window
    ├── SettingError           an unknown name or a value out of range (also a ValueError)
    ├── ModelError             a model is unavailable or unusable
    │   ├── ModelUnavailable   not in the cache and not to be fetched
    │   ├── UnsupportedModel   of an architecture that no backbone reads, or without a chat template
    │   └── EndpointError      a server that was asked gave no answer of use
    │       └── EndpointRefused    and will give none: its address, key or model is wrong
    ├── WorkerError            a worker process cannot be started, or ended before its work was done
    └── MissingExtra           an optional dependency is not installed (also an ImportError)

    TextWarning                a warning: the text is a log or a table, not prose
    LanguageWarning            a warning: the text may be in another language than it was read by, or lacks a segmenter
    ExampleWarning             a warning: examples that could not be used, or that do not help
    VocabularyWarning          a warning: entries of a vocabulary were left out, or a label has several meanings

An error says what was seen, what was needed, and what to do.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class MudyError(Exception):
    """The parent of all errors raised on purpose by this package."""


class InputError(MudyError):
    """The text, file or candidates given cannot be used."""


class CandidateTooLong(InputError):
    """A phrase that does not fit into the model's window."""


class SettingError(MudyError, ValueError):
    """An unknown name, or a value out of its range."""


class ModelError(MudyError):
    """A model is unavailable or unusable."""


class ModelUnavailable(ModelError):
    """A model that is neither in the cache nor to be fetched."""


class UnsupportedModel(ModelError):
    """A model of an architecture that no backbone reads, or that cannot do what a method asks of it."""


class EndpointError(ModelError):
    """A server that gave no answer of use."""


class EndpointRefused(EndpointError):
    """A server that will give none, whatever the text: its address, the key or the model's name is wrong."""


class WorkerError(MudyError):
    """A worker process that cannot be started, or that ended before its work was done."""


class MissingExtra(MudyError, ImportError):
    """An optional dependency that is not installed."""


class TextWarning(UserWarning):
    """A text that is not prose: a log, or a table of numbers."""


class LanguageWarning(UserWarning):
    """A text that is, or may be, in another language than it was read by, or was read without a segmenter."""


class ExampleWarning(UserWarning):
    """Examples that could not be used, or that do not improve the lists of other examples."""


class VocabularyWarning(UserWarning):
    """A vocabulary of which entries were left out, or in which one label has several meanings."""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """A sentence for an unknown name: what was seen, the nearest known name, and all known ones."""
    names = sorted(known)
    nearest = get_close_matches(name.lower(), names, n=1, cutoff=0.5)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    return f"Unknown {what} {name!r}.{hint} Known: {', '.join(names)}."
