"""Two corpora compared: counts of both, intervals, and what is refused."""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from mudy import InputError, corpus
from mudy.corpus import compare_corpora
from mudy.corpus.comparison import comparison_page
from mudy.corpus.statistics import log_likelihood, share_difference
from tests.corpora import jsonl, run

FLOOD, CAKE = "The river flood came.", "Bake an apple cake."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two finished corpora: of ten and of twenty documents, with an error in the second."""
    place = tmp_path_factory.mktemp("corpora")
    jsonl(place / "a.jsonl", [{"text": FLOOD}] * 8 + [{"text": CAKE}] * 2)
    jsonl(place / "b.jsonl", [{"text": CAKE}] * 15 + [{"text": "River floods came."}] * 1 + [{"text": "Dry hay."}] * 4)
    with (place / "b.jsonl").open("a") as stream:
        stream.write('{"text": null}\n')
    for name in "ab":
        run(place / f"{name}.jsonl", place / f"{name}-out.jsonl")
    return place


def test_every_phrase_has_its_documents_in_both_and_its_interval(folder: Path) -> None:
    comparison = compare_corpora(folder / "a-out.jsonl", folder / "b-out.jsonl")
    assert comparison.sizes == (10, 20)
    found = {entry.phrase: entry for entry in comparison.contrasts}
    flood, hay = found["river flood"], found["Dry hay"]
    assert (flood.a_documents, flood.b_documents, flood.only_in) == (8, 1, "")
    assert flood.difference == pytest.approx(0.75)
    assert (flood.low, flood.high) == share_difference(8, 10, 1, 20)
    assert flood.log_likelihood == log_likelihood(8, 9, 10, 30)
    assert (hay.a_documents, hay.b_documents, hay.only_in) == (0, 4, "B")
    first, second = comparison.sides(1)
    assert [first[0].phrase, second[0].phrase] == ["river flood", "apple cake"]


def test_the_other_way_round_is_the_mirror(folder: Path) -> None:
    one = compare_corpora(folder / "a-out.jsonl", folder / "b-out.jsonl", least=1)
    other = compare_corpora(folder / "b-out.jsonl", folder / "a-out.jsonl", least=1)
    mirrored = {e.phrase: (e.b_documents, e.a_documents, -e.high, -e.low, -e.log_likelihood) for e in other.contrasts}
    assert len(mirrored) == len(one.contrasts) == 3
    for e in one.contrasts:
        assert (e.a_documents, e.b_documents, e.low, e.high, e.log_likelihood) == pytest.approx(mirrored[e.phrase])


@pytest.mark.parametrize("ending", ["csv", "parquet", "folder"])
def test_every_form_of_output_can_be_compared(folder: Path, tmp_path: Path, ending: str) -> None:
    target = tmp_path / ("parts" if ending == "folder" else f"a.{ending}")
    run(folder / "a.jsonl", target, form="jsonl" if ending == "folder" else None, part_rows=3)
    plain = compare_corpora(folder / "a-out.jsonl", folder / "b-out.jsonl")
    assert compare_corpora(target, folder / "b-out.jsonl").contrasts == plain.contrasts


def test_runs_with_other_settings_are_named(folder: Path, tmp_path: Path) -> None:
    corpus.run(folder / "a.jsonl", tmp_path / "a.jsonl", method="yake", options={"top_n": 2})
    (change,) = compare_corpora(tmp_path / "a.jsonl", folder / "b-out.jsonl").changes
    assert "top_n" in change


def test_what_is_not_finished_is_refused(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    (tmp_path / "empty").mkdir()
    for name, message in {"mine.jsonl": "is not finished", "none.jsonl": "no finished", "empty": "no finished"}.items():
        with pytest.raises(InputError, match=message):
            compare_corpora(folder / "a-out.jsonl", tmp_path / name)
    jsonl(tmp_path / "bad.jsonl", [{"text": None}])
    run(tmp_path / "bad.jsonl", tmp_path / "bad-out.jsonl")
    with pytest.raises(InputError, match="nothing to compare"):
        compare_corpora(folder / "a-out.jsonl", tmp_path / "bad-out.jsonl")


def test_the_page_shows_names_and_phrases_as_text(tmp_path: Path) -> None:
    attack = "<script>alert(1)</script>.jsonl".replace("/", "_")
    jsonl(tmp_path / "a.jsonl", [{"text": FLOOD}] * 5)
    jsonl(tmp_path / "b.jsonl", [{"text": CAKE}] * 5)
    run(tmp_path / "a.jsonl", tmp_path / attack)
    run(tmp_path / "b.jsonl", tmp_path / "b-out.jsonl")
    page = comparison_page(compare_corpora(tmp_path / attack, tmp_path / "b-out.jsonl"))
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "default-src 'none'" in page
    assert page.index("More in A") < page.index("river flood") < page.index("More in B") < page.index("apple cake")
    assert page.count("only in A") >= 1


def test_the_command_prints_all_forms_and_writes_the_page(folder: Path, tmp_path: Path) -> None:
    names = [str(folder / "a-out.jsonl"), str(folder / "b-out.jsonl")]

    def printed(*more: str) -> str:
        command = [sys.executable, "-m", "mudy", "compare-corpora", *names, *more]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    table = printed("--html", str(tmp_path / "page.html"))
    assert table.index("More in A") < table.index("river flood") < table.index("More in B") < table.index("apple cake")
    assert "Comparison of two corpora" in (tmp_path / "page.html").read_text()
    data = json.loads(printed("-f", "json"))
    assert [entry["documents"] for entry in data["corpora"]] == [10, 20]
    lines = list(csv.DictReader(io.StringIO(printed("-f", "csv"))))
    assert [line["phrase"] for line in lines] == [entry["phrase"] for entry in data["phrases"]]
