"""MUDY's settings, and their values by model and data set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol

from mudy.engines.interfaces import AlignedRows, Floats, Rule
from mudy.methods.method import setting
from mudy.methods.promptrank import PromptMethod
from mudy.reading.document import Span

Attention = Literal["GxL", "G", "L", "none"]


class SpanEncoder(Protocol):
    """Gives a vector for each span of a text, in its context."""

    def span_states(self, text: str, spans: Sequence[Span], contexts: Sequence[Span]) -> Floats: ...


@dataclass(frozen=True)
class MudySettings(PromptMethod):
    """The models that it asks, and the hyper-parameters of the paper and of its authors' code, and ours."""

    encoder: SpanEncoder | None = None  # whose embeddings say which candidates are related; T5 uses its own encoder
    _: KW_ONLY

    # Candidate-aware weighting (Sec. 4.2)
    weighting: bool = setting(True, "Pull attention towards each occurrence; false: read the text as it is (Table 3).")
    sigma: float = setting(0.3, "Initial spread of the view around an occurrence, in units (Eq. 2).", above=0)
    kappa: float = setting(0.1, "Spread added per layer: how quickly the view around a phrase widens (Eq. 2).", least=0)
    unit: float = setting(50.0, "Tokens in a unit of spread.", above=0)
    sigma_cap: float | None = setting(8.0, "Largest spread, in units, as in the authors' decoder-only code; none: any.")
    mixture: bool = setting(True, "Also look where the most similar candidates stand (Eqs. 3-4).")
    pi: float = setting(0.7, "Share of the occurrence itself in the mixture (Eq. 3).", least=0)
    pi_related: float = setting(0.1, "Share of each similar candidate in the mixture (Eq. 3).", least=0)
    sigma_related: tuple[float, ...] = setting(
        (0.15, 0.10, 0.05), "Spreads around similar candidates, most similar first; their number is k_sem.", above=0
    )
    mixture_floor: float = setting(0.3, "Weights below this share of the largest become 0; 0: keep all.", least=0)
    least_weight: float = setting(0.0, "Weights are mapped from 0..1 to least_weight..1 (ours).", least=0, most=1)
    k_attn: int = setting(15, "Best-aligned tokens that each head keeps (Eq. 7); 0 for none.", least=0)
    aligned_rows: AlignedRows = setting("candidate", "Rows that count in Eq. 5: candidate, or tail (also those after).")
    rule: Rule | None = setting(None, "How weights act: logit (Eq. 8) or post_softmax; none: that of the model.")
    weighted_layers: tuple[float, float] = setting((0.0, 1.0), "Share of the layers from and up to which weights act.")
    weight_sliding: bool = setting(True, "Gemma 2 and 3: weights also act in sliding-window layers.")
    keep_sink: bool = setting(True, "Decoder-only: the first token, an attention sink, keeps full weight.")
    ignore_blank_piece: bool = setting(True, "T5: lone word-boundary tokens are never aligned, nor in a mixture.")

    # Multi-granular attention (Sec. 4.3)
    attention: Attention = setting("GxL", "Which attention raises a score: GxL, G, L, or none (Table 3).")
    sam_layers: tuple[int, ...] | None = setting(None, "Layers whose attention is averaged; none: the best.")
    w: int = setting(1, "Sentences on each side of an occurrence in its local window.", least=1)
    normalise_global: bool | None = setting(None, "Divide G by its mean; none: in decoder-only models.")
    normalise_local: bool = setting(True, "Divide L by its mean over a window, so that windows can be compared.")
    as_clip: float | None = setting(2.5, "Largest attention score AS; none for no limit.")

    # How attention raises the likelihood (Eq. 12)
    lambda_: float = setting(1.0, "Weight of attention against likelihood (Eq. 12).", least=0)
    lambda_words: int = setting(0, "In texts of fewer words lambda shrinks with their length squared (ours).", least=0)
    lambda_outside: bool = setting(False, "lambda log(1 + AS), as in earlier code, in place of log(1 + lambda AS).")

    # Less work for nearly the same scores
    leaders: int | None = setting(None, "Weight only so many phrases that lead a section (ours); none: all.", least=1)
    one_reading: bool = setting(False, "Observe G in the same pass as the prompts, after 'Text:' (ours).")

    # Long documents
    recurrence: float = setting(0.5, "How much it counts that a phrase comes back in other sections (ours).", least=0)


# -- Values by model, as measured, and by data set, as published -----------------------------------------------------

# Where attention tells most: T5 and Gemma 2 as published, the others as measured on development data.
SAM_LAYERS: Mapping[tuple[str, int], tuple[int, ...]] = {
    ("t5", 12): (9,),
    ("gemma2", 42): (23,),
    ("gemma3_text", 18): (6,),
    ("llama", 30): (22,),
}

# One setting for all documents, as measured on development data for the default models.
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
