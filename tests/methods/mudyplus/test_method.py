import json
from pathlib import Path
from typing import Any

import pytest

from mudy.candidates import nested_candidates
from mudy.errors import SettingError
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.fitting import expit
from mudy.methods.mudyplus.weights import load_weights
from tests import small
from tests.tagged import tagged

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


def test_the_spans_that_each_model_read_come_with_the_scores() -> None:
    document = tagged(TEXT)
    scores = made(MODELS[1], encoded_words=2, read_words=4).score(document, nested_candidates(document))
    assert {model: [span.of(document.text) for span in spans] for model, spans in scores.read.items()} == {
        "encoder": ["river ice"],
        "language_model": ["river ice is thin"],
    }


def test_a_beginning_longer_than_the_encoders_window_counts_as_read_up_to_the_window() -> None:
    document = tagged(" ".join(["ice road ."] * small.POSITIONS))
    scores = made(None, encoded_words=10**6).score(document, nested_candidates(document))
    ((read,),) = scores.read.values()
    assert len(small.bert().read_alone(read.of(document.text))) == small.POSITIONS
    assert read.end < len(document.text) / 2


def test_a_query_has_the_encoder_read_the_sentences_too() -> None:
    document = tagged(TEXT)
    scores = made(None, encoded_words=2, query="ice").score(document, nested_candidates(document))
    assert scores.read["encoder"][1:] == list(document.sentences)


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


@pytest.mark.parametrize("name", ["encoded", "read_words", "encoded_words"])
def test_settings_out_of_range(name: str) -> None:
    with pytest.raises(SettingError, match=name):
        made(None, **{name: 0})


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
