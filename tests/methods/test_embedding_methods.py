"""EmbedRank, MDERank and JointGL against plain loops, on a small random BERT."""

import math
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from mudy.engines.interfaces import SentenceEncoder
from mudy.engines.torch.transformer import TorchEncoder
from mudy.errors import SettingError, UnsupportedModel
from mudy.methods import METHODS, method_class
from mudy.methods.chunks import chunk_at, encoder_chunks, everywhere
from mudy.methods.embedrank import EmbedRank, marginal_relevance
from mudy.methods.jointgl import JointGL
from mudy.methods.mderank import MDERank, held
from mudy.methods.method import OccurrenceScore
from mudy.reading.candidates import Candidate, candidates, given
from mudy.reading.document import Document, Span
from mudy.reading.untagged import UntaggedReader
from tests import small
from tests.small import POSITIONS, bert, wordpieces
from tests.taggers import english

NAMES = ("embedrank", "mderank", "jointgl")
LONG = " ".join([small.TEXT] * 6)


def kind(name: str) -> Any:
    """The class of a method, with settings of its own."""
    return method_class(name)


@cache
def document(text: str = small.TEXT) -> Document:
    return english().document(text)


def own(text: Document, *phrases: str) -> list[Candidate]:
    return given(text, phrases)[0]


def forward(ids: Sequence[int], layer: int = -1) -> Tensor:
    """All states of one layer, by one pass without a batch."""
    with torch.no_grad():
        found = bert().model(input_ids=torch.tensor([list(ids)]), output_hidden_states=True).hidden_states[layer][0]
    return torch.as_tensor(found).double()


def cosine(first: Tensor, second: Tensor) -> float:
    return float(first @ second / first.norm() / second.norm())


def by_phrase(scores: Sequence[OccurrenceScore], found: Sequence[Candidate]) -> dict[str, float]:
    return {found[s.candidate].phrase: s.score for s in scores}


# --- Windows -----------------------------------------------------------------------------------------------------


def test_a_text_that_fits_is_one_window() -> None:
    (window,) = encoder_chunks(document(), bert())
    assert window.span == Span(0, len(small.TEXT))
    assert window.tokens.ids == wordpieces()(small.TEXT)["input_ids"]


def test_windows_hold_every_sentence_once_and_fit_the_encoder() -> None:
    text = document(LONG)
    found = encoder_chunks(text, bert())
    assert len(found) > 3
    assert max(len(w.tokens) for w in found) <= POSITIONS
    assert [w.span.start for w in found[1:]] == [
        next(s.start for s in text.sentences if s.start >= w.span.end) for w in found[:-1]
    ]
    assert (found[0].span.start, found[-1].span.end) == (0, text.sentences[-1].end)
    for word in text.words:
        window = found[chunk_at(found, word.span.start)].span
        assert window.start <= word.span.start < word.span.end <= window.end


def test_a_sentence_longer_than_the_encoder_is_cut_and_nothing_is_lost() -> None:
    text = document("the ice road map " * 80 + "closes.")
    found = encoder_chunks(text, bert())
    assert max(len(w.tokens) for w in found) <= POSITIONS
    assert [w.span.start for w in found] == [0, *(w.span.end for w in found[:-1])]
    assert found[-1].span.end == len(text.text)
    assert [w.tokens.ids for w in found] == [wordpieces()(w.span.of(text.text))["input_ids"] for w in found]


def test_positions_of_roberta_count_on_from_its_padding() -> None:
    encoder = bert()
    shape = transformers.RobertaConfig(
        max_position_embeddings=514, pad_token_id=1, vocab_size=9, hidden_size=12, num_hidden_layers=1
    )

    with torch.device("meta"):
        model = transformers.RobertaModel(shape)
    assert TorchEncoder(model.to_empty(device="cpu"), encoder.tokenizer, encoder.machine, "roberta").positions == 512
    assert encoder.positions == POSITIONS


def test_candidates_are_looked_up_in_the_whole_text() -> None:
    text = document("Ice is cold. River ice melts. They ice cakes.")
    (ice,) = everywhere(text, [Candidate("ice", own(text, "ice")[0].occurrences[:1])])
    assert [o.span.start for o in ice.occurrences] == [0, 19, 35]


# --- EmbedRank ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", [-1, -2])
def test_embedrank_is_the_cosine_of_mean_states(layer: int) -> None:
    found = candidates(document())
    whole = forward(wordpieces()(small.TEXT)["input_ids"], layer).mean(0)
    scores = by_phrase(EmbedRank(bert(), layer=layer).score(document(), found), found)
    for phrase, score in scores.items():
        assert score == pytest.approx(
            cosine(forward(wordpieces()(phrase)["input_ids"], layer).mean(0), whole), abs=1e-5
        )
    assert len(scores) == len(found)


def test_a_phrase_that_is_the_document_has_cosine_one() -> None:
    text = document("river ice")
    scores = by_phrase(EmbedRank(bert()).score(text, own(text, "river ice", "ice")), own(text, "river ice", "ice"))
    assert scores["river ice"] == pytest.approx(1)
    assert scores["ice"] < scores["river ice"]


def test_the_vector_of_a_long_document_is_the_mean_over_the_tokens_of_its_windows() -> None:
    text = document(LONG)
    found = candidates(text)
    states = [forward(wordpieces()(w.span.of(LONG))["input_ids"]) for w in encoder_chunks(text, bert())]
    whole = torch.cat(states).mean(0)
    for phrase, score in by_phrase(EmbedRank(bert()).score(text, found), found).items():
        assert score == pytest.approx(cosine(forward(wordpieces()(phrase)["input_ids"]).mean(0), whole), abs=1e-5)


class Letters:
    """In place of the multilingual encoder: how often each letter stands in a text, at length 1."""

    def embed(self, texts: Sequence[str]) -> Any:
        counts = np.array([[text.lower().count(letter) for letter in "aeinrst"] for text in texts], dtype=np.float32)
        return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    def end_of_window(self, text: str) -> int:
        return min(len(text), 1000)


@pytest.mark.parametrize("words", [5, 700])
def test_embedrank_asks_the_multilingual_encoder_about_other_languages(words: int) -> None:
    document = UntaggedReader("fr").document(" ".join(["La", "rivière", "inonde", "la", "ville"] * (words // 5)) + ".")
    found = candidates(document)
    universal: Any = Letters()
    scores = EmbedRank(bert(), lambda: universal).score(document, found)
    pieces = [" ".join(document.text.split()[start : start + 300]) for start in range(0, words, 300)]
    whole = universal.embed(pieces).mean(0)
    for score in scores:
        (phrase,) = universal.embed([found[score.candidate].phrase])
        assert score.score == pytest.approx(float(phrase @ whole / np.linalg.norm(whole)), abs=1e-5)
    ends = [0, *(document.end_of_words(start + 300) for start in range(0, words, 300))]
    assert scores.read == {"encoder": [Span(start, min(end, start + 1000)) for start, end in pairwise(ends)]}


def test_embedrank_asks_the_encoder_itself_about_english_texts_and_where_there_is_no_other() -> None:
    def unwanted() -> Any:
        raise AssertionError

    document = english().document(small.TEXT)
    found = candidates(document)
    alone = EmbedRank(bert()).score(document, found)
    assert EmbedRank(bert(), unwanted).score(document, found) == alone
    assert EmbedRank(bert(), lambda: None).score(document, found) == alone


def test_marginal_relevance_chooses_as_a_plain_loop_does() -> None:
    torch.manual_seed(1)
    vectors = torch.nn.functional.normalize(torch.randn(7, 5).double(), dim=1)
    near, table = (vectors @ vectors.mean(0)).tolist(), (vectors @ vectors.T).tolist()

    def normal(value: float, among: list[float]) -> float:
        scaled = [x / max(among) for x in among]  # as in the paper
        mean = sum(scaled) / len(scaled)
        return 0.5 + (value / max(among) - mean) / math.sqrt(sum((x - mean) ** 2 for x in scaled) / len(scaled))

    between = [[normal(table[i][j], [table[i][k] for k in range(7) if k != i]) for j in range(7)] for i in range(7)]
    chosen = [max(range(7), key=lambda i: near[i])]
    while len(chosen) < 7:
        value = {
            i: 0.55 * normal(near[i], near) - 0.45 * max(between[i][j] for j in chosen)
            for i in range(7)
            if i not in chosen
        }
        chosen.append(max(value, key=lambda i: value[i]))
    scores = marginal_relevance(np.array(near), np.array(table), 0.55)
    assert sorted(range(7), key=lambda i: -scores[i]) == chosen


def test_marginal_relevance_with_beta_one_ranks_by_the_document_alone() -> None:
    found = candidates(document())
    plain = EmbedRank(bert()).score(document(), found)
    diverse = EmbedRank(bert(), mmr=True, beta=1.0).score(document(), found)
    order = sorted(range(len(plain)), key=lambda i: -plain[i].score)
    assert order == sorted(range(len(plain)), key=lambda i: -diverse[i].score)
    assert [s.parts for s in plain] == [s.parts for s in diverse]


# --- MDERank -----------------------------------------------------------------------------------------------------


def masked_ids(text: str, phrase: str) -> list[int]:
    """The text's pieces, those of every match of the phrase masked."""
    encoded = wordpieces()(text, return_offsets_mapping=True)
    matches = [m.span() for m in re.finditer(rf"\b{re.escape(phrase)}\b", text.lower())]
    return [
        4 if any(a < end and start < b for a, b in matches) else token
        for token, (start, end) in zip(encoded["input_ids"], encoded["offset_mapping"], strict=True)
    ]


@pytest.mark.parametrize("layer", [-1, -2])
def test_mderank_masks_every_occurrence_and_compares_maxima(layer: int) -> None:
    found = candidates(document())
    before = forward(wordpieces()(small.TEXT)["input_ids"], layer).amax(0)
    scores = MDERank(bert(), layer).score(document(), found)
    for score in scores:
        ids = masked_ids(small.TEXT, found[score.candidate].phrase)
        assert ids != wordpieces()(small.TEXT)["input_ids"]
        expected = cosine(before, forward(ids, layer).amax(0))
        assert score.score == pytest.approx(1 - expected, abs=1e-5)
        assert score.parts["cosine"] == pytest.approx(expected, abs=1e-5)
    assert len({s.score for s in scores}) > 3


def test_mderank_takes_the_largest_value_over_all_windows() -> None:
    text = document(LONG)
    found = candidates(text)
    spans = [w.span.of(LONG) for w in encoder_chunks(text, bert())]
    before = torch.cat([forward(wordpieces()(part)["input_ids"]) for part in spans]).amax(0)
    for phrase, score in by_phrase(MDERank(bert()).score(text, found), found).items():
        after = torch.cat([forward(masked_ids(part, phrase)) for part in spans]).amax(0)
        assert score == pytest.approx(1 - cosine(before, after), abs=1e-5)


def test_a_candidate_with_nothing_to_mask_scores_lowest() -> None:
    text = document("A \u200b\u200d map of river ice.")  # the tokeniser drops characters of no width
    found = own(text, "\u200b\u200d", "map", "river ice")
    scores = by_phrase(MDERank(bert()).score(text, found), found)
    assert scores["\u200b\u200d"] == 0
    assert min(scores["map"], scores["river ice"]) > 0


def test_special_tokens_are_never_masked() -> None:
    (window,) = encoder_chunks(document(), bert())
    assert held(window.tokens, Span(0, len(small.TEXT))) == list(range(1, len(window.tokens) - 1))
    assert held(window.tokens, Span(10_000, 10_004)) == []


def test_mderank_needs_a_mask_token() -> None:
    with pytest.raises(UnsupportedModel, match="mask token"):
        MDERank(bert(mask=None)).score(document(), candidates(document()))


# --- JointGL -----------------------------------------------------------------------------------------------------


def jointgl(method: JointGL, text: Document, found: Sequence[Candidate], parts: Sequence[Span]) -> list[float]:
    """Scores of all occurrences in text order, by loops over pairs."""
    vectors, firsts = [], []
    spans = sorted(o.span for c in found for o in c.occurrences)
    read = []
    for part in parts:
        encoded = wordpieces()(part.of(text.text), return_offsets_mapping=True)
        states = forward(encoded["input_ids"])
        firsts.append(states[0])
        offsets = [(a + part.start, b + part.start) for a, b in encoded["offset_mapping"]]
        read += [(a, b, state) for (a, b), state in zip(offsets, states, strict=True) if a < b]
    for span in spans:
        words = [w.span for w in text.words if span.start <= w.span.start and w.span.end <= span.end]
        means = [torch.stack([s for a, b, s in read if w.start <= a and b <= w.end]).mean(0) for w in words]
        vectors.append(torch.stack(means).amax(0))
    n, whole = len(vectors), torch.stack(firsts).mean(0)
    s = [[float(vectors[i] @ vectors[j]) for j in range(n)] for i in range(n)]
    entries = [list(row) for row in s]
    if method.last_diagonal is not None:
        entries[-1][-1] = method.last_diagonal
    low, high = min(map(min, entries)), max(map(max, entries))
    theta = low + method.beta * (high - low)
    d = [min(i, method.a * (n - i)) for i in range(n)]
    local = [0.0] * n
    for i in range(n):
        for j in range(i + 1, n):
            e = max(s[i][j] - theta, 0)
            first, second = (method.lambda1, method.lambda2) if d[i] < d[j] else (method.lambda2, method.lambda1)
            local[i] += first * e
            local[j] += second * e
    total = sum(math.exp(1 / (i + 1)) for i in range(n))
    return [local[i] / float((vectors[i] - whole).abs().sum()) * math.exp(1 / (i + 1)) / total for i in range(n)]


@pytest.mark.parametrize("settings", [{}, {"last_diagonal": None}, {"beta": 0.5, "lambda2": 0.3, "a": 0.4}])
@pytest.mark.parametrize("text", [small.TEXT, LONG])
def test_jointgl_scores_as_loops_over_pairs_do(settings: dict[str, Any], text: str) -> None:
    read = document(text)
    found = candidates(read)
    method = JointGL(bert(), **settings)
    scores = method.score(read, found)
    expected = jointgl(method, read, found, [w.span for w in encoder_chunks(read, bert())])
    assert [s.score for s in scores] == pytest.approx(expected, rel=1e-4)
    assert [s.occurrence.span for s in scores] == sorted(s.occurrence.span for s in scores)
    assert max(expected) > 0


def test_blocks_do_not_change_the_local_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = np.random.default_rng(3).normal(size=(11, 4))
    whole = JointGL(bert()).local(vectors)
    monkeypatch.setattr("mudy.methods.graphs._BLOCK", 3)
    assert np.allclose(JointGL(bert()).local(vectors), whole)


# --- All three ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_one_candidate_is_scored(name: str) -> None:
    for settings in ({}, {"mmr": True}) if name == "embedrank" else ({},):
        (score,) = kind(name)(bert(), **settings).score(document(), own(document(), "ferry"))
        assert math.isfinite(score.score)
        assert score.occurrence.span.of(small.TEXT) == "ferry"


@pytest.mark.parametrize("name", NAMES)
def test_every_occurrence_of_a_long_text_is_scored_in_its_window(name: str) -> None:
    text = document(LONG)
    found = candidates(text)
    scores = kind(name)(bert()).score(text, found)
    assert sorted(s.occurrence.span for s in scores) == sorted(o.span for c in found for o in c.occurrences)
    assert {s.section for s in scores} == set(range(len(encoder_chunks(text, bert()))))
    assert all(math.isfinite(s.score) for s in scores)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("batch_tokens", [1, 4096])
def test_scores_depend_neither_on_the_batch_nor_on_the_run(name: str, batch_tokens: int) -> None:
    text = document(LONG)
    found = candidates(text)
    plain = kind(name)(bert()).score(text, found)
    assert kind(name)(bert()).score(text, found) == plain
    other = kind(name)(bert(batch_tokens)).score(text, found)
    assert [s.score for s in other] == pytest.approx([s.score for s in plain], rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_methods_are_built_from_encoders_alone(name: str) -> None:
    class Models:
        def encoder(self) -> SentenceEncoder:
            return bert()

        def multilingual(self) -> None: ...

    assert name in METHODS
    assert kind(name).build(Models(), None, {}).encoder is bert()
    with pytest.raises(SettingError, match="presets"):
        kind(name).build(Models(), "published", {})


def test_settings_out_of_range_raise() -> None:
    with pytest.raises(SettingError, match="layer"):
        EmbedRank(bert(), layer=-3)
    with pytest.raises(SettingError, match="layer"):
        MDERank(bert(), layer=0)
    with pytest.raises(SettingError, match="beta"):
        EmbedRank(bert(), beta=2)
    with pytest.raises(SettingError, match="lambda1"):
        JointGL(bert(), lambda1=-1)
