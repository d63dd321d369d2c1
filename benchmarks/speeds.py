"""CPU-seconds for one of our texts (about 700 words) on one thread, by method and speed: `python -m benchmarks.speeds`.

With --others, KeyBERT, YAKE and yake-rust are measured in the same run; benchmarks/requirements.txt lists them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from statistics import median

from benchmarks.measure import cost_of
from benchmarks.texts import read
from mudy.options import Speed

CONTENDERS: tuple[tuple[str, Speed], ...] = (
    ("mudyplus", "quick"),
    ("mudyplus", "fast"),
    ("mudyplus", "exact"),
    ("mudy", "fast"),
    ("embedrank", "exact"),
    ("yake", "exact"),
)
WARM = "Models are loaded before the clock starts."


def ours(method: str, speed: Speed) -> Callable[[str], object]:
    from mudy import Extractor

    return Extractor(method, speed=speed, threads=1).extract


def with_torch() -> Callable[[str], object]:
    """MUDY+ computed by torch, which has float32 alone."""
    from mudy import Extractor
    from mudy.backbones.causal import CausalBackbone
    from mudy.backbones.compute import Machine
    from mudy.backbones.torch_encoder import TorchEncoder
    from mudy.models import locate

    machine, extractor = Machine.of("cpu", threads=1), Extractor("mudyplus", speed="exact", threads=1)
    backbone = CausalBackbone.load(locate("gemma3-270m"), machine, "gemma3-270m")
    encoder = TorchEncoder.load(locate("minilm-l6"), machine, "minilm-l6")
    vars(extractor).update(backbone=lambda: backbone, encoder=lambda: encoder)
    return extractor.extract


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=3)
    parser.add_argument("--others", action="store_true", help="KeyBERT, YAKE and yake-rust too")
    parser.add_argument("--torch", action="store_true", help="the torch engine too")
    arguments = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"  # before torch is imported
    contenders = {f"{method} {speed}": ours(method, speed) for method, speed in CONTENDERS}
    if arguments.torch:
        contenders["mudyplus exact, torch"] = with_torch()
    if arguments.others:
        from benchmarks.peers import other_packages

        contenders |= other_packages()
    for extract in contenders.values():
        extract(WARM)
    costs: dict[str, list[float]] = {name: [] for name in contenders}
    for text in read(arguments.texts):  # text by text, so that a slow minute falls on all of them
        for name, extract in contenders.items():
            costs[name].append(cost_of(partial(extract, text.text))[1].cpu)
    for name, found in costs.items():
        print(f"{name:26} {median(found):.2f}")


if __name__ == "__main__":
    main()
