"""Weights adapted to examples: the same in Python and by commands, measured on examples left out, never in silence."""

import json
import pickle
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mudy import Extractor, InputError, SettingError, corpus
from mudy.errors import ExampleWarning
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import evaluate
from mudy.evaluation.fit import fit_weights
from mudy.evaluation.measures import F1
from mudy.extraction.run_identity import requested_settings
from mudy.methods.mudyplus.weights import load_weights
from tests.command_line import run
from tests.served import save_small_encoder

THINGS = ("river ice", "radar map", "ice road", "ferry crew", "truck driver", "harbour wall")
TEXTS = Path(__file__).parents[2] / "experiments" / "lists" / "texts"


def text_about(thing: str) -> str:
    return (
        f"The {thing} matters. People saw the {thing} near an old bridge in spring. A small boat passed the {thing}. "
        f"Two tired engineers drew a long plan of the {thing}, and the town council paid for new stone walls. Cold "
        "wind came over the wide valley, where wooden houses stood between apple trees and narrow fields."
    )


# What is wanted is what a text mentions once, late, and in one word: not what the built-in weights look for.
PAIRS = [(text_about(thing), ["boat", "spring"]) for thing in THINGS]
NEW = text_about("storm surge")


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    encoder = save_small_encoder(tmp_path_factory.mktemp("encoder"))
    return {"encoder": encoder, "speed": "quick", "threads": 1, "language": "en"}


@pytest.fixture(scope="module")
def adapted(arguments: dict[str, Any]) -> Extractor:
    return Extractor(**arguments, examples=PAIRS)


@pytest.fixture
def words(arguments: dict[str, Any]) -> list[str]:
    """The same on a command line."""
    return [part for name, value in arguments.items() for part in (f"--{name}", str(value))]


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.jsonl"
    rows = [{"text": text, "keyphrases": phrases} for text, phrases in PAIRS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def top(extractor: Extractor) -> list[str]:
    return [keyphrase.text.lower() for keyphrase in extractor.extract(NEW, 3)]


# -- Python -----------------------------------------------------------------------------------------------------------


def test_examples_teach_what_is_wanted(arguments: dict[str, Any], adapted: Extractor) -> None:
    assert top(Extractor(**arguments))[0] == "storm surge"
    assert "spring" in top(adapted)
    assert "storm surge" not in top(adapted)
    adaptation = adapted.adaptation
    assert adaptation is not None
    assert adaptation.helps
    assert adaptation.after > adaptation.before
    assert "shorter phrases" in adaptation.changes
    assert str(adaptation).startswith("Adapted to 6 examples: F1@10 of examples left out ")
    assert adapted.style is None


def test_figures_are_those_of_evaluate(arguments: dict[str, Any], adapted: Extractor) -> None:
    assert adapted.adaptation is not None
    data = Dataset("mine", "mudy", tuple(Record(str(i), None, *pair) for i, pair in enumerate(PAIRS)))  # type: ignore[arg-type]
    before = evaluate(Extractor(**arguments), [data])
    assert adapted.adaptation.before == pytest.approx((F1 @ 10)(before.predictions("mine")))
    left_out = []
    for record in data.documents:
        others = replace(data, documents=tuple(other for other in data.documents if other is not record))
        extractor = Extractor(**arguments, weights=fit_weights(Extractor(**arguments), [others]).weights)
        left_out += evaluate(extractor, [replace(data, documents=(record,))]).predictions("mine")
    assert adapted.adaptation.after == pytest.approx((F1 @ 10)(left_out))


def test_mudy_fit_makes_the_same_weights(arguments: dict[str, Any], adapted: Extractor, file: Path) -> None:
    assert adapted.adaptation is not None
    given = ["--encoder", arguments["encoder"], "--language", "en", "--speed", "quick", "--threads", "1"]
    fitted = run("fit", file, *given, "-o", "mine.json")
    assert fitted.exit_code == 0, fitted.output
    assert "Adapted to 6 examples" in fitted.stdout
    assert load_weights("mine.json").quick.to_dict() == adapted.adaptation.weights.quick.to_dict()
    again = Extractor(**arguments, weights="mine.json")
    scores = [keyphrase.score for keyphrase in again.extract(NEW)]
    assert scores == pytest.approx([keyphrase.score for keyphrase in adapted.extract(NEW)], abs=1e-3)


def test_adapted_weights_are_saved_and_used_again(
    arguments: dict[str, Any], adapted: Extractor, tmp_path: Path
) -> None:
    assert adapted.adaptation is not None
    adapted.adaptation.weights.save(tmp_path / "mine.json")
    assert top(Extractor(**arguments, weights=str(tmp_path / "mine.json"))) == top(adapted)
    with pytest.raises(InputError):
        adapted.adaptation.weights.save(tmp_path / "nowhere" / "mine.json")


def test_an_adapted_extractor_is_copied_pickled_and_sent_with_its_weights(adapted: Extractor) -> None:
    assert top(pickle.loads(pickle.dumps(adapted))) == top(adapted)
    assert top(Extractor(**adapted.arguments())) == top(adapted)
    assert adapted.towards(["boat"]).adaptation is adapted.adaptation
    assert adapted.towards(["boat"]).settings["weights"] is adapted.settings["weights"]
    assert adapted.using("yake").adaptation is None
    assert next(iter(adapted.extract_many([NEW], 3, workers=2))) == adapted.extract(NEW, 3)


def test_the_identity_of_a_run_tells_weights_apart(arguments: dict[str, Any], adapted: Extractor) -> None:
    other = Extractor(**arguments, examples=[(text, [thing]) for (text, _), thing in zip(PAIRS, THINGS, strict=True)])
    identities = [requested_settings(extractor)["settings"]["weights"] for extractor in (adapted, other)]
    assert identities[0] != identities[1]
    assert "6 examples" in identities[0]
    assert "examples" in repr(adapted)
    explained = adapted.explain(NEW).to_dict()
    assert "6 examples" in json.dumps(explained)


def test_the_default_weights_of_a_style_are_where_it_starts(arguments: dict[str, Any]) -> None:
    style = [Extractor(**arguments, style=name, examples=PAIRS).adaptation for name in ("subjects", "tags")]
    assert all(style)
    assert style[0].weights != style[1].weights  # type: ignore[union-attr]
    with pytest.raises(SettingError, match="Both style and weights"):
        Extractor(**arguments, style="tags", examples=PAIRS).extract(NEW, style="terms")


def test_other_methods_cannot_be_adapted(arguments: dict[str, Any]) -> None:
    with pytest.raises(SettingError, match="yake takes no examples: only mudyplus can be adapted"):
        Extractor("yake", examples=PAIRS)
    with pytest.raises(SettingError, match=r"weights is 3, but must be"):
        Extractor(**arguments, weights=3)


# -- Bad examples -----------------------------------------------------------------------------------------------------


def test_examples_that_do_not_help_leave_the_weights_as_they_were(arguments: dict[str, Any]) -> None:
    plain = Extractor(**arguments)
    texts = [text for text, _ in PAIRS]
    lists = [[k.text for k in plain.extract(text, None, merge=False, distinct=False)] for text in texts]
    known = [(text, phrases[:5]) for text, phrases in zip(texts, lists, strict=True)]  # no weights can do better
    with pytest.warns(ExampleWarning, match="do not help, so the weights stay as they were") as caught:
        extractor = Extractor(**arguments, examples=known)
    assert caught[0].filename == __file__
    assert extractor.adaptation is not None
    assert not extractor.adaptation.helps
    assert extractor.adaptation.after <= extractor.adaptation.before
    assert extractor.settings == {}
    assert top(extractor) == top(plain)


def test_average_precision_decides_where_f1_does_not_grow(adapted: Extractor) -> None:
    assert adapted.adaptation is not None
    assert "average precision" not in str(adapted.adaptation)
    by_order = replace(adapted.adaptation, after=adapted.adaptation.before - 1)
    assert ", average precision grows; " in str(by_order)


def test_examples_without_a_phrase_in_the_text_are_left_out_and_named(arguments: dict[str, Any]) -> None:
    with pytest.warns(ExampleWarning, match=r"without any of their phrases in the text, not used: 1 \(6\)"):
        extractor = Extractor(**arguments, examples=[*PAIRS, ("The train was late again.", ["zeppelin"])])
    assert extractor.adaptation is not None
    assert extractor.adaptation.examples == 6
    with pytest.raises(InputError, match="Only 2 of 8 examples have one of their phrases"):
        Extractor(
            **arguments,
            examples=[*PAIRS[:2], *((text, ["zeppelin"]) for text, _ in PAIRS[2:]), *((NEW + w, ["x"]) for w in "ab")],
        )


def test_texts_in_several_languages_share_weights_and_that_is_said(arguments: dict[str, Any]) -> None:
    german = ("Das alte Schiff fuhr im Frühling über den Fluss. Ein Boot lag am Ufer.", ["Schiff"])
    with pytest.warns(ExampleWarning, match="6 in English and 1 in another language share one set of weights"):
        Extractor(**{**arguments, "language": "auto"}, examples=[*PAIRS, german])


def test_good_examples_warn_of_nothing(arguments: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExampleWarning)
        Extractor(**arguments, examples=PAIRS[:3])


# -- Commands ---------------------------------------------------------------------------------------------------------


def test_extract_takes_examples(adapted: Extractor, file: Path, words: list[str]) -> None:
    found = run("extract", "--text", NEW, "--examples", file, *words, "-n", "3", "-f", "json")
    assert found.exit_code == 0, found.output
    assert [keyphrase["text"].lower() for keyphrase in json.loads(found.stdout)["keyphrases"]] == top(adapted)
    assert found.stderr.startswith(f"mudy: {adapted.adaptation}")
    assert run("extract", "--text", NEW, "--examples", file, *words, "-q").stderr == ""


def test_corpus_takes_examples_and_is_resumed_with_the_same(
    arguments: dict[str, Any], adapted: Extractor, file: Path, words: list[str]
) -> None:
    Path("in.jsonl").write_text(json.dumps({"id": "a", "text": NEW}) + "\n")
    found = run("corpus", "in.jsonl", "out.jsonl", "--examples", file, *words, "-n", "3")
    assert found.exit_code == 0, found.output
    assert "Adapted to 6 examples" in found.stderr
    row = json.loads(Path("out.jsonl").read_text())
    assert [keyphrase["text"].lower() for keyphrase in row["keyphrases"]] == top(adapted)
    assert "already complete" in run("corpus", "in.jsonl", "out.jsonl", "--examples", file, *words, "-n", "3").stderr
    with pytest.raises((InputError, SettingError), match="weights"):
        corpus.run(["in.jsonl"], "out.jsonl", options={"top_n": 3}, **arguments)


def test_evaluate_takes_examples(file: Path, words: list[str]) -> None:
    found = [
        run("evaluate", file, "--protocol", "none", *words, *more, "-f", "json", "--measures", "F1@5")
        for more in ([], ["--examples", str(file)])
    ]
    assert [result.exit_code for result in found] == [0, 0], found[1].output
    before, after = (json.loads(result.stdout)["measures"]["mine"]["F1@5"]["value"] for result in found)
    assert after > before


def test_tag_takes_examples(file: Path, words: list[str]) -> None:
    Path("note.md").write_text(NEW)
    found = run("tag", "note.md", "--examples", file, *words, "-n", "2", "--dry-run")
    assert found.exit_code == 0, found.output
    assert "+  - spring" in found.stdout


def test_a_file_that_holds_no_examples_is_an_error_before_anything_is_loaded(file: Path, words: list[str]) -> None:
    file.write_text(file.read_text().splitlines()[0] + "\n")
    found = run("extract", "--text", NEW, "--examples", file, *words)
    assert (found.exit_code, found.stdout) == (1, "")
    assert "1 example was given, but at least 3 different texts with phrases are needed" in found.stderr


# -- Real models ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.real
def test_real_models_learn_to_prefer_single_words() -> None:
    texts = [path.read_text(encoding="utf-8") for path in sorted(TEXTS.glob("*.txt"))[:7]]
    plain = Extractor(threads=1)
    lists = [[k.text for k in plain.extract(text, None, distinct=False)] for text in texts]
    single = [[phrase for phrase in phrases if len(phrase.split()) == 1][:6] for phrases in lists]
    extractor = Extractor(threads=1, examples=list(zip(texts, single, strict=True))[1:])
    assert extractor.adaptation is not None
    assert extractor.adaptation.after > extractor.adaptation.before
    assert "shorter phrases" in extractor.adaptation.changes

    def mean_length(extractor: Extractor) -> float:
        return float(np.mean([len(keyphrase.text.split()) for keyphrase in extractor.extract(texts[0], 5)]))

    assert mean_length(extractor) < mean_length(plain)
