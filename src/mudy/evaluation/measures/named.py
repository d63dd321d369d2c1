"""Measures by name: "F1", "MAP@10", "F1@O", "SemF1@M"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mudy.errors import SettingError, unknown
from mudy.evaluation.measures.measure import Measure, MeasureKind
from mudy.evaluation.measures.outcome import Depth
from mudy.evaluation.measures.precision_recall import F1, P, R
from mudy.evaluation.measures.rank_based import MAP, nDCG
from mudy.evaluation.measures.semantic import SEMANTIC_NAMES, PhraseVectors, semantic_kinds

MEASURE_NAMES = (*(kind.name for kind in (P, R, F1, MAP, nDCG)), *SEMANTIC_NAMES)
NamedMeasure = tuple[str, int | Depth | None]  # a kind, and its depth; None where none is named


def parse_measure(text: str) -> NamedMeasure:
    """A kind and its depth: "MAP@10", "F1@M", or "F1" without a depth. Upper and lower case are the same."""
    name, at, depth = text.strip().partition("@")
    known = {kind.lower(): kind for kind in MEASURE_NAMES}
    if name.lower() not in known:
        raise SettingError(unknown("measure", name, MEASURE_NAMES))
    if not at:
        return known[name.lower()], None
    if depth.upper() in list(Depth):
        return known[name.lower()], Depth(depth.upper())
    if not re.fullmatch("[1-9][0-9]*", depth):
        raise SettingError(f"{text!r}: the depth of a measure is a number from 1 up, M or O, such as F1@10 or F1@M.")
    return known[name.lower()], int(depth)


def named_measures(
    named: Iterable[NamedMeasure], depths: Sequence[int | Depth], vectors: PhraseVectors
) -> list[Measure]:
    """The measures, each once; a kind that names no depth has each of `depths`."""
    kinds: dict[str, MeasureKind] = {kind.name: kind for kind in (P, R, F1, MAP, nDCG)}
    kinds |= semantic_kinds(vectors)
    measures = [kinds[name] @ k for name, depth in named for k in (depths if depth is None else (depth,))]
    return list({str(measure): measure for measure in measures}.values())
