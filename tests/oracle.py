"""The paper's equations as plain loops: one full forward pass per occurrence, nothing shared, nothing batched.

It is written from the equations, not from the fast path, and shares with it only the tokens of a text.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import eager_mask

from mudy.engines.tokens import prompts_of, tokenise
from mudy.engines.torch.transformer import CausalBackbone
from mudy.methods.mudy import Mudy
from mudy.reading.candidates import Candidate
from mudy.reading.candidates.stemming import stems_of as stems
from mudy.reading.document import Document, Span


@dataclass
class Pull:
    """What one occurrence's prompt is pulled towards."""

    method: Mudy
    rule: str
    tokens: int  # how many tokens of the sequence are the document's
    start: int  # the occurrence's first token, and its last
    end: int
    related: list[int]  # centres of related candidates, most similar first
    candidate_rows: list[int]  # rows of the candidate in the template, counted within the prompt
    blanks: set[int]
    sink: bool
    attended: dict[int, Tensor] = field(default_factory=dict)  # layer -> (heads, prompt rows, width)

    def weight(self, layer: int, x: int, largest: float) -> float:
        """Eqs. 2-4 for one token."""
        m = self.method
        if self.sink and x == 0:
            return 1.0
        raw = self._vanilla(layer, x)
        if m.mixture and x not in self.blanks:
            raw = self._mix(layer, x) / largest
            raw = 0.0 if raw < m.mixture_floor else raw
        return m.least_weight + (1 - m.least_weight) * raw

    def _vanilla(self, layer: int, x: int) -> float:
        if self.start <= x <= self.end:
            return 1.0
        sigma = self.method.sigma + self.method.kappa * layer
        sigma = min(sigma, self.method.sigma_cap) if self.method.sigma_cap else sigma
        centre = round((self.start + self.end) / 2)
        return math.exp(-(((x - centre) / self.method.unit) ** 2) / (2 * sigma**2))

    def _mix(self, layer: int, x: int) -> float:
        total = self.method.pi * self._vanilla(layer, x)
        for sigma, centre in zip(self.method.sigma_related, self.related, strict=False):
            total += self.method.pi_related * math.exp(-(((x - centre) / self.method.unit) ** 2) / (2 * sigma**2))
        return total

    def weights(self, layer: int, scores: list[list[float]], visible: Sequence[int]) -> list[float]:
        """Eqs. 5-7 for one head: the best-aligned visible tokens get full weight."""
        alignment = {x: sum(scores[row][x] for row in self.candidate_rows) for x in visible if x not in self.blanks}
        best = sorted(alignment, key=lambda x: -alignment[x])[: self.method.k_attn]
        largest = max(self._mix(layer, x) for x in range(self.tokens))
        return [1.0 if x in best else self.weight(layer, x, largest) for x in range(self.tokens)]


def edited(score: float, weight: float, rule: str) -> float:
    """Eq. 8, or the post-softmax rule as a logit."""
    if rule == "logit":
        return score * weight if score >= 0 else score * (1 - weight)
    return score + math.log(weight) if weight > 0 else -math.inf


def _attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float = 1.0,
    softcap: float | None = None,
    position_bias: Tensor | None = None,
    pull: Pull | None = None,
    sliding_window: int | None = None,
    **_: Any,
) -> tuple[Tensor, None]:
    heads, rows, groups = query.shape[1], query.shape[2], query.shape[1] // key.shape[1]
    cross = getattr(module, "is_decoder", False) and not module.is_causal
    decoder_only = not hasattr(module, "is_decoder")
    out = torch.zeros_like(query)
    for head in range(heads):
        raw = query[0, head] @ key[0, head // groups].T * scaling
        if softcap is not None:
            raw = torch.tanh(raw / softcap) * softcap
        if position_bias is not None:
            raw = raw + position_bias[0, head]
        scores = raw.tolist()
        if pull is not None and (cross or decoder_only) and (sliding_window is None or pull.method.weight_sliding):
            first_row = pull.tokens if decoder_only else 0
            first = 0 if sliding_window is None else max(0, pull.tokens - sliding_window + 1)
            prompt = scores[first_row:]
            weights = pull.weights(module.layer_idx, prompt, range(first, pull.tokens))
            for row in prompt:
                for x in range(pull.tokens):
                    row[x] = edited(row[x], weights[x], pull.rule)
        final = torch.tensor(scores)
        if attention_mask is not None:
            final = final + attention_mask[0, 0]
        out[0, head] = torch.softmax(final, dim=-1) @ value[0, head // groups]
    if pull is not None and (cross or decoder_only):
        pull.attended[module.layer_idx] = out[0, :, pull.tokens if decoder_only else 0 : rows].clone()
    return out.transpose(1, 2).contiguous(), None


AttentionInterface.register("oracle", _attention)
AttentionMaskInterface.register("oracle", eager_mask)


def likelihood(backbone: Any, text: str, span: Span, phrase: str, pull: Pull | None, method: Mudy) -> float:
    """Eq. 1 by one whole forward pass."""
    model = backbone.model
    before = model.config._attn_implementation
    model.set_attn_implementation("oracle" if pull is not None else "eager")
    extra = {} if pull is None else {"pull": pull}
    try:
        (prompt,) = prompts_of(backbone.tokenizer, backbone.template, [phrase], 999, backbone.special_in_prompt)
        with torch.no_grad():
            if isinstance(backbone, CausalBackbone):
                prefix = tokenise(backbone.tokenizer, text, span, prefix="Text: ").ids
                logits = model(input_ids=torch.tensor([prefix + prompt.ids]), use_cache=False, **extra).logits[0]
                logits = logits[len(prefix) :]
            else:
                source = tokenise(backbone.tokenizer, text, span, prefix='Book:"', suffix='"').ids
                states = model.encoder(input_ids=torch.tensor([source])).last_hidden_state
                target = torch.tensor([[0, *prompt.ids[1:]]])
                last = model.decoder(
                    input_ids=target, encoder_hidden_states=states, use_cache=False, **extra
                ).last_hidden_state
                logits = model.lm_head(last * model.config.d_model**-0.5)[0]
    finally:
        model.set_attn_implementation(before)
    total, n = 0.0, 0
    for t in range(prompt.first - 1, prompt.last + 2):
        total += float(torch.log_softmax(logits[t - 1], dim=-1)[prompt.ids[t]])
        n += 1
    return float(total / n**method.alpha)


@lru_cache(maxsize=256)
def column_sums(backbone: Any, text: str, span: Span, layer: int) -> tuple[Any, list[float]]:
    """Eqs. 13-14: attention received by each token, averaged over heads."""
    model = backbone.model
    before = model.config._attn_implementation
    model.set_attn_implementation("eager")
    try:
        tokens = tokenise(backbone.tokenizer, text, span, special=backbone.special_in_window)
        body = model.model if isinstance(backbone, CausalBackbone) else model.encoder
        with torch.no_grad():
            maps = body(input_ids=torch.tensor([tokens.ids]), output_attentions=True).attentions[layer][0]
    finally:
        model.set_attn_implementation(before)
    heads, rows, columns = maps.shape
    return tokens, [
        sum(float(maps[h, r, x]) for h in range(heads) for r in range(rows)) / heads for x in range(columns)
    ]


def received(backbone: Any, text: str, span: Span, layer: int, occurrence: Span) -> float:
    """Eq. 9: the mean over the occurrence's tokens."""
    tokens, sums = column_sums(backbone, text, span, layer)
    held = list(tokens.of(occurrence))
    return float(sum(sums[x] for x in held) / len(held))


def related(method: Mudy, places: Sequence[tuple[str, Span]], index: int, vectors: Tensor) -> list[int]:
    """Indices of the most similar occurrences of phrases without a common stem."""
    mine = set(stems(places[index][0]))
    others = [i for i, (phrase, _) in enumerate(places) if not mine & set(stems(phrase))]
    similarity = {i: float(torch.cosine_similarity(vectors[index], vectors[i], dim=0)) for i in others}
    return sorted(others, key=lambda i: -similarity[i])[: len(method.sigma_related)]


def pulls(method: Mudy, text: str, span: Span, places: Sequence[tuple[str, Span]]) -> list[Pull]:
    """Algorithm 1, the part before the decoder."""
    backbone: Any = method.backbone
    decoder_only = isinstance(backbone, CausalBackbone)
    prefix, suffix = ("Text: ", "") if decoder_only else ('Book:"', '"')
    tokens = tokenise(backbone.tokenizer, text, span, prefix=prefix, suffix=suffix)
    held = [tokens.of(occurrence) for _, occurrence in places]
    vectors = _vectors(method, text, places, tokens, span) if method.mixture else None
    pieces = backbone.tokenizer.convert_ids_to_tokens(tokens.ids)
    found = []
    for index, (_, occurrence) in enumerate(places):
        near = [] if vectors is None else related(method, places, index, vectors)
        (prompt,) = prompts_of(
            backbone.tokenizer, backbone.template, [occurrence.of(text)], 999, backbone.special_in_prompt
        )
        found.append(
            Pull(
                method=method,
                rule=method.rule or ("post_softmax" if decoder_only else "logit"),
                tokens=len(tokens),
                start=held[index][0],
                end=held[index][-1],
                related=[int((held[i][0] + held[i][-1]) / 2) for i in near],
                candidate_rows=list(
                    range(prompt.first, prompt.last + 1 if method.aligned_rows == "candidate" else len(prompt.ids))
                ),
                blanks=set()
                if isinstance(backbone, CausalBackbone)
                else {i for i, p in enumerate(pieces) if p == "\u2581"},
                sink=isinstance(backbone, CausalBackbone) and method.keep_sink,
            )
        )
    return found


def _vectors(method: Mudy, text: str, places: Sequence[tuple[str, Span]], tokens: Any, span: Span) -> Tensor:
    backbone: Any = method.backbone
    if method.encoder is not None:
        return torch.from_numpy(method.encoder.span_states(text, [s for _, s in places], [span] * len(places)))
    with torch.no_grad():
        states = backbone.model.encoder(input_ids=torch.tensor([tokens.ids])).last_hidden_state[0]
    return torch.stack([states[list(tokens.of(s))].mean(0) for _, s in places])


def scores(method: Mudy, document: Document, candidates: Sequence[Candidate]) -> dict[tuple[str, int], list[float]]:
    """p, G, L and FS of every occurrence of a document that fits one window (Eqs. 1-14)."""
    places = sorted(((c.phrase, o.span) for c in candidates for o in c.occurrences), key=lambda p: p[1])
    text, whole = document.text, Span(document.sentences[0].start, document.sentences[-1].end)
    (layer,) = method.layers
    prompts = pulls(method, text, whole, places) if method.weighting else [None] * len(places)
    p = [
        likelihood(method.backbone, text, whole, occurrence.of(text), pull, method)
        for (_, occurrence), pull in zip(places, prompts, strict=True)
    ]
    g = [received(method.backbone, text, whole, layer, occurrence) for _, occurrence in places]
    if isinstance(method.backbone, CausalBackbone):
        g = [value / (sum(g) / len(g)) for value in g]
    blocks = [_block(document, occurrence, method.w) for _, occurrence in places]
    raw = [received(method.backbone, text, b, layer, o) for b, (_, o) in zip(blocks, places, strict=True)]
    found = {}
    for i, (phrase, occurrence) in enumerate(places):
        fellows = [raw[j] for j in range(len(places)) if blocks[j] == blocks[i]]
        local = raw[i] * len(fellows) / sum(fellows)
        attention = min(g[i] * local, method.as_clip or math.inf)
        found[phrase, occurrence.start] = [
            p[i],
            g[i],
            local,
            p[i] / (1 + math.log(1 + method.lambda_ * attention)),
        ]
    return found


def _block(document: Document, occurrence: Span, w: int) -> Span:
    """The first block scores up to its centre, a middle one its centre, the last from its centre on."""
    last = len(document.sentences) - 1
    sentence = max(i for i, s in enumerate(document.sentences) if s.start <= occurrence.start)
    centre = w if sentence < w else last - w if sentence > last - w else sentence
    return Span(document.sentences[centre - w].start, document.sentences[centre + w].end)
