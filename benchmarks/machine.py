"""What machine this is, so that a number can be read."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from mudy.evaluation import experiment

PACKAGES = (*experiment.PACKAGES, "tokenizers", "keybert", "sentence-transformers", "yake")
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


def machine() -> dict[str, Any]:
    """Processor, caches, memory, and the versions of all that computes."""
    import psutil
    import torch

    return {
        **experiment.machine(),
        "model": _model(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "physical_cores": psutil.cpu_count(logical=False),
        "caches": _caches(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def described(known: Mapping[str, Any]) -> list[str]:
    """The same in words."""
    caches = ", ".join(f"{name} {size}" for name, size in known["caches"].items()) or "not known"
    return [
        f"Processor: {known['model']} ({known['processor']}, {known['instructions']}), {known['cores']} cores "
        f"({known['physical_cores']} physical); caches of a core: {caches}; memory: {known['memory_gb']} GB",
        f"{known['system']}, Python {known['python']}, "
        + ", ".join(f"{name} {number}" for name, number in known["versions"].items()),
    ]


def _model() -> str:
    """The processor's own name, where the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _caches() -> dict[str, str]:
    """Level and kind -> size; nothing where the system does not tell."""
    found = {}
    for folder in sorted(CACHES.glob("index*")):
        level, kind, size = ((folder / name).read_text(encoding="utf-8").strip() for name in ("level", "type", "size"))
        found[f"L{level}{'' if kind == 'Unified' else f' {kind.lower()}'}"] = size
    return found


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
