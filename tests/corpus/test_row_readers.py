"""Rows of files: tables of each format, folders, and files that break."""

import csv
import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from pyarrow import parquet

from mudy.corpus import Columns
from mudy.corpus.row_sources import File, Files
from tests.corpora import json_lines, jsonl, rows, run, texts

BROKEN: list[tuple[bytes, str | None]] = [
    (b'{"id": "good", "text": "River gauges measure the water level."}', None),
    (b'{"id": "nul", "text": "River \\u0000 gauges measure."}', None),
    (b'{"id": "surrogate", "text": "River \\ud800 gauges measure."}', None),
    (b'{"id": "empty", "text": ""}', None),
    (b'{"id": "null", "text": null}', "column 'text' is null, not a text"),
    (b'{"id": "number", "text": 7}', "column 'text' is int, not a text"),
    (b'{"id": "nested", "text": {"a": ["b"]}}', "column 'text' is dict, not a text"),
    (b'{"id": "other", "body": "River gauges."}', "has no column 'text', but 'id', 'body'"),
    (b"[1, 2]", "is list, not an object with columns"),
    (b"not json", "is not JSON"),
    (b"\xff\xfe", "is not JSON"),
    (b"[" * 100_000, "is nested too deeply"),
    (b'{"id": "huge", "text": "' + b"river gauge " * 10_000 + b'"}', None),
]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_broken_rows_stay_in_their_place_with_their_error(tmp_path: Path, ending: str) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"\n\n".join(line for line, _ in BROKEN))
    output = tmp_path / f"out{ending}"
    summary = run(tmp_path / "in.jsonl", output, part_rows=3, columns=Columns(keep=None))
    found = rows(output) if ending == ".jsonl" else parquet.read_table(output).to_pylist()
    assert summary.failed == sum(error is not None for _, error in BROKEN)
    assert len(found) == len(BROKEN)
    for row, (_, error) in zip(found, BROKEN, strict=True):
        assert (row["error"] or "").startswith(error or "")
        assert (row["error"] is None) == (error is None)
    assert found[0]["keyphrases"][0]["occurrences"][0]["start"] == 0


def _csv(path: Path, some: list[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        table = csv.writer(stream)
        table.writerows([["id", "text"], *([str(i), text] for i, text in enumerate(some))])


def _parquet(path: Path, some: list[str]) -> None:
    import pyarrow as pa

    parquet.write_table(pa.table({"id": list(map(str, range(len(some)))), "text": some}), path)


TABLES: dict[str, Callable[[Path, list[str]], Any]] = {
    "a.jsonl": lambda path, some: path.write_bytes(json_lines(some)),
    "a.jsonl.gz": lambda path, some: path.write_bytes(gzip.compress(json_lines(some))),
    "a.ndjson.zst": lambda path, some: path.write_bytes(zstandard.compress(json_lines(some))),
    "a.csv": _csv,
    "a.parquet": _parquet,
}


@pytest.mark.parametrize("name", TABLES)
def test_every_form_of_table_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    some = [*texts(5), 'A "quoted", river\ngauge; naïve Straße 🙂 floodplain.']
    TABLES[name](tmp_path / name, some)
    source, after = File(str(tmp_path / name)), Columns()
    assert [(row.id, row.text) for row in source.rows(0, after)] == [(str(i), text) for i, text in enumerate(some)]
    assert [row.text for row in source.rows(0, after, skip=4)] == some[4:]


def test_a_folder_is_read_file_by_file_in_order_and_what_is_unknown_is_named(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.md", "z.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<p>A river gauge measures the flood.</p>", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    files = Files.of([tmp_path])
    assert [Path(name).name for name in files.names] == ["c.md", "b.txt", "z.html"]
    assert [Path(name).name for name in files.ignored] == ["picture.png"]
    told: list[str] = []
    run(tmp_path, tmp_path / "out.jsonl", warn=told.append)
    assert told == [f"1 files of unknown format are not read: {tmp_path / 'picture.png'}"]


def test_a_file_that_breaks_in_the_middle_costs_only_its_own_rest(tmp_path: Path) -> None:
    packed = gzip.compress(json_lines(texts(400)))
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.jsonl").write_bytes(json_lines(texts(3)))
    summary = run([tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl"], tmp_path / "out.jsonl")
    found = rows(tmp_path / "out.jsonl")
    (bad,) = [row for row in found if row["error"]]
    assert "cannot be read" in bad["error"]
    assert [row["id"] for row in found[-3:]] == ["0", "1", "2"]
    assert summary.failed == 1


def test_a_file_that_cannot_be_read_is_one_row_with_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = jsonl(tmp_path / "good.jsonl", [{"text": "River gauges measure."}])
    (tmp_path / "broken.parquet").write_bytes(b"PAR1 and no more")
    secret = jsonl(tmp_path / "secret.jsonl", [{"text": "River gauges measure."}])
    opened = Path.open

    def guarded(path: Path, *args: Any, **more: Any) -> Any:  # since for root no file is secret
        if path.name == "secret.jsonl":
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **more)

    monkeypatch.setattr(Path, "open", guarded)
    summary = run([tmp_path / "broken.parquet", secret, good], tmp_path / "out.jsonl")
    found = rows(tmp_path / "out.jsonl")
    assert (summary.rows, summary.failed) == (3, 2)
    assert found[0]["error"].startswith("cannot be read: ArrowInvalid")
    assert found[1]["error"] == "may not be read (permission denied)"
    assert found[2]["keyphrases"]
