import json
from collections.abc import Iterable
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mudy import Extractor
from mudy.errors import SettingError
from mudy.methods.method import OccurrenceScore, Scores
from mudy.methods.mudyplus import MudyPlus, near
from mudy.methods.mudyplus.cascade import TextEvidence, in_long_text
from mudy.methods.mudyplus.evidence import EVIDENCE, Table
from mudy.methods.mudyplus.language_model import NOT_READ, Answer
from mudy.methods.mudyplus.near import Keyphraseness, WindowCosines, windows
from mudy.methods.mudyplus.weights import Sum, expit, load_weights
from mudy.reading.candidates import nested_candidates
from mudy.reading.document import Document, Span
from tests import small
from tests.tagged import many_words, tagged, unspaced

TEXT = (
    "river ice is/VBZ thin/JJ . ice road closes/VBZ . radar map guides/VBZ trucks/NNS over/IN ice . old/JJ maps/NNS ."
)
MODELS = [None, *(lambda kind=kind: small.decoder(kind) for kind in small.DECODERS), small.t5]


def made(backbone: Any, **settings: Any) -> MudyPlus:
    return MudyPlus(small.bert(), backbone() if backbone else None, **settings)


@pytest.mark.parametrize("backbone", MODELS)
@pytest.mark.parametrize("text", [TEXT, "ice", "ice . ice . ice .", "ice , road , map"])
def test_scores_are_probabilities_and_the_sum_of_their_parts(backbone: Any, text: str) -> None:
    document = tagged(text)
    candidates = nested_candidates(document)
    scores = made(backbone, leaders=4).score(document, candidates)
    assert len(scores) == sum(len(candidate.occurrences) for candidate in candidates)
    for score in scores:
        assert 0 < score.score < 1
        assert score.score == pytest.approx(float(expit(sum(score.parts.values()))))  # type: ignore[arg-type]


def test_all_evidence_is_explained_in_words() -> None:
    assert {part.name for part in MudyPlus.parts} >= {*EVIDENCE, "base", "local", "not_asked", "calibration"}


def test_scores_do_not_change_from_call_to_call() -> None:
    document = tagged(TEXT)
    candidates, method = nested_candidates(document), made(MODELS[1])
    assert method.score(document, candidates) == method.score(document, candidates)


def test_the_model_is_asked_about_leaders_alone_and_they_stand_above_the_rest() -> None:
    document = tagged(TEXT)
    candidates = nested_candidates(document)
    scores = made(MODELS[1], leaders=3).score(document, candidates)
    asked = {s.candidate: s.score for s in scores if "likelihood" in s.parts}
    rest = {s.candidate: s.score for s in scores if s.candidate not in asked}
    assert len(asked) == 3
    assert min(asked.values()) >= max(rest.values()) - 1e-12


def read_by(model: str, scores: Scores, document: Document) -> list[str]:
    return [span.of(document.text) for span in scores.read[model]]


def test_both_models_read_all_of_a_short_text() -> None:
    document = tagged(TEXT)
    scores = made(MODELS[1]).score(document, nested_candidates(document))
    whole = [Span(0, len(document.text))]
    assert scores.read == {"encoder": whole, "language_model": whole}


def test_the_encoder_reads_all_windows_of_a_long_text_each_up_to_its_own_limit() -> None:
    document = many_words(100)
    scores = made(None).score(document, nested_candidates(document))
    assert scores.read.keys() == {"encoder"}
    encoder, cut = small.bert(), windows(document)
    assert len(cut) == 5
    for span, window in zip(scores.read["encoder"], cut, strict=True):
        assert span.start == window.start
        assert span.end == window.start + encoder.end_of_window(window.of(document.text)) < window.end
        assert len(encoder.read_alone(span.of(document.text))) == small.POSITIONS


def test_the_language_model_reads_the_pieces_of_a_digest() -> None:
    document = many_words(100)
    scores = made(MODELS[1], read_words=60, read_all=False).score(document, nested_candidates(document))
    pieces = read_by("language_model", scores, document)
    assert pieces[0].split() == document.text.split()[:15]
    assert len(pieces) > 3
    assert sum(len(piece.split()) for piece in pieces) <= 60
    assert {piece.split()[0] for piece in pieces} == {"the"}


def test_a_query_has_the_encoder_read_the_sentences_too() -> None:
    document = tagged(TEXT)
    scores = made(None, query="ice").score(document, nested_candidates(document))
    assert scores.read["encoder"] == [Span(0, len(document.text)), *document.sentences]


# -- Long texts -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("words", "phrases"), [(0, 30), (350, 30), (525, 45), (700, 60), (1050, 90), (1_000_000, 90)])
def test_up_to_three_times_as_many_phrases_pass_in_a_long_text(words: int, phrases: int) -> None:
    assert in_long_text(30, words) == phrases


@pytest.mark.parametrize(("sentences", "asked"), [(10, 5), (75, 8), (100, 10), (150, 15), (200, 15)])
def test_the_language_model_scores_more_phrases_of_a_long_text(sentences: int, asked: int) -> None:
    document = many_words(sentences)
    scores = made(MODELS[1], leaders=5, read_words=40).score(document, nested_candidates(document))
    assert len({score.candidate for score in scores if "likelihood" in score.parts}) == asked


def test_all_of_a_long_text_is_read_if_asked_for_and_the_best_answer_counts() -> None:
    document = many_words(100)
    candidates = nested_candidates(document)
    alone, everywhere = (
        made(MODELS[1], leaders=5, read_words=60, read_all=read_all).score(document, candidates)
        for read_all in (False, True)
    )
    read = " ".join(read_by("language_model", everywhere, document))
    assert all(word in read for word in document.text.split())
    assert len(everywhere.read["language_model"]) > len(alone.read["language_model"])
    better = [
        (more.parts["likelihood"], less.parts["likelihood"])
        for more, less in zip(everywhere, alone, strict=True)
        if "likelihood" in more.parts
    ]
    assert better
    assert all(more >= less for more, less in better)


def test_a_long_text_without_spaces_is_read_in_windows_and_as_a_digest() -> None:
    things = ("冰层", "雷达", "地图", "卡车", "渡轮", "河流")
    document = unspaced(" ".join(f"{things[i % 6]} 很 {things[i * i % 5]} 。" for i in range(120)))
    candidates = nested_candidates(document)
    scores = made(MODELS[1], leaders=2, read_words=40, read_all=False).score(document, candidates)
    assert all(0 < score.score < 1 for score in scores)
    assert [span.start for span in scores.read["encoder"]] == [window.start for window in windows(document)]
    pieces = scores.read["language_model"]
    assert len(pieces) > 1
    assert sum(any(p.start <= w.start < p.end for p in pieces) for w in document.word_spans) <= 40


def by_candidate(scores: Iterable[OccurrenceScore]) -> dict[int, list[OccurrenceScore]]:
    rows: dict[int, list[OccurrenceScore]] = {}
    for score in scores:
        rows.setdefault(score.candidate, []).append(score)
    return rows


@pytest.mark.parametrize("backbone", MODELS[:2])
def test_occurrences_of_a_phrase_differ_in_their_support_alone_and_the_best_has_all_of_it(backbone: Any) -> None:
    document = many_words(100)
    scores = made(backbone, leaders=5, read_words=60).score(document, nested_candidates(document))
    supports: set[float] = set()
    for row in by_candidate(scores).values():
        local = [score.parts.get("local", 0.0) for score in row]
        assert max(local) == 0
        assert local[row.index(max(row, key=lambda score: score.score))] == 0
        shared = [{k: v for k, v in s.parts.items() if k not in ("local", "calibration")} for s in row]
        assert all(parts == shared[0] for parts in shared)
        for score in row:
            assert score.score == pytest.approx(float(expit(np.array(sum(score.parts.values())))))
        supports.update(local)
    assert len(supports) > 10


def test_support_is_weighted_similarity_and_attention_compared_with_the_best_occurrence() -> None:
    document = tagged("ice . ice . road . " * 100)
    candidates = nested_candidates(document)
    ice = candidates[0]
    middle = document.words[len(document.words) // 2].span.start
    near = WindowCosines(
        [0, 1], [Span(0, middle), Span(middle, len(document.text))], np.array([[0.9, 0.5], [0.3, 0.3]])
    )  # the means are 0.7 and 0.3: middle 0.5, deviation 0.2
    received = [None] * len(ice.occurrences)
    text = TextEvidence(Table({}, {}), document, candidates, near)
    weights = Sum({"similarity": 2.0, "attention": 3.0}, {}, 0.0)
    first = [occurrence.span.start < middle for occurrence in ice.occurrences]
    assert text.local(0, weights).tolist() == pytest.approx([0.0 if early else -2.0 * 0.4 / 0.2 for early in first])

    read = Answer(-1.0, -1.0, (NOT_READ + 0.5, NOT_READ - 0.5, *received[2:]))
    answered = replace(text, near=None, answers={0: read})
    expected = [0.0, -3.0, *[-1.5] * (len(received) - 2)]
    assert answered.local(0, weights).tolist() == pytest.approx(expected)
    both = replace(text, answers={0: read}).local(0, weights)
    assert both.tolist() == pytest.approx((text.local(0, weights) + expected).tolist())


def test_a_phrase_means_in_each_sentence_how_far_its_state_there_lies_along_the_direction(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = Keyphraseness(frozenset({"en"}), np.array([1.0, 2.0]), 0.25)
    monkeypatch.setattr(near, "_directions", lambda: {"gemma3_text-18": known})
    document = tagged("ice . ice . ice . road .")
    text = TextEvidence(Table({}, {}), document, nested_candidates(document))
    answers = [
        Answer(-1.0, -1.0, (None,) * 3, (np.array([1.0, 0.0]), None, np.array([0.0, 1.0]))),
        Answer(-1.0, -1.0, (None,), (None,)),
    ]
    answered = text.adding_answers([0, 1], answers, (), "gemma3_text-18")
    assert answered.table.columns["in_context"].tolist() == [1.25, 0.0]  # the mean of 0.75 and 1.75; not read
    assert answered.local(0, Sum({"in_context": 2.0}, {}, 0.0)).tolist() == [-2.0, -1.0, 0.0]
    for model, language in (("gemma3_text-26", "en"), ("gemma3_text-18", "de")):
        other = replace(text, document=replace(document, language=language)).adding_answers([0, 1], answers, (), model)
        assert other.table.columns["in_context"].tolist() == [0.0, 0.0]
        assert not other.in_context


def test_a_phrase_that_no_model_knows_has_the_same_support_everywhere() -> None:
    document = tagged("ice . ice . road .")
    candidates = nested_candidates(document)
    near = WindowCosines([1], [Span(0, len(document.text))], np.array([[0.9]]))
    text = TextEvidence(Table({}, {}), document, candidates, near)
    assert text.local(0, Sum({"similarity": 2.0}, {}, 0.0)).tolist() == [0.0, 0.0]


# -- Settings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("backbone", MODELS[:2])
def test_high_sums_are_bent_and_the_parts_say_so(backbone: Any, tmp_path: Path) -> None:
    row = load_weights().to_dict()
    for name in ("quick", "full"):
        row[name] = {**row[name], "intercept": 9.0, "calibration": {"knee": -1.0, "slope": 0.1}}
    path = tmp_path / "sure.json"
    path.write_text(json.dumps(row))
    document = tagged(TEXT)
    scores = made(backbone, weights=str(path)).score(document, nested_candidates(document))
    bent = [score for score in scores if "calibration" in score.parts]
    assert bent
    for score in bent:
        total = sum(score.parts.values())
        before = total - score.parts["calibration"]
        assert total == pytest.approx(-1 + 0.1 * (before + 1))
        assert score.score == pytest.approx(float(expit(total)))  # type: ignore[arg-type]


def test_no_candidates_and_no_words() -> None:
    assert made(None).score(tagged(""), []) == []


@pytest.mark.parametrize(
    ("name", "value"), [("encoded", 0), ("read_words", 19), ("leaders", -1), ("seed_weight", -1.0)]
)
def test_settings_out_of_range(name: str, value: float) -> None:
    with pytest.raises(SettingError, match=name):
        made(None, **{name: value})


def test_an_unknown_style_is_refused_with_the_known_ones() -> None:
    with pytest.raises(SettingError, match="style is 'topics', but must be one of subjects, terms, keywords, tags"):
        made(None, style="topics")
    with pytest.raises(SettingError, match="'subjects' or 'terms' or 'keywords' or 'tags'"):
        Extractor("mudyplus", style="topics")  # type: ignore[arg-type]


@pytest.mark.parametrize("language", ["en", "fr"])
def test_a_style_has_weights_for_every_language(language: str) -> None:
    document = tagged(TEXT, language)
    subjects, terms = (made(None, style=style).weights_for(document) for style in ("subjects", "terms"))
    assert subjects == load_weights(None, "subjects", language)
    assert terms == load_weights(None, "terms", language)
    assert made(None).weights_for(document) == subjects


def test_a_file_of_weights_is_used_whatever_the_style_and_the_language(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    row = load_weights().to_dict()
    path.write_text(json.dumps({**row, "quick": {**row["quick"], "intercept": 0.25}}))
    method = made(None, style="terms", weights=str(path))
    assert [method.weights_for(tagged(TEXT, language)) for language in ("en", "fr")] == [load_weights(path)] * 2
    (score, *_) = method.score(tagged("ice"), nested_candidates(tagged("ice")))
    context = row["quick"]["context"]["words"] * log(20 / 200)
    assert score.parts["base"] == pytest.approx(0.25 + context)


def test_weights_without_a_model_are_refused_before_one_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({**load_weights().to_dict(), "full": None}))
    with pytest.raises(SettingError, match="fitted without a language model"):
        made(MODELS[1], weights=str(path))
    with pytest.raises(SettingError, match="fitted without a language model"):
        MudyPlus.needed({"weights": str(path)}, pytest.fail)
    assert made(None, weights=str(path)).score(tagged("ice"), nested_candidates(tagged("ice")))
    assert MudyPlus.needed({"weights": str(path), "leaders": 0}, pytest.fail) == {"encoder", "multilingual"}


def test_weights_that_cannot_be_read() -> None:
    with pytest.raises(SettingError, match="cannot be read"):
        made(None, weights="/nowhere/mine.json")
