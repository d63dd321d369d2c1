"""Languages: which one a text is in, and the taggers that were checked and can be fetched."""

from mudy.languages.detection import detect, mismatch
from mudy.languages.names import NAMES, name_of
from mudy.languages.taggers import TAGGERS, TaggerStatus, locate, pull, remove, status

__all__ = ["NAMES", "TAGGERS", "TaggerStatus", "detect", "locate", "mismatch", "name_of", "pull", "remove", "status"]
