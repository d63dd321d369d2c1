import json
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

import pytest

from mudy.errors import SettingError
from mudy.methods import STYLES, Style
from mudy.methods.mudyplus.evidence import CHEAP, EVIDENCE
from mudy.methods.mudyplus.weights import Weights, built_in_styles, load_weights

FITTED = Path(str(files("mudy.methods.mudyplus") / "fitted"))
GOOD: dict[str, Any] = load_weights().to_dict()


@pytest.mark.parametrize(
    "file", sorted({*FITTED.glob("*.json")} - {*FITTED.glob("keyphraseness*.json")}), ids=lambda file: str(file.stem)
)
def test_shipped_weights_can_be_used_at_every_speed_and_say_what_they_were_fitted_on(file: Path) -> None:
    weights = load_weights(file)
    assert set(weights.quick.evidence) <= set(CHEAP)
    assert set(weights.with_model.evidence) <= set(EVIDENCE)
    assert "likelihood" in weights.with_model.evidence
    assert weights.fitted_on


def test_the_default_is_subjects_in_english() -> None:
    assert load_weights() == load_weights(None, "subjects", "en") == load_weights(FITTED / "subjects.json")


def test_terms_and_subjects_have_weights_of_their_own_for_other_languages() -> None:
    assert load_weights(None, "subjects", "fr") == load_weights(FITTED / "subjects_other_languages.json")
    assert load_weights(None, "terms", "fr") == load_weights(FITTED / "other_languages.json")


def test_a_file_is_read_whatever_the_style_and_the_language() -> None:
    file = FITTED / "terms.json"
    assert load_weights(file, "subjects", "fr") == load_weights(file) == load_weights(None, "terms")


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("style", get_args(Style))
def test_every_style_has_weights_with_and_without_a_language_model(style: Style, language: str) -> None:
    weights = load_weights(None, style, language)
    assert weights.quick.evidence
    assert weights.with_model.evidence


def test_a_weight_of_repeats_below_zero_is_refused() -> None:
    with pytest.raises(SettingError, match=r"x: quick: the weight of 'repeats' is -1.0, but must be 0 or more"):
        Weights.of({**GOOD, "quick": {**GOOD["quick"], "repeats": -1}}, "x")


def test_weights_survive_being_written(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(GOOD))
    assert load_weights(path) == load_weights(str(path)) == Weights.of(GOOD, "here")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 99}, "version 99"),
        ({"quick": {"evidence": {"likelihood": 1.0}}}, "unknown evidence 'likelihood'"),
        ({"full": {"evidence": {"luck": 1.0}}}, "unknown evidence 'luck'"),
        ({"full": {"evidence": {"ending": 1.0}, "context": {"weather": 1.0}}}, "unknown evidence 'weather'"),
        ({"full": {"evidence": {"ending": "much"}}}, "must be a number"),
        ({"full": {"evidence": {"ending": float("nan")}}}, "must be a number"),
        ({"full": {"evidence": {"ending": 1e308}}}, "is 1e[+]308, but must be a number from -1,000,000 to 1,000,000"),
        ({"full": {"evidence": {"ending": -(10**400)}}}, "must be a number from"),
        ({"quick": {**GOOD["quick"], "intercept": 1e308}}, "the weight of 'intercept' is 1e[+]308"),
        ({"quick": {**GOOD["quick"], "calibration": {"slope": float("inf")}}}, "'slope' is inf"),
        ({"full": {"evidence": {}}}, "no evidence has a weight"),
        ({"full": {"evidence": []}}, "must be names with numbers"),
        ({"full": {"evidence": {"ending": 1.0}, "calibration": {"slope": 0}}}, "must be above 0"),
        ({"full": {"evidence": {"ending": 1.0}, "calibration": {"bow": 1}}}, "unknown number 'bow'"),
        ({"full": {"evidence": {"ending": 1.0}, "calibration": 2}}, "must be names with numbers"),
        ({"full": 1}, "lack 'full'"),
        ({"quick": None}, "lack 'quick'"),
    ],
)
def test_weights_that_cannot_be_used(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingError, match=message):
        Weights.of({**GOOD, **change}, "here")


def test_files_that_are_no_weights(tmp_path: Path) -> None:
    path = tmp_path / "no.json"
    for content in ("[]", "{", '{"a": 1}'):
        path.write_text(content)
        with pytest.raises(SettingError, match="not a file of weights"):
            load_weights(path)
    with pytest.raises(SettingError, match="cannot be read"):
        load_weights(tmp_path / "missing.json")


def test_weights_that_lack_a_sum_are_not_taken_for_those_fitted_without_a_model() -> None:
    with pytest.raises(SettingError, match="lack 'full'"):
        Weights.of({name: value for name, value in GOOD.items() if name != "full"}, "here")


def test_weights_fitted_without_a_language_model_say_so_where_it_is_asked() -> None:
    weights = Weights.of({**GOOD, "full": None}, "mine.json")
    assert weights.full is None
    assert weights.to_dict()["full"] is None
    with pytest.raises(SettingError, match=r"mine.json: fitted without a language model.*speed 'quick'"):
        weights.with_model  # noqa: B018


def test_the_styles_of_a_language_are_listed_once() -> None:
    assert len(built_in_styles()) == len(STYLES)
    assert [weights.source for weights in built_in_styles("de")] == [
        "subjects_other_languages.json",
        "other_languages.json",
    ]
