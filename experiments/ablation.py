"""What each part of MUDY adds: every reading of the weighting, with every factor of attention, on the same documents.

    python experiments/ablation.py gemma3-270m duc2001.jsonl:20 wikihow.jsonl:12 --dtype bfloat16

A likelihood is computed once for each reading of the weighting, G and L once; the rest is recombination (Eqs. 11-12).
Data sets are JSON lines, each with the number of documents to take after a colon. Texts are read as their published
protocol says.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from dataclasses import replace
from typing import Any

from mudy import Extractor
from mudy.candidates import Candidate
from mudy.evaluation.datasets import load
from mudy.evaluation.measures import F1, MICRO, Outcome
from mudy.methods.base import OccurrenceScore
from mudy.methods.mudy import Mudy
from mudy.methods.sections import Place, Section
from mudy.protocol import promptrank_candidates
from mudy.ranking import rank
from mudy.text import Document, Span

PUBLISHED: dict[str, Any] = {"sigma": 0.3, "kappa": 0.1, "least_weight": 0.0, "mixture": False}
WEIGHTINGS: dict[str, dict[str, Any]] = {
    "none": {"weighting": False},
    "gentle": {"sigma": 1.0, "kappa": 0.4, "least_weight": 0.5, "mixture": False},
    "published": PUBLISHED,
    "published, full layers": {**PUBLISHED, "weight_sliding": False},
}
FACTORS = ("none", "G", "L", "GxL")
MEASURES = (F1 @ 5, F1 @ 10, F1 @ 15)


def main() -> None:
    asked = arguments()
    extractor = Extractor(model=asked.model, threads=asked.threads, dtype=asked.dtype)
    backbone = extractor.backbone()
    sliding = getattr(backbone.model.config, "sliding_window", None)  # type: ignore[attr-defined]
    readings = {name: s for name, s in WEIGHTINGS.items() if sliding or "full" not in name}
    print("| data set | weighting | " + " | ".join(f"{factor}" for factor in FACTORS) + " |")
    print("|---|---|" + "---|" * len(FACTORS))
    for path, _, count in (word.rpartition(":") for word in asked.data):
        data = load(path, limit=int(count))
        outcomes: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
        for number, record in enumerate(data.documents, start=1):
            document = extractor.tagger.document(*data.promptrank_text(record))
            found = promptrank_candidates(document)
            for key, scores in scored(backbone, document, found, readings).items():
                phrases = [k.text.lower() for k in rank(document.text, found, scores, merge=False)]
                outcomes[key].append(Outcome(record.id, tuple(phrases), tuple(record.keyphrases), len(scores)))
            print(f"\r{data.name}: {number} of {len(data.documents)}", end="", file=sys.stderr, flush=True)
        for reading in readings:
            cells = ("/".join(f"{m(outcomes[reading, factor], MICRO):.1f}" for m in MEASURES) for factor in FACTORS)
            print(f"| {data.name} ({len(data.documents)}) | {reading} | {' | '.join(cells)} |", flush=True)


def scored(
    backbone: Any, document: Document, found: list[Candidate], readings: dict[str, dict[str, Any]]
) -> dict[tuple[str, str], list[OccurrenceScore]]:
    """Scores of every occurrence under every reading and factor."""
    results = {}
    base = Mudy(backbone, weighting=False, attention="GxL").score(document, found)
    for name, settings in readings.items():
        method = Mudy(backbone, **settings, attention="none")
        own = base if name == "none" else method.score(document, found)
        for factor in FACTORS:
            chosen = replace(method, attention=factor)
            results[name, factor] = [combined(chosen, o, b) for o, b in zip(own, base, strict=True)]
    return results


def combined(method: Mudy, own: OccurrenceScore, base: OccurrenceScore) -> OccurrenceScore:
    """Eqs. 11-12 from parts known already."""
    section = Section(own.section, Span(0, 0), (), ())
    place = Place(own.candidate, own.occurrence)
    return method.combine(place, section, own.parts["p"], base.parts["G"], base.parts["L"])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("data", nargs="+", metavar="FILE:COUNT")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--dtype")
    return parser.parse_args()


if __name__ == "__main__":
    main()
