"""Every family of models with torch and transformers; and the machine that computes them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import torch

from mudy.engines import Compute
from mudy.errors import SettingError

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, slots=True)
class Machine:
    """A device, a precision, and limits."""

    device: torch.device
    dtype: torch.dtype
    threads: int | None = None  # None: as torch has it
    batch_tokens: int = 256  # rows per forward pass; memory grows with it, results do not change

    @classmethod
    def of(cls, compute: Compute) -> Self:
        """What the caller asks for, and what this machine does best for the rest."""
        try:
            chosen = torch.device(compute.device or best_device())
            torch.empty(0, device=chosen)
        except (RuntimeError, AssertionError) as error:
            raise SettingError(
                f"device is {compute.device!r}, which torch cannot use here; try {best_device()}."
            ) from error
        rows = compute.batch_tokens or (256 if chosen.type == "cpu" else 8192)  # more are no faster on a CPU
        dtype = _DTYPES[compute.dtype] if compute.dtype else best_dtype(chosen)
        return cls(chosen, dtype, compute.threads, rows)

    @contextmanager
    def at_work(self) -> Iterator[None]:
        with self.on_threads(), torch.inference_mode():
            yield

    @contextmanager
    def on_threads(self) -> Iterator[None]:
        """Work with our number of threads; what torch had before is put back."""
        before = torch.get_num_threads()
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        try:
            yield
        finally:
            torch.set_num_threads(before)


def best_device() -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: torch.device) -> torch.dtype:
    """float32 on a CPU; half precision where the device computes it well."""
    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.float16 if device.type == "mps" else torch.float32
