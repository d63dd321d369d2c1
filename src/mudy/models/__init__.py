"""Names -> folders with weights that transformers loads: of known models, local folders, ids on the Hugging Face hub.

Nothing is printed: progress, and the licence at the first pull, go to the `Report` that a caller passes.
"""

from mudy.models.cache import architecture, check_name, home, locate, pull, remove, signature, status, verify
from mudy.models.catalogue import KNOWN, KnownModel, PackageFile
from mudy.models.fetch import Report

__all__ = [
    "KNOWN",
    "KnownModel",
    "PackageFile",
    "Report",
    "architecture",
    "check_name",
    "home",
    "locate",
    "pull",
    "remove",
    "signature",
    "status",
    "verify",
]
