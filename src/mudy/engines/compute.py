"""Where and how to compute: settings of a machine, not of a method."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from mudy._support.validation import checked

Precision = Literal["float32", "bfloat16", "float16"]
Speed = Literal["quick", "fast", "exact"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where and how to compute. All but `speed` and `dtype` leave results as they are."""

    device: str | None = None  # None: a GPU where there is one
    dtype: str | None = None  # a Precision; None: float32 on a CPU, half precision on a GPU
    threads: int | None = None  # None: all CPUs, or as OMP_NUM_THREADS says
    batch_tokens: int | None = None  # None: 256 on a CPU, else 8192
    speed: Speed | None = None  # None: as the method has it

    def __post_init__(self) -> None:
        for name, value in {
            "device": checked("device", self.device, str | None),
            "dtype": checked("dtype", self.dtype, Precision | None),
            "threads": checked("threads", self.threads, int | None, least=1),
            "batch_tokens": checked("batch_tokens", self.batch_tokens, int | None, least=1),
            "speed": checked("speed", self.speed, Speed | None),
        }.items():
            object.__setattr__(self, name, value)


COMPUTE_NAMES = tuple(setting.name for setting in fields(Compute))
