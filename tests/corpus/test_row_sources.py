"""What `mudy corpus` reads: nothing is lost in silence, and a changed input is noticed."""

import csv
import datetime
import gzip
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest
import zstandard
from pyarrow import parquet

from mudy import InputError, SettingError, corpus
from mudy.corpus import Columns
from mudy.corpus.row_sources import File
from tests.corpora import command, json_lines, jsonl, rows, run, texts
from tests.corpus.test_checkpoint_files import stopped

GOOD = "River gauges measure the water level."


def read(path: Path, columns: Columns = Columns()) -> list[tuple[str, str | None]]:  # noqa: B008 (frozen)
    return [(row.text, row.problem) for row in File(str(path)).rows(0, columns)]


# -- Packed files -----------------------------------------------------------------------------------------------------


def frames(data: bytes, count: int) -> bytes:
    """Data in several frames, with one between them that holds no data, as parallel packers write it."""
    skipped = bytes.fromhex("502a4d18") + (3).to_bytes(4, "little") + b"abc"
    step = -(-len(data) // count)
    return skipped.join(zstandard.compress(data[start : start + step]) for start in range(0, len(data), step))


def test_a_zst_file_of_several_frames_is_read_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.zst").write_bytes(frames(json_lines(texts(500)), 4))
    assert [text for text, _ in read(tmp_path / "a.jsonl.zst")] == texts(500)


@pytest.mark.parametrize("name", ["a.jsonl.zst", "a.csv.zst", "a.txt.zst", "a.jsonl.gz", "a.csv.gz", "a.txt.gz"])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99])
def test_a_packed_file_that_was_cut_off_is_an_error(tmp_path: Path, name: str, share: float) -> None:
    lines = ["id,text", *(f'{i},"{text}"' for i, text in enumerate(texts(400)))]
    data = json_lines(texts(400)) if "jsonl" in name else "\n".join(lines).encode()
    packed = frames(data, 3) if name.endswith(".zst") else gzip.compress(data)
    path = tmp_path / name
    path.write_bytes(packed)
    assert all(problem is None for _, problem in read(path))
    os.truncate(path, int(share * len(packed)))
    found = read(path)
    assert found[-1][1] is not None
    if "txt" not in name:
        good = [text for text, problem in found if problem is None]
        assert good == texts(400)[: len(good)]
        assert len(good) < 400


def test_a_cut_zst_file_makes_the_command_fail(tmp_path: Path) -> None:
    packed = zstandard.compress(json_lines(texts(200)))
    (tmp_path / "in.jsonl.zst").write_bytes(packed[: len(packed) // 2])
    done = command(str(tmp_path / "in.jsonl.zst"), str(tmp_path / "out.jsonl"), "--method", "yake")
    assert done.returncode == 1
    assert "Truncated" in rows(tmp_path / "out.jsonl")[-1]["error"]


# -- Changed inputs ---------------------------------------------------------------------------------------------------


def changed_in_the_middle(path: Path) -> None:
    """Change bytes that lie at no edge of a file, and leave its size as it is."""
    data = path.read_bytes()
    middle = len(data) // 2
    path.write_bytes(data[:middle] + data[middle : middle + 3000].swapcase() + data[middle + 3000 :])


@pytest.mark.parametrize("same_time", [False, True])
def test_a_change_anywhere_in_a_large_input_is_noticed(tmp_path: Path, same_time: bool) -> None:
    padding = "x" * 9000  # so that the file is larger than what samples of it would show
    source = jsonl(tmp_path / "in.jsonl", [{"text": text, "more": padding} for text in texts(300)])
    assert source.stat().st_size > 2_500_000
    old = time.time() - 3600
    os.utime(source, (old, old))
    stopped(source, tmp_path / "out.jsonl", 100, part_rows=50)
    changed_in_the_middle(source)
    if same_time:
        os.utime(source, (old, old))
    with pytest.raises(InputError, match=r"input.0.hash was"):
        run(source, tmp_path / "out.jsonl")


def test_an_input_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(20)])

    def change(progress: corpus.Progress) -> None:
        if progress.rows == 5:
            changed_in_the_middle(source)

    with pytest.raises(InputError, match="changed while it was read"):
        run(source, tmp_path / "out.jsonl", part_rows=5, report=change)
    assert not (tmp_path / "out.jsonl").exists()


def test_one_file_given_twice_is_another_input_than_once(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": GOOD}])
    assert run([source, source], tmp_path / "out.jsonl").rows == 2
    with pytest.raises(InputError, match=r"input.1.name was"):
        run([source], tmp_path / "out.jsonl")


# -- Columns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_no_column_of_the_input_hides_another(tmp_path: Path, ending: str) -> None:
    row = {"text": GOOD, "error": "a", "input_error": "b", "input_input_error": "c", "rank": "d", "input_rank": "e"}
    run(jsonl(tmp_path / "in.jsonl", [row]), tmp_path / f"out{ending}", columns=Columns(keep=None))
    if ending == ".csv":
        run(tmp_path / f"out{ending}", tmp_path / "again.jsonl", columns=Columns("keyphrase", keep=None))
        found = rows(tmp_path / "again.jsonl")[0]
    else:
        found = rows(tmp_path / "out.jsonl")[0] if ending == ".jsonl" else _only(tmp_path / "out.parquet")
    assert set("abcde") <= {value for value in found.values() if isinstance(value, str)}


def _only(path: Path) -> dict[str, Any]:
    (row,) = parquet.read_table(path).to_pylist()
    return dict(row)


@pytest.mark.parametrize("ending", [".jsonl", ".parquet", ".csv"])
def test_a_column_whose_name_is_no_unicode_aborts_nothing(tmp_path: Path, ending: str) -> None:
    (tmp_path / "in.jsonl").write_text(f'{{"text": "{GOOD}", "a\\ud800": "kept", "\\u0000": "too"}}\n')
    output = tmp_path / f"out{ending}"
    assert run(tmp_path / "in.jsonl", output, columns=Columns(keep=None)).failed == 0
    assert b"kept" in output.read_bytes() or "kept" in _only(output).values()


UNCLOSED = {
    "to the end of the file": 'id,text\n1,fine\n2,"open\n3,lost\n4,lost\n',
    "to the next quote": 'id,text\n1,fine\n2,"open\n3,"lost"\n4,found\n',
    "in one line": 'id,text\n1,fine\n2,"open" more\n3,found\n4,found\n',
    "in the last line": 'id,text\n1,fine\n3,found\n4,found\n2,"open',
}


@pytest.mark.parametrize("case", UNCLOSED)
def test_a_quote_that_is_not_closed_is_told_with_its_lines(tmp_path: Path, case: str) -> None:
    (tmp_path / "in.csv").write_text(UNCLOSED[case])
    found = read(tmp_path / "in.csv")
    assert found[0] == ("fine", None)
    (problem,) = [problem for _, problem in found if problem]
    number = 1 + UNCLOSED[case].splitlines().index(next(line for line in UNCLOSED[case].splitlines() if "open" in line))
    assert f"a quote that line {number} opens is not closed" in problem
    assert [text for text, _ in found].count("found") == UNCLOSED[case].count("found")
    if case == "to the end of the file":
        assert problem.startswith("lines 3 to 5 are not read")


def test_an_open_quote_costs_no_more_time_than_its_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counts how often lines are looked at: lines that all open a quote must not be read over and over."""
    looked = 0
    real = csv.reader

    def counting(lines: Iterator[str], **options: Any) -> Any:
        def counted() -> Iterator[str]:
            nonlocal looked
            for line in lines:
                looked += 1
                yield line

        return real(counted(), **options)

    monkeypatch.setattr(csv, "reader", counting)
    for line in ('x","""', '1,"a', '"a""', 'a"","b', '"'):
        looked = 0
        (tmp_path / "in.csv").write_text("id,text\n" + f"{line}\n" * 2000)
        read(tmp_path / "in.csv")
        assert looked < 3 * 2000


def test_a_column_that_a_table_has_twice_is_told(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,text,text,year,year\n1,a,b,c,d\n")
    assert read(tmp_path / "in.csv") == [("", "there are two columns 'text', so it is not clear which is meant")]
    (tmp_path / "in.csv").write_text("id,text,year,year\n1,a,c,d\n")
    assert read(tmp_path / "in.csv") == [("a", None)]


OVERFLOW = pyarrow.array([2**40], pyarrow.timestamp("ms")), pyarrow.array([4_000_000], pyarrow.date32())


@pytest.mark.parametrize("values", OVERFLOW)
@pytest.mark.parametrize("in_memory", [False, True])
def test_a_date_that_python_cannot_hold_loses_nothing(tmp_path: Path, values: Any, in_memory: bool) -> None:
    values = pyarrow.array([2**48], pyarrow.timestamp("ms")) if pyarrow.types.is_timestamp(values.type) else values
    with pytest.raises(OverflowError):
        values.to_pylist()
    table = pyarrow.table({"text": [GOOD], "date": values})
    parquet.write_table(table, tmp_path / "in.parquet")
    source = table if in_memory else tmp_path / "in.parquet"
    assert run(source, tmp_path / "out.jsonl").failed == 0
    assert run(source, tmp_path / "all.jsonl", columns=Columns(keep=None)).failed == 0
    assert rows(tmp_path / "all.jsonl")[0]["date"].startswith("1")


def test_columns_that_are_not_needed_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pyarrow.table({"id": [1], "text": [GOOD], "year": [2020], "more": ["x"]})
    parquet.write_table(table, tmp_path / "in.parquet")
    asked: list[list[str]] = []
    real = parquet.ParquetFile.iter_batches

    def noting(file: Any, **more: Any) -> Any:
        asked.append(more["columns"])
        return real(file, **more)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", noting)
    run(tmp_path / "in.parquet", tmp_path / "out.jsonl", columns=Columns(keep=("year",)))
    assert asked[-1] == ["id", "text", "year"]


# -- Wrong names of columns -------------------------------------------------------------------------------------------


def write(path: Path, table: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(table), path)
    elif path.suffix == ".csv":
        lines = [",".join(table[0]), *(",".join(map(str, row.values())) for row in table)]
        path.write_text("\n".join(lines) + "\n")
    else:
        jsonl(path, table)
    return path


@pytest.mark.parametrize("ending", [".jsonl", ".csv", ".parquet"])
def test_a_wrong_column_stops_before_the_first_row_and_the_right_one_is_not_refused(
    tmp_path: Path, ending: str
) -> None:
    source = write(tmp_path / f"in{ending}", [{"key": i, "body": GOOD, "year": 2020} for i in range(20)])
    output = tmp_path / "out.jsonl"
    for columns, wrong in ((Columns(), "text"), (Columns("body", "doi"), "doi"), (Columns("body", keep=("x",)), "x")):
        with pytest.raises(SettingError, match=rf"no column '{wrong}' in .*, but 'key', 'body', 'year'\."):
            run(source, output, columns=columns)
    assert [path.name for path in tmp_path.iterdir()] == [source.name]
    assert run(source, output, columns=Columns("body", "key", ("year",))).failed == 0


def test_the_command_names_the_columns_that_there_are(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"id": 1, "Text": GOOD}])
    wrong = command(str(source), str(tmp_path / "out.jsonl"), "--method", "yake")
    assert wrong.returncode == 2
    assert "'Text'" in wrong.stderr
    assert "Did you mean 'Text'? Name the right one with --text-column." in wrong.stderr
    right = command(str(source), str(tmp_path / "out.jsonl"), "--method", "yake", "--text-column", "Text")
    assert right.returncode == 0, right.stderr


def test_rows_of_json_lines_may_differ_as_long_as_one_has_the_column(tmp_path: Path) -> None:
    others = [{"id": i, "body": GOOD} for i in range(50)]
    source = jsonl(tmp_path / "a.jsonl", [*others, {"id": 50, "text": GOOD}])
    assert run(source, tmp_path / "one.jsonl").failed == 50
    later = jsonl(tmp_path / "b.jsonl", [{"text": GOOD}])
    assert run([jsonl(tmp_path / "c.jsonl", others), later], tmp_path / "two.jsonl").failed == 50
    broken = tmp_path / "broken.jsonl"
    broken.write_text("not json\n")
    assert run(broken, tmp_path / "three.jsonl").failed == 1  # it has no columns, so none is missing


def test_documents_have_no_columns_that_could_be_missing(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(GOOD)
    assert run(tmp_path / "a.txt", tmp_path / "out.jsonl", columns=Columns("body", "doi")).failed == 0


def test_dates_and_other_values_are_carried_through(tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table({"text": [GOOD], "date": [datetime.date(2020, 1, 2)]}), tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out.jsonl", columns=Columns(keep=("date",)))
    assert json.loads((tmp_path / "out.jsonl").read_text())["date"] == "2020-01-02"
