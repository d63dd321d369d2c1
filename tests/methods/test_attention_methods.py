"""SAMRank and Attention-Seeker against plain loops over whole attention maps, on small random models."""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import pytest
import torch
from torch import Tensor

from mudy.engines.interfaces import Backbone, TextRange
from mudy.engines.tokens import Tokens, tokenise
from mudy.engines.torch import attention
from mudy.engines.torch.transformer import CausalBackbone
from mudy.errors import SettingError
from mudy.methods import METHODS, method_class
from mudy.methods.chunks import chunk_of, chunk_spans, split_sentences
from mudy.methods.method import OccurrenceScore
from mudy.methods.samrank import AttentionSeeker, ChunkedDocument, SAMRank, nested
from mudy.reading.candidates import Candidate, candidates, given
from mudy.reading.document import Document, Span
from tests import small
from tests.taggers import english

FAMILIES = ("llama", "gemma2", "t5")
NAMES = ("samrank", "attentionseeker")
LONG = " ".join(
    [small.TEXT, "A crew of old trucks waits in river ice. Its radar fails, and the ferry road is thin."] * 4
)


def kind(name: str) -> Any:
    """The class of a method, with settings of its own."""
    return method_class(name)


def backbone(family: str, batch_tokens: int = 512) -> Any:
    return small.t5(batch_tokens) if family == "t5" else small.decoder(family, batch_tokens)


@cache
def document(text: str = small.TEXT) -> Document:
    return english().document(text)


def own(text: Document, *phrases: str) -> list[Candidate]:
    return given(text, phrases)[0]


# --- The methods as plain loops ----------------------------------------------------------------------------------


@dataclass
class Piece:
    """A segment: its tokens, all attention maps, and the places of candidates in it."""

    tokens: Tokens
    maps: Tensor  # (layers, heads, tokens, tokens)
    counted: list[tuple[str, list[int]]]  # phrase and tokens of each occurrence answered for
    mask: list[float]
    first: int  # the first token that may count


def pieces(model: Any, text: Document, found: Sequence[Candidate], limit: int) -> list[Piece]:
    ends = model.token_ends(text.text)
    limit = min(limit, model.room())
    spans = chunk_spans(split_sentences(text, ends, limit // 4), ends, limit)
    matches = [
        (c.phrase, Span(*m.span()))
        for c in found
        for m in re.finditer(rf"\b{re.escape(c.phrase)}\b", text.text.lower())
    ]
    return [piece(model, text, index, spans, matches) for index in range(len(spans))]


def piece(model: Any, text: Document, index: int, spans: list[Span], matches: list[tuple[str, Span]]) -> Piece:
    span = spans[index]
    tokens = tokenise(model.tokenizer, text.text, span, special=isinstance(model, CausalBackbone))
    mask, counted = [0.0] * len(tokens), []
    for phrase, place in matches:
        if span.start <= place.start and place.end <= span.end:
            for i in tokens.of(place):
                mask[i] = 1.0
        inside = any(
            " " not in phrase and " " in other and o.start <= place.start and place.end <= o.end for other, o in matches
        )
        if chunk_of(place, spans) == index and not inside:
            counted.append((phrase, list(tokens.of(place))))
    first = 1 if isinstance(model, CausalBackbone) else 0
    return Piece(tokens, attention_maps(model, tokens), counted, [0.0] * first + mask[first:], first)


def attention_maps(model: Any, tokens: Tokens) -> Tensor:
    before = model.model.config._attn_implementation
    model.model.set_attn_implementation("eager")
    try:
        body = model.model.model if isinstance(model, CausalBackbone) else model.model.encoder
        with torch.no_grad():
            found = body(input_ids=torch.tensor([tokens.ids]), output_attentions=True).attentions
    finally:
        model.model.set_attn_implementation(before)
    return torch.stack([a[0] for a in found]).double()


def phrase_scores(part: Piece, b: Sequence[float]) -> dict[str, float]:
    scores: dict[str, float] = {}
    for phrase, held in part.counted:
        scores[phrase] = scores.get(phrase, 0.0) + sum(b[i] for i in held)
    for phrase in scores:
        if " " not in phrase:
            scores[phrase] /= sum(p == phrase for p, _ in part.counted)
    return scores


def added(parts: Sequence[dict[str, float]]) -> dict[str, float]:
    return {phrase: sum(p.get(phrase, 0.0) for p in parts) for phrase in {name for p in parts for name in p}}


def samrank_mean(part: Piece) -> dict[str, float]:
    mean = part.maps.mean((0, 1)).tolist()
    n = len(mean)
    return phrase_scores(part, [0.0 if j < part.first else sum(mean[i][j] for i in range(n)) for j in range(n)])


def samrank_head(part: Piece, layer: int, head: int) -> dict[str, float]:
    a = part.maps[layer, head].tolist()
    n = len(a)
    g = [0.0 if j < part.first else sum(a[i][j] for i in range(n)) for j in range(n)]
    b = [[a[i][j] * g[j] for j in range(n)] for i in range(n)]
    columns = [sum(b[i][j] for i in range(n)) + 1e-10 for j in range(n)]
    p = [sum(b[i][j] / columns[j] for j in range(n)) for i in range(n)]
    return phrase_scores(part, [g[i] + p[i] for i in range(n)])


def sought(part: Piece, m: Sequence[float]) -> list[float]:
    n = len(m)
    total = [0.0] * n
    for a in part.maps.flatten(0, 1):
        rows = a * torch.tensor(part.mask).double()[:, None]  # rows of other tokens are zero
        s = [float(rows[i] @ torch.tensor(m).double()) for i in range(n)]
        r = sum(s) / n
        for j in range(part.first, n):
            total[j] += r * sum(s[i] * float(rows[i, j]) for i in range(n) if s[i])
    return total


def seeker_short(part: Piece) -> dict[str, float]:
    first = sought(part, part.mask)
    return phrase_scores(part, sought(part, [b * m for b, m in zip(first, part.mask, strict=True)]))


def seeker_long(parts: Sequence[Piece]) -> dict[str, float]:
    abstract: dict[str, float] = {}
    scores = []
    for number, part in enumerate(parts):
        m = torch.tensor(part.mask).double()
        relevance = [[float((a @ m).mean()) for a in layer] for layer in part.maps]
        mean = sum(map(sum, relevance)) / sum(map(len, relevance))
        total = torch.zeros(len(m), len(m)).double()
        for maps, r in zip(part.maps, relevance, strict=True):
            for a, weight in zip(maps, r, strict=True):
                total += weight * a / mean
        b = [0.0 if j < part.first else float(total[:, j].sum()) for j in range(len(m))]
        found = phrase_scores(part, b)
        if number == 0:
            abstract = found
            t = sum(b[j] ** 2 for j in range(len(m)) if part.mask[j])
        else:
            h = [0.0] * len(m)
            for phrase, held in part.counted:
                for i in held:
                    h[i] += abstract.get(phrase, 0.0) / sum(p == phrase for p, _ in part.counted)
            t = sum(x * y for x, y in zip(b, h, strict=True))
        scores.append({phrase: t * score for phrase, score in found.items()})
    return added(scores)


def compared(scores: Sequence[OccurrenceScore], found: Sequence[Candidate], expected: dict[str, float]) -> None:
    assert sorted(s.occurrence.span for s in scores) == sorted(o.span for c in found for o in c.occurrences)
    for score in scores:
        assert score.score == pytest.approx(expected[found[score.candidate].phrase], rel=1e-4)
    assert len({round(value, 6) for value in expected.values()}) > 3


# --- SAMRank -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", [small.TEXT, LONG])
def test_samrank_sums_the_columns_of_the_mean_map(family: str, text: str) -> None:
    model, read = backbone(family), document(text)
    found = candidates(read)
    parts = pieces(model, read, found, 96)
    assert (len(parts) > 2) == (text == LONG)
    scores = SAMRank(model, segment_tokens=96).score(read, found)
    compared(scores, found, added([samrank_mean(part) for part in parts]))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("text", [small.TEXT, LONG])
def test_one_head_adds_its_proportional_part(family: str, text: str) -> None:
    model, read = backbone(family), document(text)
    found = candidates(read)
    scores = SAMRank(model, layer=1, head=2, segment_tokens=96).score(read, found)
    compared(scores, found, added([samrank_head(p, 1, 2) for p in pieces(model, read, found, 96)]))
    for score in scores:
        assert score.score == pytest.approx(score.parts["G"] + score.parts["P"])
        assert score.parts["P"] > 0


def test_a_layer_without_a_head_or_out_of_range_is_refused() -> None:
    model = backbone("llama")
    for settings in ({"layer": 1}, {"head": 1}, {"layer": 4, "head": 0}, {"layer": 0, "head": 4}):
        with pytest.raises(SettingError, match=r"head|layer"):
            SAMRank(model, **settings)
    assert SAMRank(backbone("t5"), layer=2, head=3).head == 3


# --- Attention-Seeker --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_the_short_form_seeks_candidates_twice(family: str) -> None:
    model, found = backbone(family), candidates(document())
    scores = AttentionSeeker(model).score(document(), found)
    (part,) = pieces(model, document(), found, 1024)
    compared(scores, found, seeker_short(part))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_long_form_weighs_segments_by_the_candidates_of_the_first(family: str) -> None:
    model, read = backbone(family), document(LONG)
    found = candidates(read)
    parts = pieces(model, read, found, 96)
    assert len(parts) > 2
    compared(AttentionSeeker(model, segment_tokens=96).score(read, found), found, seeker_long(parts))


def test_the_short_form_of_a_long_text_is_summed_over_segments() -> None:
    model, read = backbone("llama"), document(LONG)
    found = candidates(read)
    scores = AttentionSeeker(model, form="short", segment_tokens=96).score(read, found)
    compared(scores, found, added([seeker_short(part) for part in pieces(model, read, found, 96)]))


def test_the_long_form_can_be_asked_for_in_a_short_text() -> None:
    model, found = backbone("llama"), candidates(document())
    scores = AttentionSeeker(model, form="long").score(document(), found)
    compared(scores, found, seeker_long(pieces(model, document(), found, 1024)))


# --- Phrases -----------------------------------------------------------------------------------------------------


def test_single_words_within_longer_candidates_do_not_count() -> None:
    text = document("River ice is thin. Ice melts. The ice road on river ice closes.")
    found = own(text, "ice", "river ice", "river", "road")
    starts = {(found[p.candidate].phrase, p.span.start) for p in nested(found)}
    assert starts == {("ice", 6), ("river", 0), ("ice", 52), ("river", 46)}


def test_single_words_have_the_mean_of_their_occurrences_and_longer_phrases_the_sum() -> None:
    text = document("Ice melts. River ice melts. Ice melts. River ice melts.")
    found = own(text, "ice", "river ice")
    model = backbone("llama")
    (received,) = model.received_attention([TextRange(text.text, Span(0, len(text.text)))], range(4))
    total = {
        c.phrase: [float(received.sums[list(received.tokens.of(o.span))].sum()) for o in c.occurrences] for c in found
    }
    scores = {found[s.candidate].phrase: s.score for s in SAMRank(model).score(text, found)}
    assert scores["ice"] == pytest.approx((total["ice"][0] + total["ice"][2]) / 2)
    assert scores["river ice"] == pytest.approx(sum(total["river ice"]))


@pytest.mark.parametrize("name", NAMES)
def test_a_word_that_stands_only_within_longer_candidates_scores_lowest(name: str) -> None:
    found = own(document(), "river", "river ice", "radar map", "ferry")
    scores = kind(name)(backbone("llama")).score(document(), found)
    by_phrase = {found[s.candidate].phrase: s.score for s in scores}
    assert by_phrase.pop("river") == 0
    assert min(by_phrase.values()) > 0


# --- Observers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "made", [lambda m: SAMRank(m, layer=2, head=1), AttentionSeeker, lambda m: AttentionSeeker(m, "long")]
)
def test_blocks_of_rows_do_not_change_the_scores(
    family: str, made: Callable[[Any], SAMRank | AttentionSeeker], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = candidates(document())
    whole = made(backbone(family)).score(document(), found)
    maps = attention.row_maps
    monkeypatch.setattr(attention, "row_maps", lambda call: maps(call, 7))
    assert [s.score for s in made(backbone(family)).score(document(), found)] == pytest.approx(
        [s.score for s in whole], rel=1e-5
    )


def test_a_backbone_says_how_many_heads_can_be_observed() -> None:
    models: list[Backbone] = [small.decoder("llama"), small.decoder("gemma2"), small.t5()]
    for model in models:
        maps = attention_maps(model, model.window(small.TEXT, Span(0, 40)))
        assert maps.shape[:2] == (model.depth, model.heads)


# --- Both --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("family", FAMILIES)
def test_none_and_one_candidate(name: str, family: str) -> None:
    method = kind(name)(backbone(family))
    assert method.score(document(), []) == []
    (score,) = method.score(document(), own(document(), "ferry"))
    assert score.score > 0
    assert math.isfinite(score.score)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch_tokens", [1, 4096])
def test_scores_depend_neither_on_the_batch_nor_on_the_run(name: str, batch_tokens: int) -> None:
    read = document(LONG)
    found = candidates(read)
    plain = kind(name)(backbone("llama"), segment_tokens=96).score(read, found)
    assert kind(name)(backbone("llama"), segment_tokens=96).score(read, found) == plain
    other = kind(name)(backbone("llama", batch_tokens), segment_tokens=96).score(read, found)
    assert [s.score for s in other] == pytest.approx([s.score for s in plain], rel=1e-4)


@pytest.mark.parametrize("name", NAMES)
def test_occurrences_say_in_which_segment_they_were_read(name: str) -> None:
    read = document(LONG)
    found = candidates(read)
    scores = kind(name)(backbone("llama"), segment_tokens=96).score(read, found)
    chunks = ChunkedDocument.of(read, found, backbone("llama"), 96).chunks
    spans = {chunk.index: chunk.span for chunk in chunks}
    assert {s.section for s in scores} == set(spans)
    for score in scores:
        span = score.occurrence.span
        assert spans[score.section].start <= span.start < span.end <= spans[score.section].end


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_built_from_a_backbone_alone(name: str) -> None:
    class Models:
        def backbone(self) -> Any:
            return backbone("llama")

    assert name in METHODS
    assert kind(name).build(Models(), None, {"segment_tokens": 128}).segment_tokens == 128
    with pytest.raises(SettingError, match="presets"):
        kind(name).build(Models(), "published", {})
    with pytest.raises(SettingError, match="segment_tokens"):
        kind(name).build(Models(), None, {"segment_tokens": 8})
