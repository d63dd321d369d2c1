"""How good ranked keyphrases are: measures as values, `[F1 @ 5, F1 @ 10, F1 @ 15]`, averaged in two ways.

A measure is computed over `Outcome`s, one per document, and is given in per cent:

    >>> outcomes = [Outcome("a", ["oil spill", "tanker"], ["oil spills", "alaska"])]
    >>> (F1 @ 5)(outcomes), (P @ 5)(outcomes, MACRO)
    (50.0, 50.0)

MICRO is PromptRank's averaging, which MDERank and MUDY share; MACRO that of JointGL, SAMRank and Attention-Seeker.
Numbers of one are not comparable with numbers of the other.
"""

from mudy.evaluation.measures.averaging import (
    AVERAGINGS,
    MACRO,
    MICRO,
    Averaging,
    Counts,
    promptrank_counts,
    stem_counts,
)
from mudy.evaluation.measures.measure import DEPTHS, FloatArray, Interval, Measure
from mudy.evaluation.measures.outcome import Depth, Outcome
from mudy.evaluation.measures.paired import Comparison, compare, paired_t_test
from mudy.evaluation.measures.precision_recall import F1, P, R
from mudy.evaluation.measures.presence import present_and_absent
from mudy.evaluation.measures.rank_based import MAP, nDCG

__all__ = [
    "AVERAGINGS",
    "DEPTHS",
    "F1",
    "MACRO",
    "MAP",
    "MICRO",
    "Averaging",
    "Comparison",
    "Counts",
    "Depth",
    "FloatArray",
    "Interval",
    "Measure",
    "Outcome",
    "P",
    "R",
    "compare",
    "nDCG",
    "paired_t_test",
    "present_and_absent",
    "promptrank_counts",
    "stem_counts",
]
