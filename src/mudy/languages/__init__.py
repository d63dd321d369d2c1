"""Languages: which one a text is in, and the taggers that were checked and can be fetched."""

from mudy.languages.detection import detect, mismatch
from mudy.languages.names import LANGUAGE_NAMES, name_of
from mudy.languages.taggers import TAGGERS, TaggerStatus, locate_tagger, pull_tagger, remove_tagger, tagger_statuses

__all__ = [
    "LANGUAGE_NAMES",
    "TAGGERS",
    "TaggerStatus",
    "detect",
    "locate_tagger",
    "mismatch",
    "name_of",
    "pull_tagger",
    "remove_tagger",
    "tagger_statuses",
]
