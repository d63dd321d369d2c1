"""CPU-seconds for one of our texts (about 700 words), by method and speed: `python -m benchmarks.speeds`."""

from __future__ import annotations

import argparse
from statistics import mean
from time import process_time

from benchmarks.texts import read
from mudy import Extractor
from mudy.options import Speed

CONTENDERS: tuple[tuple[str, Speed], ...] = (
    ("mudyplus", "quick"),
    ("mudyplus", "fast"),
    ("mudyplus", "exact"),
    ("mudy", "fast"),
    ("embedrank", "exact"),
    ("yake", "exact"),
)


def seconds(extractor: Extractor, text: str) -> float:
    start = process_time()
    extractor.extract(text)
    return process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=3)
    arguments = parser.parse_args()
    known = [text.text for text in read(arguments.texts)]
    for method, speed in CONTENDERS:
        extractor = Extractor(method, speed=speed, threads=1)
        extractor.extract("Models are loaded before the clock starts.")
        print(f"{method:10} {speed:6} {mean(seconds(extractor, text) for text in known):.2f}")


if __name__ == "__main__":
    main()
