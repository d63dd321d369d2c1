"""Why a phrase stands where it stands: parts of scores, gold phrases, one model for many methods."""

from collections.abc import Callable, Mapping
from functools import partial
from math import log, log1p
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mudy import Extractor, InputError, engines
from mudy.extraction.explanation import Explained, Explanation, gold_places, heat
from mudy.extraction.ranking import rounded
from mudy.extraction.results import Result
from tests import small
from tests.explained import saved
from tests.taggers import english

SETTINGS: dict[str, Any] = {"mixture": False, "unit": 6.0, "sam_layers": (1,), "k_attn": 3}


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {family: saved(tmp_path_factory.mktemp(family), family) for family in ("llama", "t5", "bert")}


def extractor(models: dict[str, Path], family: str = "llama", method: str = "mudy", **options: Any) -> Extractor:
    own = SETTINGS if method == "mudy" else {}
    encoder = str(models["bert"])
    return Extractor(method, str(models[family]), encoder=encoder, language=english(), **{**own, **options})


# -- Heat -------------------------------------------------------------------------------------------------------------


def test_heat_is_the_share_of_the_others_that_are_lower() -> None:
    assert heat([-3.0, -1.0, -2.0]) == [0.0, 1.0, 0.5]
    assert heat([5.0, 5.0, 5.0, 7.0]) == [0.0, 0.0, 0.0, 1.0]
    assert heat([]) == []
    assert heat([-1.0]) == [0.0]


@given(st.lists(st.floats(-9, 9), min_size=2, max_size=40))
def test_heat_keeps_the_order_of_scores_and_does_not_see_their_size(scores: list[float]) -> None:
    found = heat(scores)
    for one, score in zip(found, scores, strict=True):
        assert one == sum(other < score for other in scores) / (len(scores) - 1)
    assert heat([score * 4 for score in scores]) == found  # exact: a power of two


# -- Gold -------------------------------------------------------------------------------------------------------------


def gold(text: str, *phrases: str) -> dict[str, list[str]]:
    return {g.text: [span.of(text) for span in g.spans] for g in gold_places(english().document(text), phrases)}


def test_gold_is_found_by_its_stems_wherever_it_stands_and_marked_in_the_letters_of_the_text() -> None:
    text = "Beaver dams hold water. A beaver dam broke; the dam of a beaver did not. 😀 DAMS rise."
    assert gold(text, "beaver dam", "dam") == {
        "beaver dam": ["Beaver dams", "beaver dam"],
        "dam": ["dams", "dam", "dam", "DAMS"],
    }


def test_gold_crosses_hyphens_and_line_breaks() -> None:
    text = "Decision-making is slow.\nGood decision\nmaking pays, and so does a decision-making body."
    assert gold(text, "decision making", "decision-making")["decision making"] == [
        "Decision-making",
        "decision\nmaking",
        "decision-making",
    ]


def test_gold_that_is_absent_has_no_place_and_is_named_once() -> None:
    found = gold_places(english().document("A radar map."), ["river  ice", "river ice", "radar maps", "!?", ""])
    assert [(g.text, len(g.spans)) for g in found] == [("river ice", 0), ("radar maps", 1), ("!?", 0), ("", 0)]
    assert found[0].to_dict() == {"text": "river ice", "places": []}


def test_one_text_is_no_list_of_gold_phrases() -> None:
    with pytest.raises(InputError, match="Put it in a list"):
        gold_places(english().document("A radar map."), "radar map")


# -- Parts ------------------------------------------------------------------------------------------------------------


def recombined(method: Explained, parts: Mapping[str, float]) -> float:
    """The score as the contract of the JSON tells it."""
    weight, attention, recurrence = parts["lambda"], parts["AS"], float(method.settings["recurrence"])
    raised = weight * log1p(attention) if method.settings["lambda_outside"] else log1p(weight * attention)
    return parts["p"] / (1 + raised) / (1 + recurrence * log(parts["m"]))


@pytest.mark.parametrize("outside", [False, True])
@pytest.mark.parametrize("family", ["llama", "t5"])
def test_every_score_follows_from_its_parts(models: dict[str, Path], family: str, outside: bool) -> None:
    long = " ".join([small.TEXT] * 12 + ["A glacier ends it."])
    made = extractor(models, family, lambda_outside=outside, section_tokens=256, lambda_words=400)
    (found,) = made.explain(long).methods
    assert found.result.coverage.sections > 1
    places = [o for k in found.result.to_dict()["keyphrases"] for o in k["occurrences"]]
    assert {place["m"] for place in places} > {1}
    assert any(place["AS"] > 0 for place in places)
    for place in places:
        assert recombined(found, place) == pytest.approx(place["score"], rel=1e-9)


def test_another_lambda_needs_no_model(models: dict[str, Path]) -> None:
    """Parts of one run, recombined under another lambda, give the ranking of a run with that lambda."""
    one, other = (extractor(models, lambda_=x, lambda_words=400).explain(small.TEXT).methods[0] for x in (2.0, 0.5))
    assert "lambda_" in one.free
    moved = {}
    for phrase in one.result.keyphrases:
        scores = []
        for occurrence in phrase.occurrences:
            parts = {**occurrence.parts, "lambda": occurrence.parts["lambda"] * 0.5 / one.settings["lambda_"]}
            scores.append((-rounded(recombined(one, parts)), occurrence.start, occurrence.end))
        moved[phrase.text] = min(scores)
    assert sorted(moved, key=lambda text: moved[text]) == [k.text for k in other.result.keyphrases]


# -- Several methods --------------------------------------------------------------------------------------------------


def test_many_methods_load_each_model_once_and_answer_as_they_do_alone(
    models: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    loads: list[str] = []

    def counted(name: str, load: Callable[..., Any], *arguments: Any) -> Any:
        loads.append(name)
        return load(*arguments)

    for name in ("load_backbone", "load_encoder"):
        monkeypatch.setattr(engines, name, partial(counted, name, getattr(engines, name)))
    names = ["promptrank", "mudy", "samrank", "embedrank", "mderank", "yake"]
    made = extractor(models)
    found = made.explain(small.TEXT, names)
    assert sorted(loads) == ["load_backbone", "load_encoder"]
    assert made.extract(small.TEXT, None) == found.methods[1].result
    assert made.using("mudy", lambda_=0.0).extract(small.TEXT).method == "mudy"
    assert sorted(loads) == ["load_backbone", "load_encoder"]
    assert [method.result.method for method in found.methods] == names
    for method in found.methods:
        alone = extractor(models, method=method.result.method).extract(small.TEXT, None)
        assert alone == method.result


def test_an_extractor_keeps_its_method_and_settings_when_another_is_made_from_it(models: dict[str, Path]) -> None:
    made = extractor(models)
    before = made.extract(small.TEXT, 3)
    assert made.using("promptrank").extract(small.TEXT, 3).method == "promptrank"
    assert made.using("mudy", **{**SETTINGS, "lambda_": 0.0}).settings["lambda_"] == 0.0
    assert (made.method, made.settings, made.extract(small.TEXT, 3)) == ("mudy", SETTINGS, before)


def test_an_explanation_holds_all_phrases_unless_fewer_are_asked_for(models: dict[str, Path]) -> None:
    made = extractor(models)
    every = made.explain(small.TEXT, ["mudy", "mudy", "yake"], gold=["radar maps"], source="ice.txt")
    assert [m.result.method for m in every.methods] == ["mudy", "yake"]
    assert len(every.methods[0].result.keyphrases) == len(every.methods[1].result.keyphrases) > 5
    assert len(made.explain(small.TEXT, top_n=3).methods[0].result.keyphrases) == 3
    written = every.to_dict()
    assert (written["source"], written["gold"][0]["text"]) == ("ice.txt", "radar maps")
    assert set(written["methods"][0]) == {
        *("method", "model", "language", "read_by", "coverage", "keyphrases"),
        *("settings", "free", "seconds"),
    }


def test_a_text_without_phrases_is_explained_without_a_model() -> None:
    found = Extractor("mudy", model="some/model-that-is-nowhere", language=english()).explain(
        "...", ["mudy", "promptrank"]
    )
    assert [(m.result.keyphrases, m.settings, m.free) for m in found.methods] == [((), {}, ())] * 2


def test_a_result_by_itself_is_an_explanation_of_what_it_knows() -> None:
    found = Explanation.of(Extractor("yake", language=english()).extract(small.TEXT, 4, source="ice.txt"))
    assert (found.source, found.text, found.gold) == ("ice.txt", small.TEXT, ())
    assert isinstance(found.methods[0].result, Result)
    assert found.to_dict()["methods"][0]["seconds"] is None
