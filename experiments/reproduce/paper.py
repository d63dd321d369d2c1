"""The numbers that the paper prints (Kang and Yoon, SIGIR 2026), as plain data: F1@5, F1@10 and F1@15 in per cent.

Rows that the paper took over from other tables are not of one evaluation: SAMRank and Attention-Seeker on SemEval2017
are macro F1 over whole texts, PromptRank is without its position penalty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

F1Triple = tuple[float, float, float]  # at 5, 10, 15
PaperRow = Mapping[str, F1Triple]  # by data set
SETS = ("duc2001", "wikihow", "nus", "semeval2017")
LARGE = ("kptimes", "stackexchange", "kp20k")
DATASET_TITLES = {
    "duc2001": "DUC2001",
    "wikihow": "WikiHow",
    "nus": "NUS",
    "semeval2017": "SemEval2017",
    "inspec": "Inspec",
    "kptimes": "KPTimes",
    "stackexchange": "StackExchange",
    "kp20k": "KP20k",
}


def _triple(text: str) -> F1Triple:
    first, second, third = map(float, text.split("/"))
    return first, second, third


def _rows(sets: Sequence[str], text: str) -> dict[str, PaperRow]:
    """Lines of `name: a/b/c | a/b/c`, a cell for each data set; an empty cell is not printed."""
    named = (line.partition(":") for line in text.strip().splitlines())
    return {
        name.strip(): {data: _triple(cell) for data, cell in zip(sets, cells.split("|"), strict=True) if cell.strip()}
        for name, _, cells in named
    }


TABLE2 = _rows(
    SETS,
    """
    yake: 11.99/14.18/14.28 | 18.61/20.89/21.12 | 7.85/11.05/13.09 | 11.84/18.14/20.55
    textrank: 11.02/17.45/18.84 | 2.91/5.27/6.70 | 1.80/3.02/3.53 | 16.43/25.83/30.50
    singlerank: 19.14/23.86/23.43 | 7.59/11.77/13.51 | 2.98/4.51/4.92 | 18.23/27.73/31.73
    topicrank: 19.97/21.73/20.97 | 16.77/18.47/18.05 | 4.54/7.93/9.37 | 17.10/22.62/24.87
    multipartiterank: 21.70/24.10/23.62 | 17.89/20.44/20.40 | 6.17/8.57/10.82 | 17.39/23.73/26.87
    embedrank: 8.12/11.62/13.58 | 2.35/4.29/5.84 | 3.75/6.34/8.11 | 20.03/31.01/36.72
    jointgl: 26.03/28.76/29.07 | 13.02/16.24/17.84 | 10.82/13.86/16.06 | 18.05/26.00/29.27
    mderank: 13.05/17.31/19.13 | 15.25/18.80/19.06 | 15.24/18.33/17.95 | 22.81/32.51/37.18
    samrank llama3: 28.26/30.47/30.20 | 8.16/10.18/11.49 | 19.85/21.31/21.27 | 24.74/33.51/37.01
    attentionseeker llama3: 29.71/31.75/31.11 | 8.65/11.22/12.42 | 20.55/22.01/22.02 | 25.40/34.53/38.50
    empirical llama3: 30.43/32.31/29.76 | 10.97/15.08/16.25 | 20.53/23.19/22.61 | 23.84/33.06/37.53
    promptrank t5: 23.71/28.38/28.43 | 12.48/17.21/19.04 | 15.81/18.99/19.59 | 27.07/37.83/41.82
    promptrank gemma2: 29.28/33.54/33.59 | 14.90/19.96/21.43 | 21.62/23.85/23.32 | 27.31/38.02/41.60
    mudy t5: 26.99/31.95/31.97 | 15.54/20.37/22.26 | 16.84/19.95/20.41 | 27.02/37.83/41.82
    mudy gemma2: 32.77/36.86/36.00 | 16.59/21.84/23.47 | 21.62/24.15/24.28 | 27.39/38.36/41.84
    """,
)

# t5-base. "aligned" and "mixture" are the plain Gaussian with one of the two parts that the weighting adds to it.
TABLE3 = _rows(
    SETS,
    """
    caw: 25.85/29.35/29.05 | 13.67/17.85/19.78 | 16.78/19.91/20.48 | 27.04/37.94/41.95
    vanilla+aligned: 25.55/29.43/28.94 | 13.40/17.58/19.48 | 16.38/19.12/19.77 | 27.26/37.99/42.08
    vanilla+mixture: 23.41/27.34/28.40 | 13.05/17.55/19.64 | 15.36/18.51/19.69 | 26.60/37.57/41.49
    vanilla: 23.31/27.73/28.15 | 13.03/17.46/19.39 | 15.59/18.46/19.09 | 26.70/37.50/41.59
    mga: 26.64/31.34/31.58 | 15.36/19.99/21.88 | 16.10/19.16/19.59 | 27.10/37.77/41.74
    G: 26.25/31.52/31.07 | 14.49/19.55/21.25 | 15.98/19.08/19.55 | 27.11/37.80/41.69
    L: 25.05/29.72/30.02 | 14.27/19.12/20.75 | 15.98/18.77/19.69 | 27.19/37.75/41.70
    mudy: 26.99/31.95/31.97 | 15.54/20.37/22.26 | 16.84/19.95/20.41 | 27.02/37.83/41.82
    """,
)

# Sentences on each side of the window -> F1@15, t5-base.
TABLE4: Mapping[int, Mapping[str, float]] = {
    1: {"duc2001": 31.97, "wikihow": 22.26, "nus": 20.41},
    2: {"duc2001": 32.09, "wikihow": 22.56, "nus": 20.41},
    3: {"duc2001": 32.28, "wikihow": 22.51, "nus": 20.37},
}

TABLE5 = _rows(
    SETS,
    """
    gpt5 vanilla: 26.57/26.27/23.75 | 9.98/12.23/12.82 | 23.95/25.86/23.36 | 22.53/31.23/36.46
    gpt5 candidate: 34.12/35.51/33.96 | 11.91/14.43/15.52 | 21.62/21.54/20.15 | 25.19/35.85/40.37
    """,
)

TABLE6 = _rows(
    LARGE,
    """
    attentionseeker llama3: 8.71/8.81/8.67 | 7.36/8.10/8.19 | 16.05/14.73/13.22
    promptrank t5: 14.30/14.99/13.95 | 15.27/12.64/10.37 | 15.75/16.02/14.64
    mudy t5: 18.00/16.91/14.91 | 16.72/13.16/10.56 | 16.32/16.40/14.87
    """,
)

# PromptRank with its position penalty, t5-base: not in the paper, but in PromptRank's own README.
PROMPTRANK_README: PaperRow = {
    "duc2001": (27.39, 31.59, 31.01),
    "nus": (17.24, 20.13, 20.12),
    "semeval2017": (27.14, 37.76, 41.57),
    "inspec": (31.73, 37.88, 38.17),
}

# Table 1. Topic drift is printed in the paper; documents, words and keyphrases are those of the public copies as
# published code loads them (DUC2001's 308 are the paper's; the copies hold 307).
DRIFT = {"duc2001": 0.47, "wikihow": 0.50, "nus": 0.41, "semeval2017": 0.38}
DOCUMENT_COUNTS = {"duc2001": 308, "wikihow": 500, "nus": 211, "semeval2017": 494, "inspec": 500}
KEYPHRASE_COUNTS = {"duc2001": 8.08, "wikihow": 15.6, "nus": 11.66, "semeval2017": 17.29}
WORD_COUNTS = {"wikihow": 996}

# Where the curves of the sensitivity figures have their maximum, t5-base.
BEST_SIGMA = {"duc2001": "0.3–0.5", "wikihow": "0.3–0.5", "nus": "0.3–0.5", "semeval2017": "0.1"}
BEST_KAPPA = {"duc2001": "0.1", "wikihow": "0.8", "nus": "1.0", "semeval2017": "0.1"}
BEST_LAMBDA = {"duc2001": "0.9", "wikihow": "1.0", "nus": "0.1", "semeval2017": "0.1"}
