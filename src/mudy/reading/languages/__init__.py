"""The language of a text, and the checked taggers that can be downloaded."""

from mudy.reading.languages.detection import AUTO, LANGUAGE_NAMES, Detection, detect, detection_of, mismatch, name_of
from mudy.reading.languages.taggers import (
    TAGGERS,
    TaggerStatus,
    locate_tagger,
    pull_tagger,
    remove_tagger,
    tagger_statuses,
)

__all__ = [
    "AUTO",
    "LANGUAGE_NAMES",
    "TAGGERS",
    "Detection",
    "TaggerStatus",
    "detect",
    "detection_of",
    "locate_tagger",
    "mismatch",
    "name_of",
    "pull_tagger",
    "remove_tagger",
    "tagger_statuses",
]
