"""Facts about fitting weights: what they are fitted on, what the figures say, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from experiments.by_hand import by_hand_fits
from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import Dataset, Record
from mudy.evaluation.experiment import evaluate
from mudy.evaluation.fit import FittedWeights, fit_on_texts, fit_weights, gather
from mudy.evaluation.measures import DEPTHS, F1
from mudy.extraction.adaptation import with_best_repeats
from mudy.extraction.extractor import Extractor
from mudy.methods.mudyplus import MudyPlus
from mudy.methods.mudyplus.evidence import CHEAP
from mudy.methods.mudyplus.fit_texts import ASKED, MAIN, FitText, in_parts
from mudy.methods.mudyplus.fitting import RIDGE
from mudy.methods.mudyplus.weights import Sum, Weights
from mudy.reading.candidates.stemming import stems_of as stems
from mudy.reading.document import Block, Span
from tests import small
from tests.taggers import english

THINGS = (
    "river ice",
    "radar map",
    "ice road",
    "ferry crew",
    "truck driver",
    "harbour wall",
    "storm surge",
    "salt marsh",
)


def records(things: tuple[str, ...], offset: int = 0) -> tuple[Record, ...]:
    """Texts that repeat what they are about."""
    made = []
    for i, thing in enumerate(things):
        other = THINGS[(i + 3 + offset) % len(THINGS)]
        text = (
            f"The {thing} matters here. People saw the {thing} near an old bridge in early spring. A second {other} "
            f"helped them for some time. Later every {thing} was gone, and a small boat crossed the water."
        )
        made.append(Record(f"d{i}", None, text, (f"{thing}s", "hovercraft")))
    return tuple(made)


RIVERS = Dataset("rivers", "mudy", records(THINGS[:6]))
ROADS = Dataset("roads", "mudy", records(THINGS[2:], 1))
NO_GOLD = Dataset("no_gold", "mudy", tuple(replace(record, keyphrases=("zeppelin",)) for record in RIVERS.documents))


def extractor(speed: Any = "quick", **settings: Any) -> Extractor:
    made = Extractor("mudyplus", protocol="promptrank", language=english(), speed=speed, **settings)
    made.loader.in_memory.update({"encoder": small.bert(), "backbone": small.decoder("llama")})
    return made


def evidence(record: Record = RIVERS.documents[0]) -> FitText:
    (text,) = gather(extractor(), [replace(RIVERS, documents=(record,))], None, lambda *_: None)
    return text


def test_names_of_main_subjects_are_worth_more_in_a_fit() -> None:
    text = evidence()
    assert set(text.worth) == {1.0}
    named = int(np.flatnonzero(text.hits)[0])
    worth = replace(text, main=(text.candidates[named].phrase.upper(),)).sample(CHEAP).worth
    assert worth is not None
    assert np.flatnonzero(worth == MAIN).tolist() == [named]
    assert set(worth) == {1.0, MAIN}


@pytest.fixture(scope="module")
def quick() -> FittedWeights:
    return fit_weights(extractor(), [RIVERS, ROADS])


@pytest.fixture(scope="module")
def full() -> FittedWeights:
    return fit_weights(extractor("fast", leaders=4), [RIVERS, ROADS])


@pytest.mark.parametrize(("wanted", "repeats"), [(True, 0.0), (False, 3.0)])
def test_near_synonyms_lose_nothing_where_examples_want_them(
    wanted: bool, repeats: float, quick: FittedWeights
) -> None:
    def penalised(weights: Weights) -> Weights:
        return replace(weights, quick=replace(weights.quick, repeats=3.0))

    def with_pairs(text: FitText) -> FitText:
        """The right phrases of a text, or its wrong ones, are close in meaning to the phrase that leads."""
        leader = int(np.argmax(quick.weights_without(text).quick.totals(text.table)))
        others = [row for row in np.flatnonzero(text.hits == wanted).tolist() if row != leader]
        return replace(text, alike=tuple((min(leader, row), max(leader, row), 0.5) for row in others))

    if wanted:  # so that another phrase leads
        quick = replace(quick, texts=[replace(text, gold=(text.candidates[-1].phrase,)) for text in quick.texts])
    without = {part: penalised(weights) for part, weights in quick.without.items()}
    texts = [with_pairs(text) for text in quick.texts]
    fits = replace(quick, texts=texts, weights=penalised(quick.weights), without=without)
    assert with_best_repeats(fits).weights.quick.repeats == repeats


def written(weights: Weights, folder: Path) -> str:
    path = folder / "mine.json"
    path.write_text(json.dumps(weights.to_dict()))
    return str(path)


def test_a_candidate_is_a_hit_if_its_stems_are_those_of_a_gold_phrase() -> None:
    text = evidence()
    assert {c.phrase for c, hit in zip(text.candidates, text.hits, strict=True) if hit} == {"river ice"}
    assert text.gold == ("river ices", "hovercraft")
    assert stems("river ice") == stems("river ices")


@pytest.mark.parametrize("speed", ["quick", "fast"])
def test_figures_are_what_evaluate_finds_with_the_weights(
    speed: str, quick: FittedWeights, full: FittedWeights, tmp_path: Path
) -> None:
    fitted, leaders = (quick, {}) if speed == "quick" else (full, {"leaders": 4})
    path = written(fitted.weights, tmp_path)
    run = evaluate(extractor(speed, weights=path, **leaders), [RIVERS, ROADS])
    shown = {
        figure.dataset: figure.fitted for figure in fitted.figures if figure.sum == ("quick", "full")[speed == "fast"]
    }
    for name in ("rivers", "roads"):
        assert shown[name] == pytest.approx([(F1 @ depth)(run.predictions(name)) for depth in DEPTHS])
    assert shown["mean"] == pytest.approx(np.mean([shown["rivers"], shown["roads"]], axis=0))


def test_figures_before_are_those_of_the_shipped_weights(quick: FittedWeights) -> None:
    run = evaluate(extractor(), [RIVERS])
    assert quick.figures[0].before == pytest.approx([(F1 @ depth)(run.predictions("rivers")) for depth in DEPTHS])


def test_what_a_text_repeats_is_found(quick: FittedWeights) -> None:
    assert quick.weights.quick.evidence["own_frequency"] > 0
    assert quick.calibrations[0].brier < quick.calibrations[0].brier_of_mean
    assert sum(count for _, _, count in quick.calibrations[0].reliability.values()) == sum(
        len(evidence(record).candidates) for data in (RIVERS, ROADS) for record in data.documents
    )


def test_left_out_weights_have_not_seen_the_data_set(quick: FittedWeights, tmp_path: Path) -> None:
    path = written(fit_weights(extractor(), [ROADS]).weights, tmp_path)
    run = evaluate(extractor(weights=path), [RIVERS])
    assert quick.figures[0].left_out == pytest.approx([(F1 @ depth)(run.predictions("rivers")) for depth in DEPTHS])


def test_one_data_set_is_left_out_in_folds_that_each_have_something_to_tell() -> None:
    texts = [evidence(record) for record in (*RIVERS.documents, *NO_GOLD.documents)]
    parts = in_parts(texts)
    assert {part.part for part in parts if part.tells} == {f"fold {number}" for number in range(1, 7)}
    assert fit_weights(extractor(), [RIVERS]).left_out == "one text"


def test_weights_set_by_hand_keep_their_proportions_but_a_prior_takes_their_place(quick: FittedWeights) -> None:
    by_hand = {"generic": -2.5, "plain_generic": -1.0}
    alone = fit_on_texts(quick.texts, quick.before, 0, by_hand_fits({"quick": by_hand}, RIDGE)).weights
    ratio = by_hand["generic"] / by_hand["plain_generic"]
    for weights, same in ((alone, True), (quick.weights, False)):
        values = weights.quick.evidence
        assert (values["generic"] == pytest.approx(ratio * values["plain_generic"])) is same


def test_the_model_is_asked_once_a_text_and_about_more_phrases_than_lead(
    full: FittedWeights, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    ask = MudyPlus.with_answers

    def noting(self: MudyPlus, texts: Any, orders: Any) -> Any:
        answered = ask(self, texts, orders)
        asked.extend(len(text.answers) for text in answered)
        return answered

    monkeypatch.setattr(MudyPlus, "with_answers", noting)
    again = fit_weights(extractor("fast", leaders=4), [RIVERS, ROADS])
    assert again.weights == full.weights
    assert asked == [round(ASKED * 4)] * 12


def test_up_to_twice_as_many_phrases_of_a_long_text_lead_of_those_that_were_asked_about() -> None:
    text = evidence()
    mentions = Sum({"first_position": -1.0}, {}, 0.0)
    everything = replace(text, asked=tuple(range(len(text.candidates))))
    few = everything.leaders(mentions, 2)
    assert len(few) == 2
    many = replace(everything, words=700).leaders(mentions, 2)
    assert len(many) == 4
    assert set(few) < set(many)
    assert replace(everything, words=700, asked=(many[1], many[3])).leaders(mentions, 2) == [many[1], many[3]]


def without_protocol() -> Extractor:
    made = Extractor("mudyplus", language=english(), speed="quick")
    made.loader.in_memory.update({"encoder": small.bert()})
    return made


def test_the_words_of_a_text_are_those_of_the_document_and_are_in_the_cache(tmp_path: Path) -> None:
    made = without_protocol()
    for _ in range(2):  # computed, and read
        texts = gather(made, [RIVERS], tmp_path, lambda *_: None)
        assert [text.words for text in texts] == [len(record.text.split()) for record in RIVERS.documents]


def test_the_headings_of_a_record_are_evidence(tmp_path: Path) -> None:
    record = Record("d", None, "Ferry crew\n\nThe radar map helped the ferry crew.", ("radar map",), ())
    headed = replace(record, blocks=(Block(Span(0, len("Ferry crew")), "heading", 1),))
    made = without_protocol()

    def headings(record: Record) -> list[str]:
        (text,) = gather(made, [replace(RIVERS, documents=(record,))], tmp_path, lambda *_: None)
        return [c.phrase for c, value in zip(text.candidates, text.table.columns["is_heading"], strict=True) if value]

    assert headings(record) == []
    assert headings(headed) == ["ferry crew"]  # and not what the cache has for the same text
    assert headings(record) == []


def test_evidence_in_the_cache_is_not_computed_again(
    full: FittedWeights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = fit_weights(extractor("fast", leaders=4), [RIVERS, ROADS], cache=tmp_path / "cache")
    assert first.weights == full.weights
    monkeypatch.setattr(MudyPlus, "with_similarities", lambda *_: pytest.fail("computed again"))
    again = fit_weights(extractor("fast", leaders=4), [RIVERS, ROADS], cache=tmp_path / "cache")
    assert again.weights == first.weights
    assert again.figures == first.figures


def test_an_interrupted_run_is_taken_up_where_it_ended(tmp_path: Path) -> None:
    fit_weights(extractor(), [RIVERS], cache=tmp_path)
    file = tmp_path / "rivers.jsonl"
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    again = fit_weights(extractor(), [RIVERS], cache=tmp_path)
    assert again.weights == fit_weights(extractor(), [RIVERS]).weights


def test_a_text_with_a_line_separator_is_in_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    record = replace(RIVERS.documents[0], text=RIVERS.documents[0].text.replace("an old", "an\u2028old"))
    data = replace(RIVERS, documents=(record, *RIVERS.documents[1:]))
    first = fit_weights(extractor(), [data], cache=tmp_path)
    monkeypatch.setattr(MudyPlus, "with_similarities", lambda *_: pytest.fail("computed again"))
    assert fit_weights(extractor(), [data], cache=tmp_path).weights == first.weights


def test_a_cache_of_other_evidence_is_refused(tmp_path: Path) -> None:
    fit_weights(extractor(), [RIVERS], cache=tmp_path)
    with pytest.raises(InputError, match=r"computed in another way .*encoded was None, now 5.* another folder"):
        fit_weights(extractor(encoded=5), [RIVERS], cache=tmp_path)


def test_a_cache_that_lacks_a_kind_of_evidence_is_refused(tmp_path: Path) -> None:
    fit_weights(extractor(), [RIVERS], cache=tmp_path)
    head = tmp_path / "made-with.json"
    made_with = json.loads(head.read_text())
    head.write_text(json.dumps({**made_with, "columns": made_with["columns"][:-1]}))
    with pytest.raises(InputError, match="computed in another way"):
        fit_weights(extractor(), [RIVERS], cache=tmp_path)


def test_a_folder_that_is_no_cache_is_refused(tmp_path: Path) -> None:
    (tmp_path / "made-with.json").write_text("{")
    with pytest.raises(InputError, match="not written by `mudy fit`"):
        fit_weights(extractor(), [RIVERS], cache=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used as a cache"):
        fit_weights(extractor(), [RIVERS], cache=tmp_path / "file" / "cache")


def test_the_file_says_what_it_was_fitted_on_and_how(full: FittedWeights) -> None:
    row = full.weights.to_dict()
    assert row["fitted_on"] == {"rivers": 6, "roads": 6}
    assert row["options"]["speed"] == "fast"
    assert row["options"]["protocol"] == "promptrank"
    assert row["options"]["adapted_from"] == "subjects.json"
    assert Weights.of(json.loads(json.dumps(row)), "here").to_dict() == row
    assert json.loads(json.dumps(full.to_dict()))["calibration"]["full"]["brier"] == full.calibrations[1].brier


def test_weights_without_a_model_are_for_quick_alone(quick: FittedWeights, tmp_path: Path) -> None:
    path = written(quick.weights, tmp_path)
    assert [figure.sum for figure in quick.figures] == ["quick"] * 3
    assert extractor("quick", weights=path).extract(RIVERS.documents[0].text)[0].text.lower() == "river ice"
    with pytest.raises(SettingError, match="fitted without a language model"):
        extractor("fast", weights=path).extract(RIVERS.documents[0].text)


def test_a_text_without_candidates_counts_as_one_in_which_nothing_is_found() -> None:
    empty = Record("e", None, "And so it was.", ("ice",))
    fitted = fit_weights(extractor(), [replace(RIVERS, documents=(*RIVERS.documents, empty))])
    without = fit_weights(extractor(), [RIVERS])
    assert fitted.weights == without.weights
    assert fitted.figures[0].documents == 7
    assert fitted.figures[0].fitted[0] < without.figures[0].fitted[0]


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ([NO_GOLD], "no text has a gold phrase among its candidates"),
        ([RIVERS, NO_GOLD], "no_gold: no text has a gold phrase among its candidates"),
        ([replace(RIVERS, documents=RIVERS.documents[:1])], "Only 1 text has .* at least 3"),
        ([RIVERS, RIVERS], "Two data sets have the name 'rivers'"),
        ([Dataset("blank", "mudy", (Record("e", None, "And so it was.", ("ice",)),))], "no text has a gold phrase"),
    ],
)
def test_what_nothing_can_be_fitted_on(datasets: list[Dataset], message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_weights(extractor(), datasets)


def test_other_methods_have_no_weights() -> None:
    with pytest.raises(SettingError, match="yake has none"):
        fit_weights(Extractor("yake", language=english()), [RIVERS])


def test_progress_names_what_is_done() -> None:
    steps: list[tuple[str, int, int]] = []
    fit_weights(extractor("fast"), [RIVERS], progress=lambda *step: steps.append(step))
    assert steps[0] == ("Reading rivers", 0, 6)
    assert steps[-1] == ("Reading rivers", 5, 6)
