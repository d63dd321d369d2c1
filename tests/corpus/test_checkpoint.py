"""Resumed runs: kills, full disks and other runs lose nothing and double nothing."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from pyarrow import parquet

from mudy import Extractor, InputError, SettingError, corpus
from mudy._support.storage import is_leftover
from mudy.corpus import runner
from tests.corpora import jsonl, rows, run, texts

COMMAND = """
import os, signal, sys
from mudy import corpus

source, output, last = sys.argv[1:]

def kill(event, arguments):
    name = arguments[event == "os.rename"] if arguments else ""  # of a rename, the new name: the old one is random
    if event.startswith(("open", "os.")) and f"{event} {os.path.basename(str(name))}" == last:
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
    """One more run ends what was begun, with the rows of the unbroken one; nothing is left but what kills left."""
    with started(source, output) as process:
        assert process.wait() == 0
    assert rows(output) == rows(whole)
    left = [path for path in output.parent.rglob("*") if path.is_file() and not is_leftover(path)]
    assert {path.name for path in left if output.name in str(path)} == {output.name, f"{output.name}.manifest.json"}


@pytest.mark.slow
def test_kills_between_operations_on_files_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """One kill after another on the same output, each at a later step: what one leaves, the next goes on with."""
    source, whole = corpus_of(tmp_path, 40)
    output = tmp_path / "out.jsonl"
    for last in (
        "os.mkdir out.jsonl.parts",
        "os.rename part-000001.jsonl",  # the journal lists the part
        "open part-000002.jsonl",  # the parts are joined
        "os.remove part-000001.jsonl",  # all is joined
    ):
        with started(source, output, last) as process:
            assert process.wait() == -signal.SIGKILL
    check_finished(source, output, whole)


@pytest.mark.long
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
    monkeypatch.setattr(runner, "REPORT_SECONDS", -1.0)
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
