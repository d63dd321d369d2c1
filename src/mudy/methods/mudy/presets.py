"""Settings by model, as measured, and by data set, as published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Where attention tells most: T5 and Gemma 2 as published, the others as measured on development data.
SAM_LAYERS: Mapping[tuple[str, int], tuple[int, ...]] = {
    ("t5", 12): (9,),
    ("gemma2", 42): (23,),
    ("gemma3_text", 18): (6,),
    ("llama", 30): (22,),
}


# One setting for all documents, as measured on development data for the models that we embed.
# In a text of one paragraph attention tells little, so lambda grows with a text up to 400 words.
# Both do without the mixture and without L, which cost F1 on most sets (experiments/README.md). Gemma 3 did better with
# the fifteen of its eighteen layers left alone that see only the last 512 tokens; why is not known.
RECOMMENDED: Mapping[tuple[str, int], Mapping[str, Any]] = {
    ("gemma3_text", 18): {"mixture": False, "attention": "G", "weight_sliding": False, "lambda_words": 400},
    ("llama", 30): {
        "mixture": False,
        "attention": "G",
        "lambda_": 2.0,
        "lambda_words": 400,
        "section_tokens": 1024,  # all of its layers see a whole section: longer ones take more time and memory
    },
}

# The published settings, tuned per data set by the authors: for comparison, not for use. "mgrank" is the authors'
# earlier code (HgKang1/MGRank) where a field can follow it; it also counts padding rows as aligned and scores the last
# sentences of a text in windows of their own, which we do not.
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "mgrank": {"lambda_outside": True, "aligned_rows": "tail"},
    "t5-duc2001": {"kappa": 0.1, "lambda_": 0.9},
    "t5-wikihow": {"kappa": 0.8, "lambda_": 1.0},
    "t5-nus": {"kappa": 1.0, "lambda_": 0.1},
    "t5-semeval2017": {"kappa": 0.1, "lambda_": 0.1},
    "gemma2-duc2001": {"kappa": 0.4, "lambda_": 0.7},
    "gemma2-wikihow": {"kappa": 0.1, "lambda_": 1.0},
    "gemma2-nus": {"kappa": 0.8, "lambda_": 0.7},
    "gemma2-semeval2017": {"kappa": 0.1, "lambda_": 0.1},
}
