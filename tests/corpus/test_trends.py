"""Change over time: dates, periods, and phrases that rise and fall."""

import csv
import json
from collections.abc import Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from mudy import InputError, SettingError
from mudy.corpus.statistics import p_value, trend
from mudy.corpus.term_counts import TermCounts
from mudy.corpus.trends import Trends, day_of
from tests.corpora import jsonl, run
from tests.corpus.test_graph import row
from tests.pngs import size


def counted(phrases: list[list[str]], days: Sequence[str | None], folder: Path, period: Any = None) -> list[Any]:
    rows = [row(number, {phrase: [20 * i] for i, phrase in enumerate(own)}) for number, own in enumerate(phrases)]
    with TermCounts.of(rows, folder, days=days, places=True) as counts:
        return list(Trends.of(counts, period).rows(counts))


@pytest.mark.parametrize(
    ("value", "day"),
    [
        (2024, "2024"),
        ("2024-03", "2024-03"),
        ("2024-03-05T10:00:00Z", "2024-03-05"),
        (" 2024/03/05 ", "2024-03-05"),
        ("20240305", "2024-03-05"),
        (date(2024, 3, 5), "2024-03-05"),
        (datetime(2024, 3, 5, 23, 59), "2024-03-05"),
        ("2024-13-01", None),
        ("5 March 2024", None),
        (12, None),
        (None, None),
        ("", None),
    ],
)
def test_dates_are_read_as_far_as_they_go(value: Any, day: str | None) -> None:
    assert day_of(value) == day


def test_a_phrase_that_rises_comes_first_and_one_that_falls_last(tmp_path: Path) -> None:
    days = [f"20{year}" for year in range(10, 16) for _ in range(10)]
    phrases = [
        ["rising"] * (i % 10 < i // 10 * 2) + ["falling"] * (i % 10 >= 2 * (i // 10)) + ["steady"] * (i % 3 == 0)
        for i in range(60)
    ]
    found = counted(phrases, days, tmp_path)
    assert [entry.phrase for entry in found[::6]] == ["rising", "steady", "falling"]
    first = found[:6]
    assert [entry.period for entry in first] == ["2010", "2011", "2012", "2013", "2014", "2015"]
    assert [entry.documents for entry in first] == [0, 2, 4, 6, 8, 10]
    assert {entry.total for entry in first} == {10}
    z = trend([0, 2, 4, 6, 8, 10], [10] * 6)
    assert (first[0].trend, first[0].p_value) == (pytest.approx(z), pytest.approx(p_value(z)))
    assert first[0].q_value < 1e-6 < found[6].q_value
    assert first[0].deviation < 0 < first[-1].deviation


def test_empty_periods_are_counted_and_rare_phrases_are_not_tested(tmp_path: Path) -> None:
    days = ["2010"] * 5 + ["2014"] * 5
    found = counted([["common"]] * 5 + [["common", "rare"]] * 4 + [[]], days, tmp_path)
    assert {entry.phrase for entry in found} == {"common"}
    assert [(entry.period, entry.total) for entry in found] == [
        ("2010", 5), ("2011", 0), ("2012", 0), ("2013", 0), ("2014", 5),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("days", "periods"),
    [
        (["2024-01-30", "2024-05-01"], ["2024-01", "2024-02", "2024-03", "2024-04", "2024-05"]),
        (["2024-01-30", "2025-01-01"], ["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4", "2025-Q1"]),
        (["2024-01-01", "2024-01-24"], ["2024-W01", "2024-W02", "2024-W03", "2024-W04"]),
        (["2024", "2025-01-01"], ["2024", "2025"]),
    ],
)
def test_periods_are_the_longest_that_are_enough(tmp_path: Path, days: list[str], periods: list[str]) -> None:
    found = counted([["flood"]] * 10, [days[i // 5] for i in range(10)], tmp_path)
    assert [entry.period for entry in found] == periods


def test_periods_shorter_than_the_dates_are_refused_and_so_are_centuries(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="say only the year"):
        counted([["flood"]] * 2, ["2024", "2025-01-01"], tmp_path, "month")
    with pytest.raises(InputError, match="from 0024 to 2025"):
        counted([["flood"]] * 2, ["0024", "2025"], tmp_path)
    with pytest.raises(InputError, match="No row has a date"):
        counted([["flood"]] * 2, [None, None], tmp_path)


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rows: list[Any] = [
        {
            "id": i,
            "text": "The river flood came." if i % 10 < i // 10 else "Bake an apple cake.",
            "when": f"{2010 + i // 10}",
        }
        for i in range(60)
    ]
    return jsonl(tmp_path_factory.mktemp("corpus") / "in.jsonl", [*rows, {"id": "bad", "text": None, "when": "2010"}])


def test_dates_need_not_be_kept_and_can_be_asked_for_after_the_run(source: Path, tmp_path: Path) -> None:
    run(source, tmp_path / "out.jsonl")
    again = run(source, tmp_path / "out.jsonl", trends=tmp_path / "trends.csv", time_column="when")
    assert again.resumed == again.rows
    with (tmp_path / "trends.csv").open(encoding="utf-8-sig") as stream:
        found = [(line["phrase"], line["documents"], line["total"]) for line in csv.DictReader(stream)]
    assert found[:6] == [("river flood", str(i), "10") for i in range(6)]


def test_documents_without_a_readable_date_are_counted_aloud(tmp_path: Path) -> None:
    days: list[Any] = ["2024", "2025", "last week", None]
    jsonl(tmp_path / "in.jsonl", [{"text": "The river flood came.", "when": day} for day in days * 3])
    told: list[str] = []
    options = {"trends": tmp_path / "t.jsonl", "time_column": "when", "warn": told.append}
    run(tmp_path / "in.jsonl", tmp_path / "out.jsonl", **options)
    assert told == ["6 of 12 documents have no readable date and are not in the trends."]
    found = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [(entry["period"], entry["documents"], entry["total"]) for entry in found] == [
        ("2024", 3, 3),
        ("2025", 3, 3),
    ]


def test_a_picture_is_drawn(source: Path, tmp_path: Path) -> None:
    for _ in range(2):  # ours is replaced
        run(source, tmp_path / "out.jsonl", trends=tmp_path / "trends.png", time_column="when")
    width, height = size((tmp_path / "trends.png").read_bytes())
    assert width == 1350
    assert height >= 200


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"trends": "t.csv"}, "--time-column"),
        ({"trends": "t.csv", "time_column": "whenn"}, r"Did you mean 'when'\? Name the right one with --time-column"),
        ({"trends": "t.xlsx", "time_column": "when"}, "must end in one of"),
        ({"trends": "t.csv", "time_column": "when", "period": "decade"}, "period is 'decade'"),
    ],
)
def test_what_cannot_work_is_refused_before_the_run(
    source: Path, tmp_path: Path, options: dict[str, str], message: str
) -> None:
    given = {name: tmp_path / value if name == "trends" else value for name, value in options.items()}
    with pytest.raises(SettingError, match=message):
        run(source, tmp_path / "out.jsonl", **given)
    assert not (tmp_path / "out.jsonl").exists()


def test_documents_have_no_time_column(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("A flood came over the wall.")
    with pytest.raises(SettingError, match="documents without columns"):
        run([str(tmp_path / "a.txt")], tmp_path / "out.jsonl", trends=tmp_path / "t.csv", time_column="date")


def test_a_table_of_parquet_with_real_dates_works_too(tmp_path: Path) -> None:
    import pandas as pd

    frame = pd.DataFrame({
        "text": ["The river flood came."] * 10,
        "when": pd.date_range("2024-01-01", periods=10, freq="MS"),
    })  # fmt: skip
    frame.to_parquet(tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out.parquet", trends=tmp_path / "t.jsonl", time_column="when")
    found = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [entry["period"] for entry in found] == ["2024-Q1", "2024-Q2", "2024-Q3", "2024-Q4"]
