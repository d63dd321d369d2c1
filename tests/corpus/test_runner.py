"""A corpus from its files to its output, by the library and by the command."""

import itertools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from mudy import Extractor, InputError, MissingExtra, ModelError, SettingError, corpus, models
from mudy.cli import main
from mudy.corpus import Columns
from mudy.corpus.runner import Recipe
from mudy.reading import formats as readers
from tests.command_line import run as run_command
from tests.corpora import command, jsonl, rows, run, texts


def test_every_row_has_the_keyphrases_that_extract_gives(tmp_path: Path) -> None:
    some = texts(30)
    source = jsonl(tmp_path / "in.jsonl", [{"id": i, "text": text} for i, text in enumerate(some)])
    summary = run(source, tmp_path / "out.jsonl", part_rows=7)
    assert (summary.rows, summary.failed, summary.resumed) == (30, 0, 0)
    extractor = Extractor("yake")
    expected = [extractor.extract(text).to_dict() for text in some]
    assert [row["keyphrases"] for row in rows(tmp_path / "out.jsonl")] == [e["keyphrases"] for e in expected]
    assert [row["coverage"] for row in rows(tmp_path / "out.jsonl")] == [e["coverage"] for e in expected]
    assert [row["id"] for row in rows(tmp_path / "out.jsonl")] == [str(i) for i in range(30)]


@pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
def test_an_empty_corpus_gives_an_empty_output(tmp_path: Path, ending: str) -> None:
    (tmp_path / "in.jsonl").write_text("\n")
    output = tmp_path / f"out{ending}"
    assert run(tmp_path / "in.jsonl", output).rows == 0
    assert (rows(output) if ending == ".jsonl" else parquet.read_table(output).to_pylist()) == []


def test_columns_are_carried_through_and_never_hide_our_own(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"key": 5, "body": "River gauges.", "year": 2020, "keyphrases": ["x"]}])
    columns = Columns("body", "key", keep=None)
    run(source, tmp_path / "out.jsonl", columns=columns)
    run(source, tmp_path / "out.parquet", columns=columns)
    (row,) = rows(tmp_path / "out.jsonl")
    assert (row["id"], row["year"], row["input_keyphrases"]) == ("5", 2020, ["x"])
    (typed,) = parquet.read_table(tmp_path / "out.parquet").to_pylist()
    assert (typed["year"], typed["input_keyphrases"]) == ("2020", '["x"]')
    assert typed["keyphrases"][0]["text"] == row["keyphrases"][0]["text"]


def test_what_fails_for_every_row_fails_the_run_and_not_the_rows(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(2)])
    with pytest.raises(SettingError, match="top_n"):
        run(source, tmp_path / "out.jsonl", options={"top_n": -1})
    with pytest.raises(ModelError):
        corpus.run(source, tmp_path / "out2.jsonl", model="./missing")
    assert not (tmp_path / "out2.jsonl").exists()


@pytest.mark.parametrize(
    ("package", "source", "options"),
    [
        ("pyarrow", "in.jsonl", {"output": "out.parquet"}),
        ("pyarrow", "in.jsonl", {"output": "parts", "form": "parquet"}),
        ("pyarrow", "in.jsonl", {"summary": "summary.parquet"}),
        ("pyarrow", "in.parquet", {}),
        ("pyarrow", "in.jsonl.zst", {}),
        ("pypdfium2", "in.pdf", {}),
        ("trafilatura", "in.html.gz", {}),
        ("ray", "in.jsonl", {"engine": "ray"}),
    ],
)
def test_a_package_that_is_not_installed_is_named_before_anything_is_computed(
    package: str, source: str, options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(readers, "find_spec", lambda name: None if name == package else object())
    monkeypatch.setattr(Recipe, "build", lambda _: pytest.fail("a model was loaded"))
    Path("first.txt").write_text(texts(1)[0])
    Path(source).write_text('{"text": "River ice."}\n')
    with pytest.raises(MissingExtra, match=f"is not installed. Install it: .*pip install .*{package}"):
        corpus.run(["first.txt", source], **{"output": "out.jsonl", **options})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.txt", source]


def test_tables_of_other_libraries_are_read_through_arrow(tmp_path: Path) -> None:
    import datasets
    import pandas
    import polars
    import pyarrow

    columns = {"id": [3, 1, 2], "text": texts(3)}
    tables = [
        pandas.DataFrame(columns),
        polars.DataFrame(columns),
        pyarrow.table(columns),
        datasets.Dataset.from_dict(columns),
    ]
    found = []
    for number, table in enumerate(tables):
        run(table, tmp_path / f"{number}.jsonl", part_rows=2)
        found.append(rows(tmp_path / f"{number}.jsonl"))
    assert [row["id"] for row in found[0]] == ["3", "1", "2"]
    assert all(each == found[0] for each in found)
    with pytest.raises(InputError, match="A corpus is files, or a table that speaks Arrow"):
        run(5, tmp_path / "5.jsonl")


def test_an_input_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for name in ("missing.jsonl", "*.jsonl"):
        with pytest.raises(InputError, match="no such file"):
            run(tmp_path / name, tmp_path / "out.jsonl")
    assert not list(tmp_path.iterdir())


def test_the_command_does_what_the_library_does_and_tells_how_it_went(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [*({"id": i, "text": t, "year": i} for i, t in enumerate(texts(5))), "bad"])
    output = str(tmp_path / "out.jsonl")
    done = command(str(source), output, "--method", "yake", "--top-n", "3", "--keep", "year")
    assert done.returncode == 1  # one row failed
    assert done.stdout == ""
    assert "6 rows" in done.stderr
    assert "1 of them failed: see their `error`." in done.stderr
    run(source, tmp_path / "same.jsonl", options={"top_n": 3}, columns=Columns(keep=("year",)))
    assert rows(tmp_path / "out.jsonl") == rows(tmp_path / "same.jsonl")
    again = command(str(source), output, "--method", "yake", "--top-n", "3", "--keep", "year")
    assert "was already complete: 6 rows" in again.stderr
    other = command(str(source), output, "--method", "yake", "--keep", "year")
    assert other.returncode == 1
    assert "options.top_n was 3, now 10" in other.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["only-one.jsonl"], "An input and an output are needed"),
        (["missing.jsonl", "out.jsonl"], "there is no such file"),
        (["examples/floodplain.txt", "out.txt"], "ends in none of .jsonl, .parquet, .csv, .tsv"),
        (["examples/floodplain.txt", "nowhere/out.jsonl"], "does not exist"),
    ],
)
def test_wrong_words_are_told_in_one_line_before_any_work(arguments: list[str], message: str) -> None:
    done = command(*arguments, "--method", "yake")
    assert done.returncode in (1, 2)
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.real
def test_a_model_that_is_removed_in_the_middle_is_not_missed(tmp_path: Path) -> None:
    """What was loaded stays; the next run would fetch it again."""
    home = tmp_path / "home"
    shutil.copytree(models.home() / "models" / "smollm2-135m", home / "models" / "smollm2-135m")
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(6)])
    code = (
        "import shutil, sys\n"
        "from mudy import corpus\n"
        "gone = lambda progress: shutil.rmtree(sys.argv[3], ignore_errors=True)\n"
        "options = dict(method='mudy', model='smollm2-135m', part_rows=2, speed='fast')\n"
        "print(corpus.run(sys.argv[1], sys.argv[2], report=gone, **options))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(source), str(tmp_path / "out.jsonl"), str(home)],
        env={**os.environ, "MUDY_HOME": str(home), "MUDY_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not home.exists()
    assert all(row["keyphrases"] and row["error"] is None for row in rows(tmp_path / "out.jsonl"))


@pytest.mark.long
def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Ten times the rows, at most a fifth more memory; `mudy corpus` on 100,000 rows is in the documentation."""
    peaks = []
    for count in (100, 1000):
        source = jsonl(tmp_path / f"{count}.jsonl", [{"text": text} for text in texts(count, longest=12)])
        code = (
            "import resource, sys\n"
            "from mudy import corpus\n"
            "corpus.run(sys.argv[1], sys.argv[1] + '.out.jsonl', method='yake', part_rows=50)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", code, str(source)], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.2 * peaks[0]


def test_the_command_tells_a_log_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(3)])
    clock = itertools.count(step=20)
    monkeypatch.setattr(main, "monotonic", lambda: next(clock))
    ended = run_command("corpus", source, tmp_path / "out.jsonl", "--method", "yake", "--part-rows", "1")
    assert ended.exit_code == 0, ended.stderr
    told = re.findall(r"^mudy: Extracting: \d+%, (\d) rows, [\d.]+ per second$", ended.stderr, re.MULTILINE)
    assert {"1", "2", "3"} <= set(told)
