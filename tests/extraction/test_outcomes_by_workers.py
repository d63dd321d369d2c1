"""Many texts by several processes: the same results, in the same order."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mudy import Extractor, InputError, LanguageWarning, SettingError, corpus
from mudy._support import workers as worker_processes
from mudy.cli.main import cli
from mudy.errors import WorkerError
from mudy.extraction.outcomes import ExtractionWork, Item, portable_arguments
from tests.corpora import jsonl, rows, run, texts
from tests.reading.test_pool import gone
from tests.served import until
from tests.taggers import english

posix = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The worker processes that were started."""
    found: list[int] = []

    class Noted(worker_processes.WorkerProcess):
        def __init__(self, *arguments: Any, **more: Any) -> None:
            super().__init__(*arguments, **more)
            found.append(self.pid)

    monkeypatch.setattr(worker_processes, "WorkerProcess", Noted)
    return found


def test_several_processes_give_the_results_of_one_to_the_last_bit(pids: list[int]) -> None:
    some, extractor = ["", *texts(150), "..."], Extractor("yake")
    assert list(extractor.extract_many(some, 5, workers=2)) == list(extractor.extract_many(some, 5))
    assert len(pids) == 2
    assert all(map(gone, pids))


@posix
def test_a_worker_killed_in_the_middle_costs_no_text_and_doubles_none(pids: list[int]) -> None:
    some, extractor = texts(300), Extractor("yake")

    def read() -> Iterator[str]:
        for number, text in enumerate(some):
            if number == 200:  # others are under way
                os.kill(pids[0], signal.SIGKILL)
            yield text

    assert list(extractor.extract_many(read(), workers=2)) == list(extractor.extract_many(some))
    assert len(pids) >= 3


def test_candidates_options_and_warnings_are_those_of_each_text() -> None:
    some = ["River ice is thin.", "Die Fähre überquert den Fluss, und die Mannschaft liest die Karte des Eises."]
    lists = [["river"], ["Karte", "Boot"]]
    with pytest.warns(LanguageWarning):
        found = list(Extractor("yake", language="en").extract_many(some, candidates=lists, workers=2))
    assert [[k.text for k in result] for result in found] == [["River"], ["Karte"]]
    assert found[1].not_found == ("Boot",)


def test_models_are_loaded_beside_the_tagger(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[Extractor] = []
    monkeypatch.setattr(Extractor, "load_meanwhile", lambda self: loaded.append(self))
    assert next(Extractor("yake").extract_many(["River ice is thin."])).keyphrases
    assert loaded


def test_a_text_that_fails_raises_in_its_place() -> None:
    bad: Any = [*texts(3), b"bytes", "never asked for"]
    results = Extractor("yake").extract_many(bad, workers=2)
    assert [len(result.keyphrases) > 0 for _, result in zip(range(3), results, strict=False)] == [True] * 3
    with pytest.raises(InputError, match=r"A text must be a str, but texts\[3\] is b'bytes'"):
        next(results)


def test_what_would_fail_for_every_text_is_raised_as_in_one_process(pids: list[int]) -> None:
    for workers in (1, 2):
        with pytest.raises(SettingError, match="top_n='auto' needs probabilities"):
            list(Extractor("yake").extract_many(texts(2), "auto", workers=workers))
    assert all(map(gone, pids))


@pytest.mark.slow
def test_leaving_early_ends_the_workers(pids: list[int]) -> None:
    results = Extractor("yake").extract_many(texts(200), workers=2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert pids
    assert all(map(gone, pids))


@pytest.mark.parametrize("workers", [0, -1, 1.5, "2", True])
def test_workers_are_a_number_from_one_up(workers: Any, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="workers"):
        Extractor("yake").extract_many(["text"], workers=workers)
    with pytest.raises(SettingError, match="workers"):
        run(tmp_path, tmp_path / "out.jsonl", workers=workers)


def test_settings_that_cannot_be_sent_are_refused_at_once(tmp_path: Path) -> None:
    class Other(Extractor):
        pass

    with pytest.raises(SettingError, match=r"language is .*cannot be sent to worker processes"):
        Extractor("yake", language=english()).extract_many(["text"], workers=2)
    with pytest.raises(SettingError, match="this is a Other"):
        Other("yake").extract_many(["text"], workers=2)
    source = jsonl(tmp_path / "in.jsonl", [{"text": "River ice."}])
    with pytest.raises(SettingError, match="cannot be sent to worker processes"):
        run(source, tmp_path / "out.jsonl", language=english(), workers=2)
    assert not (tmp_path / "out.jsonl.parts").exists()


def test_an_extractor_in_a_worker_has_the_same_settings() -> None:
    extractor = Extractor("mudyplus", max_words=50, speed="quick").using("mudy", "paper-decoder", lambda_=0.5)
    sent = portable_arguments(extractor, 2)
    assert Extractor(**{**sent, "threads": None}).arguments() == extractor.arguments()


# -- Corpus -----------------------------------------------------------------------------------------------------------


def made_corpus(folder: Path, count: int = 200) -> Path:
    some: list[Any] = [{"id": i, "text": text, "year": i} for i, text in enumerate(texts(count))]
    return jsonl(folder / "in.jsonl", [*some[:100], "bad", {"text": None}, *some[100:]])


def test_a_corpus_by_several_processes_has_the_rows_of_one(tmp_path: Path) -> None:
    source = made_corpus(tmp_path)
    columns = corpus.Columns(keep=("year",))
    one = run(source, tmp_path / "one.jsonl", columns=columns)
    two = run(source, tmp_path / "two.jsonl", columns=columns, workers=2)
    assert (one.rows, one.failed) == (two.rows, two.failed) == (202, 2)
    assert rows(tmp_path / "one.jsonl") == rows(tmp_path / "two.jsonl")


@posix
def test_a_worker_killed_after_a_part_costs_no_row(tmp_path: Path, pids: list[int]) -> None:
    source = made_corpus(tmp_path)
    killed: list[int] = []

    def kill(progress: corpus.Progress) -> None:
        if progress.rows >= 50 and not killed:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    run(source, tmp_path / "one.jsonl")
    summary = run(source, tmp_path / "two.jsonl", workers=2, part_rows=50, report=kill)
    assert killed
    assert (summary.rows, summary.failed) == (202, 2)
    assert rows(tmp_path / "one.jsonl") == rows(tmp_path / "two.jsonl")


def test_what_was_interrupted_goes_on_with_any_number_of_workers(tmp_path: Path, pids: list[int]) -> None:
    source = made_corpus(tmp_path)

    def stop(progress: corpus.Progress) -> None:
        if progress.rows == 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, tmp_path / "out.jsonl", part_rows=50, workers=2, report=stop)
    assert pids
    assert all(map(gone, pids))
    summary = run(source, tmp_path / "out.jsonl", workers=3)
    assert (summary.rows, summary.resumed) == (202, 100)
    run(source, tmp_path / "one.jsonl")
    assert rows(tmp_path / "out.jsonl") == rows(tmp_path / "one.jsonl")


def test_a_text_that_ends_its_workers_has_an_error() -> None:
    error = WorkerError("The worker process ended.")
    assert ExtractionWork({"method": "yake"}, ()).lost(Item(None, "River ice."), error).result is error


def test_ray_has_actors_instead(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="set the number of actors"):
        run(tmp_path, tmp_path / "out.jsonl", workers=2, engine="ray")


# -- Command line -----------------------------------------------------------------------------------------------------


def test_extract_from_many_files_writes_what_one_process_writes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], pids: list[int]
) -> None:
    for number, text in enumerate(texts(80)):
        (tmp_path / f"{number:02}.txt").write_text(text)
    (tmp_path / "17.txt").write_bytes(b"\xff\xfe\xff broken")
    found = []
    for workers in ("1", "2"):
        with pytest.raises(SystemExit) as stop:
            cli.main(["extract", f"{tmp_path}/*.txt", "-m", "yake", "-f", "jsonl", "-q", "--workers", workers])
        found.append((stop.value.code, *capsys.readouterr()))
    assert found[0] == found[1]
    assert pids


@pytest.mark.parametrize("command", ["extract", "corpus", "serve"])
def test_the_command_line_takes_no_number_below_one(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for number in ("0", "-2"):
        with pytest.raises(SystemExit) as stop:
            cli.main([command, "--workers", number])
        assert stop.value.code == 2
        assert "--workers" in capsys.readouterr().err


@pytest.mark.slow
@posix
def test_a_corpus_command_that_is_killed_leaves_no_worker_and_goes_on(tmp_path: Path) -> None:
    source, output = made_corpus(tmp_path, 1000), tmp_path / "two.jsonl"
    command = [sys.executable, "-m", "mudy", "corpus", str(source), str(output), "-m", "yake", "--workers", "2", "-q"]
    killed = subprocess.Popen([*command, "--part-rows", "100"], start_new_session=True)
    part = tmp_path / "two.jsonl.parts" / "part-000001.jsonl"
    until(part.exists)
    workers = children(killed.pid)
    killed.kill()
    killed.wait()
    assert len(workers) == 2
    until(lambda: all(map(gone, workers)))
    done = subprocess.run([*command, "--part-rows", "100"], check=False)
    assert done.returncode == 1  # two rows are bad
    run(source, tmp_path / "one.jsonl")
    assert rows(output) == rows(tmp_path / "one.jsonl")


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    return [
        int(child) for task in Path(f"/proc/{pid}/task").iterdir() for child in (task / "children").read_text().split()
    ]
