"""A style is chosen alike in Python, by commands and by integrations, and other methods refuse it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pandas
import pytest

import mudy.integrations.pandas  # noqa: F401 (registers its namespace)
from mudy import Extractor, InputError, SettingError, corpus
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import evaluate
from mudy.extraction.options import RankingFocus
from mudy.extraction.run_identity import requested_settings
from mudy.integrations.sklearn import KeyphraseVectorizer
from mudy.methods import DEFAULT_STYLE, STYLES, Style
from mudy.methods.mudyplus import weights
from tests.command_line import run
from tests.served import save_small_encoder
from tests.small import TEXT

NOTE = "The flood wall held. Engineers built the flood wall of stone, and the flood wall saved the harbour town.\n"


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return save_small_encoder(tmp_path_factory.mktemp("encoder"))


@pytest.fixture
def quick(encoder: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Arguments of an extractor without a language model; its phrases are unlikely as subjects, and likely as terms."""
    shipped, intercepts = weights.load_weights(), {"subjects": -8.0, "terms": 4.0}

    def built_in(name: str) -> weights.Weights:
        return replace(shipped, quick=replace(shipped.quick, intercept=intercepts[name]))

    monkeypatch.setattr(weights, "_built_in", built_in)
    return {"encoder": encoder, "speed": "quick", "language": "en"}


def options(quick: dict[str, Any]) -> list[str]:
    return [word for name, value in quick.items() for word in (f"--{name}", value)]


def scores(result: Any) -> list[float]:
    return [keyphrase.score for keyphrase in result]


def test_every_style_is_explained() -> None:
    assert tuple(STYLES) == get_args(Style)
    assert DEFAULT_STYLE in STYLES


# -- In Python --------------------------------------------------------------------------------------------------------


def test_a_style_is_an_argument_of_the_extractor_or_of_a_call(quick: dict[str, Any]) -> None:
    terms, plain = Extractor(style="terms", **quick), Extractor(**quick)
    assert (terms.style, plain.style) == ("terms", "subjects")
    result = terms.extract(TEXT)
    assert scores(result) != scores(plain.extract(TEXT))
    assert plain.extract(TEXT, style="terms") == result
    assert list(plain.extract_many([TEXT], style="terms")) == [result]
    assert plain.explain(TEXT, style="terms").methods[0].settings["style"] == "terms"
    assert terms.extract(TEXT, style="subjects") == plain.extract(TEXT)


def test_styles_share_the_models(quick: dict[str, Any]) -> None:
    plain = Extractor(**quick)
    assert plain.towards(style="terms").loader.encoder() is plain.loader.encoder()


def test_an_extractor_says_its_style_and_is_made_again_from_its_arguments(quick: dict[str, Any]) -> None:
    terms = Extractor(style="terms", **quick)
    assert "style='terms'" in repr(terms)
    assert Extractor(**terms.arguments()).style == "terms"


def test_of_compared_methods_a_style_is_for_those_that_have_styles(quick: dict[str, Any]) -> None:
    explanation = Extractor(**quick).explain(TEXT, ["yake", "mudyplus"], style="terms")
    assert [method.settings.get("style") for method in explanation.methods] == [None, "terms"]
    assert RankingFocus("terms").settings_of_each(["yake"]) == {"yake": {"style": "terms"}}  # which yake refuses


REFUSED: dict[str, Callable[[], object]] = {
    "extractor": lambda: Extractor("yake", style="terms"),
    "extract": lambda: Extractor("yake").extract(TEXT, style="terms"),
    "extract_many": lambda: Extractor("yake").extract_many([TEXT], style="terms"),
    "explain": lambda: Extractor("yake").explain(TEXT, ["yake", "textrank"], style="terms"),
    "towards": lambda: Extractor("yake").towards(style="terms"),
    "vectorizer": lambda: KeyphraseVectorizer(method="yake", settings={"style": "terms"}).fit([TEXT]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_another_method_refuses_a_style_before_it_reads_a_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Extractor, "read", lambda *_: pytest.fail("a text was read"))
    with pytest.raises(SettingError, match="yake takes no style: only mudyplus has styles"):
        REFUSED[name]()


@pytest.mark.parametrize("style", ["subject", "", 5, ["terms"]])
def test_an_unknown_style_is_refused_with_those_that_there_are(style: Any) -> None:
    for make in (lambda: Extractor(style=style), lambda: Extractor().extract(TEXT, style=style)):
        with pytest.raises(SettingError, match=r"style is .* must be 'subjects' or 'terms' or 'keywords' or 'tags'"):
            make()


def test_weights_of_a_file_replace_a_style_and_cannot_be_given_with_one(quick: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(weights.load_weights(None, "terms").to_dict()))
    fitted = Extractor(weights=str(file), **quick)
    assert fitted.style is None
    assert scores(fitted.extract(TEXT)) == scores(Extractor(style="terms", **quick).extract(TEXT))
    told = "Both style and weights are given, but only one of them can be used"
    with pytest.raises(SettingError, match=told):
        Extractor(style="terms", weights=str(file))
    with pytest.raises(SettingError, match=told):
        fitted.extract(TEXT, style="terms")
    assert Extractor(style="terms", weights=None).style == "terms"


# -- Runs -------------------------------------------------------------------------------------------------------------


def test_the_style_belongs_to_the_identity_of_a_run(quick: dict[str, Any]) -> None:
    assert requested_settings(Extractor(**quick)) == requested_settings(Extractor(style="subjects", **quick))
    assert requested_settings(Extractor(style="terms", **quick))["style"] == "terms"
    assert "style" not in requested_settings(Extractor("yake"))
    assert "style" not in requested_settings(Extractor(weights="mine.json", **quick))


def test_a_corpus_is_not_resumed_in_another_style(quick: dict[str, Any], tmp_path: Path) -> None:
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text(json.dumps({"text": TEXT}) + "\n")
    corpus.run(source, output, **quick)
    assert corpus.run(source, output, style="subjects", **quick).resumed == 1
    with pytest.raises(InputError, match="style was 'subjects', now 'terms'"):
        corpus.run(source, output, style="terms", **quick)


def test_an_evaluation_is_not_resumed_in_another_style_and_names_its_own(quick: dict[str, Any], tmp_path: Path) -> None:
    data, output = Dataset("rivers", "mudy", (Record("d", None, TEXT, ("river ice",)),)), tmp_path / "run.json"
    assert "style=terms" in evaluate(Extractor(style="terms", **quick), [data], output).title
    with pytest.raises(InputError, match="style was 'terms', now 'subjects'"):
        evaluate(Extractor(**quick), [data], output)


# -- Commands ---------------------------------------------------------------------------------------------------------

COMMANDS: dict[str, tuple[str, ...]] = {
    "extract": ("extract", "in.txt", "-m"),
    "corpus": ("corpus", "in.jsonl", "out.jsonl", "-m"),
    "evaluate": ("evaluate", "in.jsonl", "-m"),
    "tag": ("tag", "in.md", "-m"),
    "explain": ("explain", "in.txt", "-m"),
    "serve": ("serve", "--port", "0", "-m"),
    "mcp": ("mcp", "-m"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text(TEXT)
    (tmp_path / "in.md").write_text(NOTE)
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "d", "text": TEXT, "keyphrases": ["river ice"]}) + "\n")
    return tmp_path


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_offers_styles_and_refuses_them_for_another_method(folder: Path, name: str) -> None:
    assert "--style [subjects|terms|keywords|tags]" in run(name, "--help").stdout
    assert "Invalid value for '--style'" in run(*COMMANDS[name], "mudyplus", "--style", "subject").stderr
    refused = run(*COMMANDS[name], "yake", "--style", "terms")
    assert "yake takes no style: only mudyplus has styles." in refused.stderr
    assert refused.exit_code != 0
    assert not (folder / "out.jsonl").exists()
    assert (folder / "in.md").read_text() == NOTE


def test_a_command_extracts_in_a_style(folder: Path, quick: dict[str, Any]) -> None:
    found = run("extract", "in.txt", "--style", "terms", "-f", "json", *options(quick))
    expected = Extractor(style="terms", **quick).extract((folder / "in.txt").read_text())
    assert [keyphrase["score"] for keyphrase in json.loads(found.stdout)["keyphrases"]] == scores(expected)


@pytest.mark.usefixtures("folder")
def test_a_command_explains_in_a_style(quick: dict[str, Any]) -> None:
    found = run("explain", "in.txt", "-m", "yake,mudyplus", "--style", "terms", "--json", *options(quick))
    assert [method["settings"].get("style") for method in json.loads(found.stdout)["methods"]] == [None, "terms"]


@pytest.mark.usefixtures("folder")
def test_a_command_runs_a_corpus_and_an_evaluation_in_a_style(quick: dict[str, Any]) -> None:
    run("corpus", "in.jsonl", "out.jsonl", "--style", "terms", *options(quick))
    other = run("corpus", "in.jsonl", "out.jsonl", "--style", "subjects", *options(quick))
    assert "style was 'terms', now 'subjects'" in other.stderr
    assert "style=terms" in run("evaluate", "in.jsonl", "--style", "terms", *options(quick)).stdout


@pytest.mark.usefixtures("folder")
def test_a_command_tags_in_a_style(quick: dict[str, Any]) -> None:
    likely = ("--min-score", "0.5", *options(quick))
    assert "0 of 1 notes changed" in run("tag", "in.md", *likely).stderr
    assert "1 of 1 notes changed" in run("tag", "in.md", "--style", "terms", *likely).stderr


@pytest.mark.usefixtures("folder")
def test_a_style_is_given_once(quick: dict[str, Any]) -> None:
    twice = run("extract", "in.txt", "--style", "terms", "--set", "style=tags", *options(quick))
    assert "--set style repeats what another option says" in twice.stderr
    both = run("extract", "in.txt", "--style", "terms", "--set", "weights=mine.json", *options(quick))
    assert "Both style and weights are given" in both.stderr
    assert run("extract", "in.txt", "--set", "style=terms", "-q", *options(quick)).exit_code == 0


# -- Integrations -----------------------------------------------------------------------------------------------------


def test_a_pandas_column_and_a_vectorizer_take_a_style(quick: dict[str, Any]) -> None:
    likely = {**quick, "min_score": 0.5}
    phrases = [keyphrase.text for keyphrase in Extractor(style="terms", **quick).extract(TEXT, min_score=0.5)]
    column = pandas.Series([TEXT])
    assert column.mudy.keyphrases(**likely).tolist() == [[]]
    assert column.mudy.keyphrases(style="terms", **likely).tolist() == [phrases]
    vectorizer = KeyphraseVectorizer(settings={**likely, "style": "terms"}).fit([TEXT])
    assert len(vectorizer.get_feature_names_out()) == len(phrases) > 0
