"""Search with keyphrases: the measure by hand, the index end to end, and the synthetic corpus of the views."""

from collections import Counter
from math import log2
from pathlib import Path
from statistics import mean

import pytest

from experiments.bm25 import ADDED, average_precision, expanded, recall
from experiments.corpus_views import rows
from experiments.search import cross_fitted, full_text_index, full_text_search, ndcg, paired, read_relevant

TEXTS = {"a": "The dam holds the river.", "b": "A river, a dam, and a mill on the dam.", "c": "Bake a cake."}


def test_ndcg_is_that_of_a_hand_computed_case() -> None:
    assert ndcg(["a", "x", "b"], ["a", "b"]) == pytest.approx((1 + 1 / log2(4)) / (1 + 1 / log2(3)))
    assert ndcg(["a", "b"], ["a", "b"]) == 1
    assert ndcg(["x"], ["a"]) == ndcg([], ["a"]) == 0
    assert ndcg(["x"] * 10 + ["a"], ["a"]) == 0


def test_a_column_of_keyphrases_lifts_the_document_that_has_one() -> None:
    plain = full_text_search(full_text_index(TEXTS, {}), 0)
    assert plain("Which dam?") == ["b", "a"]
    assert plain('"cakes" OR (') == ["c"]
    assert plain("?") == []
    weighted = full_text_search(full_text_index(TEXTS, {"a": ["dam"]}), 4)
    assert weighted("Which dam?") == ["a", "b"]


def test_the_weight_of_a_half_is_that_which_is_best_on_the_other() -> None:
    by_weight = {0.0: [0.5, 0.1, 0.5, 0.1], 1.0: [0.2, 0.9, 0.2, 0.9]}
    assert cross_fitted(by_weight) == [0.2, 0.1, 0.2, 0.1]


def test_equal_systems_do_not_differ_and_unequal_ones_do() -> None:
    assert paired([0.5] * 30, [0.5] * 30) == "+0.0000 [+0.0000, +0.0000], p 1.000"
    assert paired([0.5] * 30, [0.6] * 30).endswith("p 0.001")


def test_synthetic_keyphrases_stand_in_their_texts() -> None:
    made = list(rows(50))
    for row, entry in made:
        for phrase in row["keyphrases"]:
            (place,) = phrase["occurrences"]
            assert entry.text[place["start"] : place["end"]] == phrase["text"]
    assert mean(len(entry.text.split()) for _, entry in made) == pytest.approx(190, abs=25)


def test_average_precision_and_recall_are_those_of_hand_computed_cases() -> None:
    assert average_precision(["a", "x", "b"], ["a", "b", "c"]) == pytest.approx((1 + 2 / 3) / 3)
    assert recall(["x", "a", "b"], ["a", "b"], depth=2) == 0.5


def test_a_query_is_repeated_and_gains_the_most_frequent_words_of_the_feedback() -> None:
    feedback = [Counter({"dam": 1, "mill": 3}), Counter({"dam": 1}), Counter({f"w{i:02}": 1 for i in range(20)})]
    longer = expanded(["river"], feedback, 2)
    assert longer[:5] == ["river", "river", "mill", "dam", "w00"]
    assert len(longer) == 2 + ADDED


def test_relevant_documents_have_a_grade_above_0(tmp_path: Path) -> None:
    (tmp_path / "qrels.tsv").write_text("1\ta\t2\n1\tb\t-1\n2\tc\t0\n", encoding="utf-8")
    assert read_relevant(tmp_path / "qrels.tsv") == {"1": {"a"}}
