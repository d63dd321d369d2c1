"""Whether this machine may have a GPU that torch uses, seen without importing torch."""

from __future__ import annotations

import platform
import sys
from pathlib import Path
from shutil import which

DEVICES = ("nvidia[0-9]*", "kfd", "dxg")  # of NVIDIA, of AMD, and of either under Windows' Linux


def may_have_gpu(devices: Path = Path("/dev")) -> bool:
    """False only where there is certainly none."""
    if sys.platform == "darwin":
        return platform.machine() == "arm64"
    if sys.platform == "win32":
        return which("nvidia-smi") is not None
    return any(True for pattern in DEVICES for _ in devices.glob(pattern))
