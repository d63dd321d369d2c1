"""Where and how to compute: settings of a machine, not of a method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mudy._support.validation import check_options, declared

Precision = Literal["float32", "bfloat16", "float16"]
Speed = Literal["quick", "fast", "exact"]


@dataclass(frozen=True, slots=True)
class Compute:
    """Where and how to compute. All but `speed` and `dtype` leave results as they are."""

    device: str | None = declared(None, "cpu, cuda, mps, ...", none="a GPU if there is one")
    dtype: Precision | None = declared(None, "Precision.", none="float32 on a CPU, half precision on a GPU")
    threads: int | None = declared(None, "CPU threads.", none="all CPUs, or OMP_NUM_THREADS", least=1)
    batch_tokens: int | None = declared(
        None,
        "Tokens computed at once. A larger number takes more memory; results are the same.",
        none="256 on a CPU, else 8192",
        least=1,
    )
    speed: Speed | None = declared(
        None,
        "quick: no language model (mudyplus). fast: 8-bit arithmetic on a CPU, and less work in some methods.",
        none="fast for mudyplus, else exact",
    )

    def __post_init__(self) -> None:
        check_options(self)
