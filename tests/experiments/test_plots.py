"""Figures of `reproduce`: the numbers behind them, and that they are drawn."""

import numpy as np

from experiments.reproduce import plots, recall
from experiments.reproduce.case_study import passage
from experiments.reproduce.text_layout import Passage, draw_passages
from mudy.evaluation.runs import JudgedDocument, Run
from tests.pngs import size


def judged(phrases: list[str], gold: list[str], places: list[dict[str, float]] | None = None) -> JudgedDocument:
    found = places or []
    return JudgedDocument(
        "duc2001", "a", "", tuple(gold), (True,) * len(gold), tuple(phrases), (0.0,) * len(phrases), len(phrases), 0, 9,
        0.0, 0.0, places=tuple(found),
    )  # fmt: skip


def test_recall_is_counted_in_the_bin_of_each_gold_phrase() -> None:
    first = judged(["ice roads", "map"], ["ice road", "moon"])
    second = judged(["sea"], ["sea", "boat", "tide"])
    run = Run({}, {}, (first, second))
    found = recall.by_bin(run, np.array([0, 0, 1, 1, 4]))
    assert found == [50.0, 50.0, 0.0, 0.0, 0.0]


def test_heat_is_the_rank_of_a_score_and_gold_is_set_off() -> None:
    text = "ice road. old maps. ice road."
    places = [
        {"phrase": 0, "start": 0, "end": 8, "score": -1.0},
        {"phrase": 0, "start": 20, "end": 28, "score": -2.0},
        {"phrase": 1, "start": 10, "end": 18, "score": -9.0},
    ]
    shown = passage(text, judged(["ice road", "old maps"], ["ice roads"], places))
    assert shown == Passage(text, ((0, 8, 1.0, True), (10, 18, 0.0, False), (20, 28, 0.5, True)))


def test_a_passage_is_drawn_whatever_stands_in_it() -> None:
    text = "it costs $5 and $6 _ ^ \\ 深度 " + "w" * 200 + " end"
    width, height = size(draw_passages({"one": Passage(text, ((3, 8, 0.2, True),)), "two": Passage(text, ())}))
    assert width > height > 100


def test_curves_without_any_slope_are_drawn() -> None:
    assert size(plots.curves({"m": {"DUC2001": [0.0, 0.0]}}, [0.1, 0.2], xlabel="x", ylabel="y"))[0] > 300
