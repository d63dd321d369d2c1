"""Languages: which one a text is in, and the taggers that were checked and can be fetched."""

from mudy.reading.languages.detection import Detection, detect, detection_of, mismatch
from mudy.reading.languages.names import AUTO, LANGUAGE_NAMES, name_of
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
