"""Facts about calibration: the Brier score, the table of reliability, and what a run says about its probabilities."""

from dataclasses import replace

import numpy as np
import pytest

from mudy.evaluation.measures import Calibration, brier, reliability_bins
from mudy.evaluation.runs import JudgedDocument, Run, run_calibration

HITS = [np.array([True, False]), np.array([False, False, True, False])]
SHARES = [1 / 2 / 2, 1 / 2 / 4]  # two texts that weigh the same


def judged(name: str, *phrases: tuple[str, float], gold: tuple[str, ...] = ("River Ice", "ferries")) -> JudgedDocument:
    words, scores = zip(*phrases, strict=True) if phrases else ((), ())
    present = (True,) * len(gold)
    return JudgedDocument("rivers", name, "", gold, present, words, scores, len(words), 0, 9, 0.0, 0.0)


def run(method: str, *documents: JudgedDocument) -> Run:
    return Run({"method": method}, {}, documents)


def test_the_brier_score_is_0_where_every_probability_is_the_truth() -> None:
    assert brier([own.astype(float) for own in HITS], HITS, SHARES) == 0


def test_the_brier_score_is_a_mean_in_which_each_text_weighs_the_same() -> None:
    chances = [np.array([0.8, 0.1]), np.array([0.0, 0.2, 0.5, 0.0])]
    of_texts = [(0.04 + 0.01) / 2, (0.04 + 0.25) / 4]
    assert brier(chances, HITS, SHARES) == pytest.approx(np.mean(of_texts))


def test_one_probability_for_all_has_the_brier_score_of_the_mean() -> None:
    rate = (1 / 2 + 1 / 4) / 2
    found = Calibration.of("rivers", [np.full(2, rate), np.full(4, rate)], HITS, SHARES)
    assert found.brier == pytest.approx(found.brier_of_mean)


def test_reliability_counts_every_phrase_once() -> None:
    found = reliability_bins(np.array([0.1, 0.2, 0.9]), np.array([False, True, True]), [0, 0.5, 1])
    assert found == {"0.00-0.50": (pytest.approx(0.15), 0.5, 2), "0.50-1.00": (0.9, 1.0, 1)}


def test_a_probability_of_1_has_a_bin() -> None:
    assert reliability_bins(np.array([1.0]), np.array([True])) == {"0.90-1.00": (1.0, 1.0, 1)}


def test_phrases_of_a_run_are_right_by_their_stems() -> None:
    found = run_calibration("rivers", [judged("a", ("river ice", 0.4), ("ferry", 0.3), ("boat", 0.05))])
    assert found is not None
    assert found.reliability == {
        "0.00-0.10": (0.05, 0.0, 1),
        "0.30-0.40": (0.3, 1.0, 1),
        "0.40-0.50": (0.4, 1.0, 1),
    }
    assert found.brier == pytest.approx((0.36 + 0.49 + 0.0025) / 3)


def test_phrases_are_right_by_the_stems_of_their_own_language() -> None:
    french = replace(judged("1", ("chevaux", 1.0), gold=("cheval",)), language="fr")
    calibration = run_calibration("rivers", [french])
    assert calibration is not None
    assert calibration.brier == 0


def test_documents_in_which_nothing_was_found_say_nothing_about_probabilities() -> None:
    found = judged("a", ("river ice", 0.4))
    assert run_calibration("rivers", [found, judged("b")]) == run_calibration("rivers", [found])
    assert run_calibration("rivers", [judged("b")]) is None


def test_only_a_method_whose_scores_are_probabilities_has_a_calibration() -> None:
    document = judged("a", ("river ice", 0.4))
    assert [own.name for own in run("mudyplus", document).calibrations] == ["rivers"]
    assert run("yake", document).calibrations == []


def test_the_totals_of_a_run_hold_its_calibration() -> None:
    document = judged("a", ("river ice", 0.4))
    totals = run("mudyplus", document).to_dict()["totals"]["rivers"]
    assert totals["calibration"]["brier"] == pytest.approx(0.36)
    assert "calibration" not in run("yake", document).to_dict()["totals"]["rivers"]
