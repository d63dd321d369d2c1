"""A corpus from its files to its output: what is read, written, refused and gone on with."""

import csv
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from filelock import FileLock
from pyarrow import parquet

from mudy import Extractor, InputError, ModelError, SettingError, corpus, models
from mudy.corpus import Columns, row_readers, runner

WORDS = Path("examples/floodplain.txt").read_text(encoding="utf-8").split()


def texts(count: int, seed: int = 0, longest: int = 40) -> list[str]:
    """Stretches of our own text."""
    chance = random.Random(seed)
    starts = [chance.randrange(len(WORDS) - longest) for _ in range(count)]
    return [" ".join(WORDS[start : start + chance.randrange(8, longest)]) for start in starts]


def jsonl(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of an output, without what differs from run to run."""
    found = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in found]


def run(source: Any, output: Path, **more: Any) -> corpus.Summary:
    return corpus.run(source, output, method="yake", **more)


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


def _lines(some: list[str]) -> bytes:
    return "".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(some)).encode()


WRITERS: dict[str, Callable[[Path, list[str]], Any]] = {
    "a.jsonl": lambda path, some: path.write_bytes(_lines(some)),
    "a.jsonl.gz": lambda path, some: path.write_bytes(gzip.compress(_lines(some))),
    "a.ndjson.zst": lambda path, some: path.write_bytes(zstandard.compress(_lines(some))),
    "a.csv": _csv,
    "a.parquet": _parquet,
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_form_of_table_gives_the_same_rows(tmp_path: Path, name: str) -> None:
    some = [*texts(5), 'A "quoted", river\ngauge; naïve Straße 🙂 floodplain.']
    WRITERS[name](tmp_path / name, some)
    source, after = row_readers.File(str(tmp_path / name)), Columns()
    assert [(row.id, row.text) for row in source.rows(0, after)] == [(str(i), text) for i, text in enumerate(some)]
    assert [row.text for row in source.rows(0, after, skip=4)] == some[4:]


def test_a_folder_is_read_file_by_file_in_order_and_what_is_unknown_is_named(tmp_path: Path) -> None:
    for name in ("b.txt", "a/c.md", "z.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("<p>A river gauge measures the flood.</p>", encoding="utf-8")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    names, ignored = row_readers.files([str(tmp_path)])
    assert [Path(name).name for name in names] == ["c.md", "b.txt", "z.html"]
    assert [Path(name).name for name in ignored] == ["picture.png"]


def test_a_file_that_breaks_in_the_middle_costs_only_its_own_rest(tmp_path: Path) -> None:
    packed = gzip.compress(_lines(texts(400)))
    (tmp_path / "a.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    (tmp_path / "b.jsonl").write_bytes(_lines(texts(3)))
    summary = run([tmp_path / "a.jsonl.gz", tmp_path / "b.jsonl"], tmp_path / "out.jsonl")
    found = rows(tmp_path / "out.jsonl")
    (bad,) = [row for row in found if row["error"]]
    assert "cannot be read" in bad["error"]
    assert [row["id"] for row in found[-3:]] == ["0", "1", "2"]
    assert summary.failed == 1


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


# -- Going on ---------------------------------------------------------------------------------------------------------

COMMAND = """
import os, signal, sys
from mudy import corpus

source, output, last = sys.argv[1:]

def kill(event, arguments):
    if event.startswith(("open", "os.")) and f"{event} {os.path.basename(str(arguments[0]))}" == last:
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(kill)
corpus.run(source, output, method="yake", part_rows=10)
"""


def started(source: Path, output: Path, last: str = "") -> subprocess.Popen[bytes]:
    """A run that kills itself before an operation on a file, if one is named."""
    return subprocess.Popen([sys.executable, "-c", COMMAND, str(source), str(output), last])


def corpus_of(tmp_path: Path, count: int) -> tuple[Path, Path]:
    """A corpus, and the output of a run that nobody killed."""
    source = jsonl(tmp_path / "in.jsonl", [{"id": i, "text": text} for i, text in enumerate(texts(count))])
    with started(source, tmp_path / "whole.jsonl") as process:
        assert process.wait() == 0
    return source, tmp_path / "whole.jsonl"


def check_finished(source: Path, output: Path, whole: Path) -> None:
    """One more run ends what was begun, with the rows of the unbroken one and nothing left beside them."""
    with started(source, output) as process:
        assert process.wait() == 0
    assert rows(output) == rows(whole)
    assert sorted(path.name for path in output.parent.glob(f"{output.name}*")) == [
        output.name,
        f"{output.name}.manifest.json",
    ]


def test_kills_between_operations_on_files_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """One kill after another on the same output, each at a later step: what one leaves, the next goes on with."""
    source, whole = corpus_of(tmp_path, 40)
    output = tmp_path / "out.jsonl"
    for last in (
        "os.mkdir out.jsonl.parts",
        "os.rename .part-000001.jsonl.part",  # the journal lists the part
        "open part-000002.jsonl",  # the parts are joined
        "os.remove part-000001.jsonl",  # all is joined
    ):
        with started(source, output, last) as process:
            assert process.wait() == -signal.SIGKILL
    check_finished(source, output, whole)


@pytest.mark.load
def test_kills_at_any_moment_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """Kills from the first import to the joining of the parts, at random moments; the time that one start needs is
    measured first, so that most kills fall into the work.
    """
    start = time.monotonic()
    source, whole = corpus_of(tmp_path, 300)
    needed = time.monotonic() - start
    chance, kills = random.Random(5), 0
    wanted = int(os.environ.get("MUDY_KILLS", "6"))
    output = tmp_path / "out.jsonl"
    while kills < wanted:
        with started(source, output) as process:
            time.sleep(chance.uniform(0.2, 1.1) * needed if kills % 4 else chance.uniform(0, 0.3) * needed)
            done = process.poll() is not None
            if not done:
                process.send_signal(signal.SIGKILL)
                kills += 1
        if done:
            assert rows(output) == rows(whole)
            for left in (output, output.with_name("out.jsonl.manifest.json")):
                left.unlink()
    check_finished(source, output, whole)


def test_a_finished_run_is_not_repeated_and_a_changed_one_is_refused_with_what_changed(tmp_path: Path) -> None:
    source, output = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(9)]), tmp_path / "out.jsonl"
    run(source, output, part_rows=4)
    before = output.read_bytes()
    again = run(source, output, part_rows=5)
    assert (again.rows, again.resumed) == (9, 9)
    assert output.read_bytes() == before
    with pytest.raises(InputError, match=r"options.top_n was 10, now 3.*--restart"):
        run(source, output, part_rows=4, options={"top_n": 3})
    with pytest.raises(InputError, match=r"extractor.method was 'yake', now 'textrank'"):
        corpus.run(source, output, method="textrank", part_rows=4)
    source.write_text(source.read_text(encoding="utf-8") + '{"text": "One more river."}\n', encoding="utf-8")
    with pytest.raises(InputError, match=r"input.0.bytes was \d+, now \d+"):
        run(source, output, part_rows=4)
    assert run(source, output, part_rows=4, restart=True).rows == 10


def test_threads_and_batches_may_change_between_two_runs(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(3)])
    run(source, tmp_path / "out.jsonl", threads=1)
    assert run(source, tmp_path / "out.jsonl", threads=2, batch_tokens=64).resumed == 3


def test_only_what_was_not_done_is_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, output = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(40)]), tmp_path / "out.jsonl"
    seen: list[int] = []

    def stop(progress: corpus.Progress) -> None:
        if progress.rows == 20:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, output, part_rows=10, report=stop)
    monkeypatch.setattr(Extractor, "prepare", _counting(Extractor.prepare, seen))
    summary = run(source, output, part_rows=10)
    assert (summary.rows, summary.resumed, len(seen)) == (40, 20, 20)


def test_parts_are_written_each_minute_and_progress_is_told_between_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, told = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(12)]), []
    monkeypatch.setattr(runner, "PART_SECONDS", 0.0)
    run(source, tmp_path / "slow", form="jsonl", report=lambda progress: told.append(progress.rows))
    assert len(list((tmp_path / "slow").glob("part-*"))) == 12
    assert told == list(range(1, 13))
    told.clear()
    monkeypatch.setattr(runner, "PART_SECONDS", 60.0)
    monkeypatch.setattr(runner, "TOLD_SECONDS", -1.0)
    run(source, tmp_path / "quick", form="jsonl", part_rows=5, report=lambda progress: told.append(progress.rows))
    assert told == [*range(1, 13), 12]


def _counting(prepare: Callable[..., Any], seen: list[int]) -> Callable[..., Any]:
    def counted(*args: Any, **more: Any) -> Any:
        seen.append(1)
        return prepare(*args, **more)

    return counted


def test_a_second_run_to_the_same_output_is_refused(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(2)])
    with FileLock(tmp_path / ".out.jsonl.mudy-lock"), pytest.raises(InputError, match="another run is writing to it"):
        run(source, tmp_path / "out.jsonl")


def test_a_file_of_another_kind_is_never_overwritten_unasked(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": "River gauges."}])
    (tmp_path / "mine.jsonl").write_text("precious")
    with pytest.raises(InputError, match="exists, but not from `mudy corpus`"):
        run(source, tmp_path / "mine.jsonl")
    assert (tmp_path / "mine.jsonl").read_text() == "precious"
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "mine.txt").write_text("precious")
    for restart in (False, True):
        with pytest.raises(InputError, match=r"not from `mudy corpus`|not a folder of"):
            run(source, tmp_path / "folder", form="jsonl", restart=restart)
    assert (tmp_path / "folder" / "mine.txt").exists()


def test_a_folder_as_output_holds_the_parts(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(25)])
    run(source, tmp_path / "out", form="parquet", part_rows=10)
    run(source, tmp_path / "out.parquet", part_rows=10)
    parts = sorted((tmp_path / "out").glob("*.parquet"))
    assert [parquet.read_table(part).num_rows for part in parts] == [10, 10, 5]
    joined = [row for part in parts for row in parquet.read_table(part).drop(["seconds"]).to_pylist()]
    assert joined == parquet.read_table(tmp_path / "out.parquet").drop(["seconds"]).to_pylist()
    assert run(source, tmp_path / "out", form="parquet", part_rows=10).resumed == 25


@pytest.mark.parametrize(("output", "form"), [("out.txt", None), ("out", None), ("out.jsonl", "parquet")])
def test_an_output_of_no_known_form_is_refused(tmp_path: Path, output: str, form: str | None) -> None:
    with pytest.raises(SettingError):
        run(jsonl(tmp_path / "in.jsonl", [{"text": "x"}]), tmp_path / output, form=form)


def test_what_fails_for_every_row_fails_the_run_and_not_the_rows(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "in.jsonl", [{"text": text} for text in texts(2)])
    with pytest.raises(SettingError, match="top_n"):
        run(source, tmp_path / "out.jsonl", options={"top_n": -1})
    with pytest.raises(ModelError):
        corpus.run(source, tmp_path / "out2.jsonl", model="./missing")
    assert not (tmp_path / "out2.jsonl").exists()


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


# -- Trouble ----------------------------------------------------------------------------------------------------------

SMALL_DISK = 400_000  # bytes


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system that is soon full."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={SMALL_DISK}", "tmpfs", str(folder)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("a small file system needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_told_and_what_was_written_stays_of_use(tmp_path: Path, small_disk: Path) -> None:
    some = [{"id": i, "text": text} for i, text in enumerate(texts(400, longest=60))]
    source, output = jsonl(tmp_path / "in.jsonl", some), small_disk / "out.jsonl"
    with pytest.raises(InputError, match="No space left on device"):
        run(source, output, part_rows=20)
    parts = sorted(small_disk.glob("out.jsonl.parts/part-*.jsonl"))
    assert parts
    assert all(len(part.read_text().splitlines()) == 20 for part in parts)
    subprocess.run(["mount", "-o", "remount,size=50m", str(small_disk)], check=True)
    summary = run(source, output, part_rows=20)
    assert summary.resumed == 20 * len(parts)
    assert [row["id"] for row in rows(output)] == [str(i) for i in range(400)]


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


def test_an_input_that_is_not_there_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    for name in ("missing.jsonl", "*.jsonl"):
        with pytest.raises(InputError, match="no such file"):
            run(tmp_path / name, tmp_path / "out.jsonl")
    assert not list(tmp_path.iterdir())


# -- The command ------------------------------------------------------------------------------------------------------


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mudy", "corpus", *arguments], capture_output=True, text=True, check=False
    )


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
    assert "was done before: 6 rows" in again.stderr
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
        "print(corpus.run(sys.argv[1], sys.argv[2], model='smollm2-135m', part_rows=2, speed='fast', report=gone))"
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


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Ten times the rows, at most a fifth more memory; `mudy corpus` on 100,000 rows is in the documentation."""
    peaks = []
    for count in (250, 2500):
        source = jsonl(tmp_path / f"{count}.jsonl", [{"text": text} for text in texts(count, longest=12)])
        code = (
            "import resource, sys\n"
            "from mudy import corpus\n"
            "corpus.run(sys.argv[1], sys.argv[1] + '.out.jsonl', method='yake', part_rows=100)\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        done = subprocess.run([sys.executable, "-c", code, str(source)], capture_output=True, text=True, check=True)
        peaks.append(int(done.stdout))
    assert peaks[1] < 1.2 * peaks[0]
