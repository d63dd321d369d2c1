"""MUDY as one would write it first: a whole forward pass of document and prompt for every occurrence.

Written from the paper's equations for the settings that we recommend, on a stock transformers model. Occurrences go
through the model in batches, but share nothing: each one carries the whole document with it. Of ours it takes only how
texts are cut into tokens and candidates, and the formulas over single numbers.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface, AutoModelForCausalLM, AutoTokenizer
from transformers.masking_utils import eager_mask

from mudy.engines.tokens import Prompt, Tokens, prompts_of, tokenise
from mudy.methods.chunks import Chunk, chunks
from mudy.methods.method import OccurrenceScore
from mudy.methods.mudy import Mudy, attention_score, final_score, normalised, weight_of
from mudy.methods.promptrank import prompt_likelihood
from mudy.reading.candidates import Candidate
from mudy.reading.document import Document, Span

NAME = "plainly"
PROMPT_OPENING, TEMPLATE = "Text: ", " Answer: This text mainly talks about {}."
ROOM = 512  # tokens for a prompt
WRITTEN = {  # the settings that are written down here, and no others
    "weighting": True,
    "mixture": False,
    "least_weight": 0.0,
    "aligned_rows": "candidate",
    "rule": None,  # in a decoder-only model: post-softmax
    "weighted_layers": (0.0, 1.0),
    "attention": "G",
    "normalise_global": None,  # in a decoder-only model: by the mean
    "lambda_outside": False,
    "leaders": None,
    "one_reading": False,
}


# --- Inside attention: Eqs. 2 and 5-7, and the post-softmax rule -------------------------------------------------


@dataclass(frozen=True)
class Pull:
    """Where each prompt of a batch is pulled to."""

    method: Mudy
    centre: Tensor  # (batch, 1): the occurrence's middle token
    inside: Tensor  # (batch, document): its tokens
    rows: Tensor  # (batch, prompt): 1 for the candidate's rows in the template, 0 for all others

    def edit(self, scores: Tensor, layer: int, window: int | None) -> None:
        """Add log W to the scores of the prompt's rows over the document's tokens, which weighs attention by W."""
        document = self.inside.shape[1]
        part = scores[:, :, document:, :document]  # (batch, heads, prompt, document)
        seen_from = 0 if window is None else max(0, document - window + 1)
        part += self.weights(part, layer, seen_from).log().unsqueeze(2)

    def weights(self, scores: Tensor, layer: int, seen_from: int) -> Tensor:
        """The Gaussian, and full weight for the tokens that a head aligns best with the candidate (Eqs. 5-7)."""
        weights = self.gaussian(layer)[:, None].expand(-1, scores.shape[1], -1)  # (batch, heads, document)
        aligned = torch.einsum("bhrt,br->bht", scores, self.rows)
        aligned[:, :, :seen_from] = -torch.inf
        k = min(self.method.k_attn, aligned.shape[2] - seen_from)
        return weights.scatter(2, aligned.topk(k, dim=2).indices, 1.0)

    def gaussian(self, layer: int) -> Tensor:
        """Eq. 2, with 1 on the occurrence itself and on the first token of the sequence; (batch, document)."""
        m = self.method
        sigma = m.sigma + m.kappa * layer
        sigma = sigma if m.sigma_cap is None else min(sigma, m.sigma_cap)
        distance = (torch.arange(self.inside.shape[1]) - self.centre) / m.unit
        weights = torch.exp(-(distance**2) / (2 * sigma**2)).masked_fill(self.inside, 1.0)
        if m.keep_sink:
            weights[:, 0] = 1.0
        return weights


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor,
    scaling: float = 1.0,
    softcap: float | None = None,
    sliding_window: int | None = None,
    pull: Pull | None = None,
    **_: Any,
) -> tuple[Tensor, Tensor]:
    """Eager attention; where there is something to pull, the scores are edited before the softmax."""
    assert softcap is None, "no model of ours bends its scores"
    groups = query.shape[1] // key.shape[1]
    scores = query @ key.repeat_interleave(groups, dim=1).mT * scaling  # (batch, heads, tokens, tokens)
    if pull is not None and (sliding_window is None or pull.method.weight_sliding):
        pull.edit(scores, int(module.layer_idx), sliding_window)
    attention = torch.softmax(scores.add_(attention_mask), dim=-1)
    attended = attention @ value.repeat_interleave(groups, dim=1)
    return attended.transpose(1, 2).contiguous(), attention


AttentionInterface.register(NAME, _attention)
AttentionMaskInterface.register(NAME, eager_mask)


# --- The method --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Plainly:
    """A stock model, and the settings of a method to follow."""

    model: Any
    tokenizer: Any
    method: Mudy  # for its settings alone
    batch: int = 16  # prompts that go through the model together

    def __post_init__(self) -> None:
        self.model.eval().set_attn_implementation(NAME)
        for name, value in WRITTEN.items():
            if (asked := getattr(self.method, name, value)) != value:
                raise ValueError(f"{name} is {asked!r}, but what is written plainly here is {value!r}.")

    @classmethod
    def load(cls, path: str, method: Mudy, batch: int = 16) -> Plainly:
        model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, trust_remote_code=False)
        return cls(model, AutoTokenizer.from_pretrained(path, trust_remote_code=False), method, batch)

    def in_double(self) -> Plainly:
        """The same with products and sums in float64; norms stay in float32, as transformers has them."""
        return replace(self, model=copy.deepcopy(self.model).double())

    def score(self, document: Document, candidates: Sequence[Candidate]) -> list[OccurrenceScore]:
        """Every occurrence of a text of one section."""
        section = self.section(document, candidates)
        everyone = range(len(section.places))
        p = self.likelihoods(document, section, everyone)
        return self.combined(document, section, everyone, p, self.received(document, section))

    def section(self, document: Document, candidates: Sequence[Candidate]) -> Chunk:
        """The whole text; one that is too long for it raises."""
        ends = tokenise(self.tokenizer, document.text, Span(0, len(document.text)), special=False).ends
        (section,) = chunks(document, candidates, ends, self.method.section_tokens)
        return section

    def combined(
        self, document: Document, section: Chunk, which: Sequence[int], p: Sequence[float], g: Sequence[float]
    ) -> list[OccurrenceScore]:
        """FS of some occurrences from their p and the G of all (Eqs. 11-12)."""
        m = self.method
        lambda_ = weight_of(len(document.text.split()), m.lambda_, m.lambda_words)
        found = []
        for index, likely in zip(which, p, strict=True):
            place, attention = section.places[index], attention_score(g[index], 1.0, "G", m.as_clip)
            score = final_score(likely, attention, lambda_)
            found.append(OccurrenceScore(place.candidate, place.occurrence, score, {"p": likely, "G": g[index]}))
        return found

    def received(self, document: Document, section: Chunk) -> list[float]:
        """G of every occurrence: one more forward pass, its attention maps summed over rows (Eqs. 9, 13-14)."""
        tokens = tokenise(self.tokenizer, document.text, section.span)
        with torch.inference_mode():
            maps = self.model.model(torch.tensor([tokens.ids]), use_cache=False, output_attentions=True).attentions
            sums = torch.stack([maps[layer][0].mean(0).sum(0) for layer in self.method.layers]).mean(0)  # (tokens,)
        held = [tokens.of(place.span) for place in section.places]
        return normalised([float(sums[t.start : t.stop].mean()) for t in held])

    def likelihoods(self, document: Document, section: Chunk, which: Sequence[int]) -> list[float]:
        """The p of some occurrences: document and prompt through the whole model, a batch at a time (Eq. 1)."""
        tokens = tokenise(self.tokenizer, document.text, section.span, prefix=PROMPT_OPENING)
        spans = [section.places[index].span for index in which]
        phrases = [span.of(document.text) for span in spans]
        prompts = prompts_of(self.tokenizer, TEMPLATE, phrases, ROOM, special=False)
        found: list[float] = []
        for start in range(0, len(spans), self.batch):
            part = slice(start, start + self.batch)
            found += self._batch(tokens, [tokens.of(span) for span in spans[part]], prompts[part])
        return found

    def _batch(self, tokens: Tokens, held: Sequence[range], prompts: Sequence[Prompt]) -> list[float]:
        """Prompts are filled up on the right, where no real token looks."""
        longest = max(len(prompt.ids) for prompt in prompts)
        ids = torch.tensor([[*tokens.ids, *prompt.ids, *[0] * (longest - len(prompt.ids))] for prompt in prompts])
        with torch.inference_mode():
            pull = self._pull(len(tokens), held, prompts, longest)
            logits = self.model(input_ids=ids, use_cache=False, logits_to_keep=longest, pull=pull).logits
            return [self._likelihood(prompt, rows) for prompt, rows in zip(prompts, logits, strict=True)]

    def _likelihood(self, prompt: Prompt, logits: Tensor) -> float:
        before = torch.log_softmax(logits[[t - 1 for t in prompt.scored]], dim=-1)  # (scored, vocabulary)
        scored = [float(row[prompt.ids[t]]) for t, row in zip(prompt.scored, before, strict=True)]
        return prompt_likelihood(scored, self.method.alpha, self.method.score_tokens)

    def _pull(self, document: int, held: Sequence[range], prompts: Sequence[Prompt], longest: int) -> Pull:
        inside = torch.zeros(len(held), document, dtype=torch.bool)
        rows = torch.zeros(len(held), longest, dtype=self.model.dtype)
        for i, (span, prompt) in enumerate(zip(held, prompts, strict=True)):
            inside[i, span.start : span.stop] = True
            rows[i, prompt.first : prompt.last + 1] = 1
        centre = torch.tensor([[float(round((span[0] + span[-1]) / 2))] for span in held], dtype=self.model.dtype)
        return Pull(self.method, centre, inside, rows)
