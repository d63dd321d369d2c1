"""A corpus's view: phrases over all documents, and rows weighed by how rare they are."""

import csv
import json
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Iterator
from math import log
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from mudy import InputError, SettingError, corpus
from mudy.corpus import term_counts
from mudy.corpus.term_counts import TermCounts
from mudy.corpus.views import _weighted
from mudy.extraction.ranking import variant_key
from tests.corpora import command, jsonl, rows, run, texts

ROWS = [{"id": f"d{i}", "text": text} for i, text in enumerate(texts(40, longest=30))] + [{"id": "bad", "text": None}]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def expected(output: Path) -> list[dict[str, Any]]:
    """The summary by a plain loop over all rows in memory."""
    groups: dict[Any, list[tuple[str, str, float]]] = defaultdict(list)
    found = rows(output)
    for row in found:
        for phrase in row["keyphrases"]:
            groups[variant_key(phrase["text"])].append((row["id"], phrase["text"], phrase["score"]))
    total = sum(row["error"] is None for row in found)
    return [
        {
            "phrase": Counter(text for _, text, _ in own).most_common(1)[0][0],
            "documents": len(own),
            "share": len(own) / total,
            "idf": log((1 + total) / (1 + len(own))) + 1,
            "mean_score": pytest.approx(sum(score for *_, score in own) / len(own)),
            "best_score": max(score for *_, score in own),
            "first_seen": own[0][0],
            "concept_id": None,
            "concept_label": None,
        }
        for own in groups.values()
    ]


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return jsonl(tmp_path_factory.mktemp("corpus") / "in.jsonl", ROWS)


@pytest.mark.parametrize("at_once", [3, 20_000])
def test_a_summary_is_what_a_plain_loop_counts(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(term_counts, "AT_ONCE", at_once)
    run(source, tmp_path / "out.jsonl", summary=tmp_path / "terms.jsonl")
    found = lines(tmp_path / "terms.jsonl")
    assert found[0]["documents"] == max(term["documents"] for term in found)
    assert sorted(found, key=lambda term: term["phrase"]) == sorted(
        expected(tmp_path / "out.jsonl"), key=lambda term: str(term["phrase"])
    )


@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_the_summary_of_every_output_and_in_every_form_is_the_same(source: Path, tmp_path: Path, ending: str) -> None:
    run(source, tmp_path / "plain.jsonl", summary=tmp_path / "terms.jsonl")
    expected_terms = lines(tmp_path / "terms.jsonl")
    run(source, tmp_path / f"out.{ending}", summary=tmp_path / f"terms.{ending}")
    path = tmp_path / f"terms.{ending}"
    if ending == "csv":
        with path.open(encoding="utf-8-sig", newline="") as stream:
            found = [(term["phrase"], int(term["documents"]), term["first_seen"]) for term in csv.DictReader(stream)]
    else:
        table = lines(path) if ending == "jsonl" else parquet.read_table(path).to_pylist()
        assert table == expected_terms
        found = [(term["phrase"], term["documents"], term["first_seen"]) for term in table]
    assert found == [(term["phrase"], term["documents"], term["first_seen"]) for term in expected_terms]


def test_a_folder_of_parts_has_a_summary_too(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out.jsonl", summary=tmp_path / "one.jsonl")
    run(source, tmp_path / "out", form="jsonl", part_rows=7, summary=tmp_path / "two.jsonl")
    assert lines(tmp_path / "one.jsonl") == lines(tmp_path / "two.jsonl")


def test_a_run_that_was_interrupted_has_the_summary_of_one_that_was_not(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "whole.jsonl", summary=tmp_path / "whole-terms.jsonl")

    def interrupt(progress: corpus.Progress) -> None:
        if progress.rows >= 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, tmp_path / "out.jsonl", part_rows=5, summary=tmp_path / "terms.jsonl", report=interrupt)
    assert not (tmp_path / "terms.jsonl").exists()
    assert run(source, tmp_path / "out.jsonl", part_rows=5, summary=tmp_path / "terms.jsonl").resumed > 0
    assert lines(tmp_path / "terms.jsonl") == lines(tmp_path / "whole-terms.jsonl")


def test_a_run_that_is_done_is_summarised_without_computing_it_again(source: Path, tmp_path: Path) -> None:
    first = run(source, tmp_path / "out.jsonl")
    again = run(source, tmp_path / "out.jsonl", summary=tmp_path / "terms.csv")
    assert again.resumed == first.rows
    assert (tmp_path / "terms.csv").exists()


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_weighed_rows_are_ranked_by_score_times_rarity(source: Path, tmp_path: Path, ending: str) -> None:
    output, weighed = tmp_path / f"out.{ending}", tmp_path / f"weighed.{ending}"
    run(source, output, summary=tmp_path / "terms.jsonl", tfidf=weighed)
    idf = {variant_key(term["phrase"]): term["idf"] for term in lines(tmp_path / "terms.jsonl")}
    before, after = (
        (rows(output), rows(weighed))
        if ending == "jsonl"
        else tuple(parquet.read_table(path).drop_columns("seconds").to_pylist() for path in (output, weighed))
    )
    assert [row["id"] for row in after] == [row["id"] for row in before]
    for plain, row in zip(before, after, strict=True):
        scores = {p["text"]: p["score"] * idf[variant_key(p["text"])] for p in plain["keyphrases"]}
        assert {p["text"]: p["score"] for p in row["keyphrases"]} == pytest.approx(scores)
        assert [p["text"] for p in row["keyphrases"]] == sorted(scores, key=lambda text: -scores[text])
        assert [p["rank"] for p in row["keyphrases"]] == list(range(1, len(scores) + 1))
        assert {p["text"]: p["occurrences"] for p in row["keyphrases"]} == {
            p["text"]: p["occurrences"] for p in plain["keyphrases"]
        }


def test_negative_scores_rise_with_rarity_too() -> None:
    assert _weighted(-4.0, 2.0) == -2.0
    assert _weighted(4.0, 2.0) == 8.0


def test_phrases_of_one_concept_are_one_term(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": "A flood came."}, {"text": "The deluge came."}])
    vocabulary = [{"id": "Q1", "label": "flood", "alternatives": ["deluge"]}]
    run(source, tmp_path / "out.jsonl", summary=tmp_path / "terms.jsonl", options={"vocabulary": vocabulary})
    (term,) = lines(tmp_path / "terms.jsonl")
    assert (term["documents"], term["concept_id"], term["concept_label"]) == (2, "Q1", "flood")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"summary": "terms.xlsx"}, "must end in one of"),
        ({"summary": "out.jsonl"}, "named twice"),
        ({"tfidf": "weighed.csv"}, "must end like the output"),
        ({"summary": "missing/terms.csv"}, "its folder does not exist"),
        ({"summary": "mine.csv"}, "not from `mudy corpus`"),
        ({"summary": 5}, "summary is 5"),
    ],
)
def test_a_file_that_cannot_be_written_stops_the_run_before_it_begins(
    source: Path, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    (tmp_path / "mine.csv").write_text("my,own,table\n")
    named = {name: tmp_path / value if isinstance(value, str) else value for name, value in options.items()}
    with pytest.raises((InputError, SettingError), match=message):
        run(source, tmp_path / "out.jsonl", **named)
    assert not (tmp_path / "out.jsonl").exists()
    assert (tmp_path / "mine.csv").read_text() == "my,own,table\n"


def test_the_summary_is_never_read_as_input(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("A flood came over the wall.")
    for _ in range(2):
        ended = command(
            str(folder), str(folder / "out.jsonl"), "-m", "yake", "--summary", str(folder / "terms.jsonl"), "-q"
        )
        assert ended.returncode == 0, ended.stderr
    assert [row["id"] for row in rows(folder / "out.jsonl")] == [str(folder / "a.txt")]


def test_memory_does_not_grow_with_the_phrases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(term_counts, "AT_ONCE", 500)

    def many(count: int) -> Iterator[dict[str, Any]]:
        for n in range(count):
            yield {"id": str(n), "error": None, "keyphrases": [{"text": f"a{n % 90} b{n // 90}", "score": 1.0}]}

    def peak(count: int) -> int:
        tracemalloc.start()
        try:
            with TermCounts.of(many(count), tmp_path) as counts:
                assert sum(1 for _ in counts.terms()) == count
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(600)  # what is cached for good
    assert peak(8_000) < 2 * peak(1_000)
