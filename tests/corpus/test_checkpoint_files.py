"""What `mudy corpus` may delete and overwrite: its own files, by its own manifest, and nothing else."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from mudy import InputError, corpus
from mudy._support.storage import new_file
from mudy.corpus.checkpoint import Parts, write_manifest
from mudy.corpus.rows import JsonLinesWriter
from tests.corpora import jsonl, rows, run, texts


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "in.jsonl", [{"id": i, "text": text} for i, text in enumerate(texts(30))])


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def stopped(source: Any, output: Path, after: int, **more: Any) -> None:
    """A run that is ended after some rows, as by a kill."""

    def stop(progress: corpus.Progress) -> None:
        if progress.rows >= after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(source, output, report=stop, **more)


# -- Restart ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "manifest",
    [
        '{"manifest_version": 3, "name": "an extension"}',
        '{"format": 2, "asked": {}}',
        '{"format": 1, "made_by": "mudy corpus", "asked": {"a": 1}}',
        "",
    ],
)
@pytest.mark.parametrize("restart", [False, True])
def test_a_folder_with_a_manifest_of_another_program_is_left_as_it_is(
    source: Path, tmp_path: Path, manifest: str, restart: bool
) -> None:
    folder = tmp_path / "extension"
    (folder / "src").mkdir(parents=True)
    (folder / "manifest.json").write_text(manifest)
    (folder / "src" / "main.js").write_text("precious")
    (folder / "part-000000.jsonl").write_text("precious")
    before = snapshot(folder)
    with pytest.raises(InputError, match="not from `mudy corpus`") as refused:
        run(source, folder, form="jsonl", restart=restart)
    assert snapshot(folder) == before
    assert "--restart" not in str(refused.value)


@pytest.mark.parametrize("restart", [False, True])
def test_an_output_that_another_program_wrote_is_left_as_it_is(source: Path, tmp_path: Path, restart: bool) -> None:
    for name in ("mine.jsonl", "new.jsonl.manifest.json", "other.jsonl.parts/notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("precious")
    before = snapshot(tmp_path)
    for name in ("mine.jsonl", "new.jsonl", "other.jsonl"):
        with pytest.raises(InputError, match="not from `mudy corpus`") as refused:
            run(source, tmp_path / name, restart=restart)
        assert "--restart" not in str(refused.value)
    assert snapshot(tmp_path) == before


def test_an_output_that_was_changed_since_is_not_thrown_away(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    run(source, output)
    output.write_text("sorted by hand")
    for restart in (False, True):
        with pytest.raises(InputError, match="has changed since"):
            run(source, output, restart=restart)
    assert output.read_text() == "sorted by hand"


def test_a_file_that_appears_during_a_run_is_not_replaced_by_it(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    with pytest.raises(InputError, match="not from `mudy corpus`"):
        run(source, output, report=lambda _: output.write_text("precious") and None)
    assert output.read_text() == "precious"


@pytest.mark.parametrize("form", ["jsonl", "parquet", "csv"])
@pytest.mark.parametrize("single", [True, False])
@pytest.mark.parametrize("after", [10, None])
def test_restart_deletes_what_the_run_wrote_and_keeps_what_lies_beside_it(
    source: Path, tmp_path: Path, form: str, single: bool, after: int | None
) -> None:
    folder = tmp_path / "there"
    folder.mkdir()
    output = folder / (f"out.{form}" if single else "out")
    if after is None:
        run(source, output, form=form, part_rows=5)
    else:
        stopped(source, output, after, form=form, part_rows=5)
    working = output if not single else folder / f"out.{form}.parts"
    working.mkdir(exist_ok=True)
    (working / "notes.txt").write_text("precious")
    (folder / "notes.txt").write_text("precious")
    options: Any = {"form": form, "options": {"top_n": 3}}
    if single and after is None:  # the folder of a run that is done is nobody's
        with pytest.raises(InputError, match="not from `mudy corpus`"):
            run(source, output, **options, restart=True)
        (working / "notes.txt").unlink()
        working.rmdir()
    summary = run(source, output, **options, part_rows=20, restart=True)
    assert (summary.rows, summary.resumed) == (30, 0)
    assert (folder / "notes.txt").read_text() == "precious"
    if not single:
        found = json.loads((output / "done.json").read_text())["found"]
        assert sorted(found["files"]) == sorted(path.name for path in output.glob("part-*"))
        assert found["parts"] == 2
    if working.exists():
        assert (working / "notes.txt").read_text() == "precious"


def test_names_in_a_journal_that_are_no_parts_are_not_deleted(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    stopped(source, output, 10, form="jsonl", part_rows=5)
    journal = output / "progress.journal"
    line = json.loads(journal.read_text().splitlines()[-1])
    with journal.open("a") as stream:
        for name in ("../in.jsonl", "manifest.json", "part-000001.exe"):
            stream.write(json.dumps({**line, "part": name}) + "\n")
    (output / "part-000001.exe").write_text("precious")
    with pytest.raises(InputError, match="not part of this run"):
        run(source, output, form="jsonl", restart=True)
    assert source.exists()
    assert (output / "part-000001.exe").exists()


def test_a_wrong_model_is_told_before_the_old_output_is_thrown_away(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    run(source, output)
    before = output.read_bytes()
    with pytest.raises(Exception, match="missing"):
        corpus.run(source, output, model="./missing", restart=True)
    assert output.read_bytes() == before


# -- Outputs that are inputs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["same", "hard", "symbolic"])
@pytest.mark.parametrize("restart", [False, True])
def test_an_output_that_is_an_input_is_refused_through_any_link(
    source: Path, tmp_path: Path, link: str, restart: bool
) -> None:
    output = source if link == "same" else tmp_path / "out.jsonl"
    if link == "hard":
        output.hardlink_to(source)
    if link == "symbolic":
        output.symlink_to(source)
    before = source.read_bytes()
    with pytest.raises(InputError, match="is an input, but also what this run writes to"):
        run(source, output, restart=restart)
    assert source.read_bytes() == before
    assert output.exists()


@pytest.mark.parametrize("pattern", ["", "*.jsonl", "**/*.jsonl"])
@pytest.mark.parametrize("output", ["out.jsonl", "out"])
def test_an_output_within_its_input_is_never_read(tmp_path: Path, pattern: str, output: str) -> None:
    data = tmp_path / "data"
    data.mkdir()
    for name in ("a", "z"):
        jsonl(data / f"{name}.jsonl", [{"text": text} for text in texts(20)])
    inputs = data / pattern
    stopped(inputs, data / output, 10, form="jsonl", part_rows=5)
    assert run(inputs, data / output, form="jsonl", part_rows=5).rows == 40
    assert run(inputs, data / output, form="jsonl", part_rows=5).resumed == 40
    assert run(inputs, data / output, form="jsonl", part_rows=5, restart=True).rows == 40
    assert run(inputs, data / output, form="jsonl", part_rows=5).resumed == 40


def test_what_another_run_has_under_way_in_a_folder_is_not_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    jsonl(data / "a.jsonl", [{"text": text} for text in texts(20)])
    stopped(data, data / "first.jsonl", 10, part_rows=5)
    assert run(data, data / "second.jsonl").rows == 20


# -- Links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("single", [True, False])
def test_a_second_run_to_the_same_place_through_a_link_is_refused(source: Path, tmp_path: Path, single: bool) -> None:
    output, link = (tmp_path / name for name in (("out.jsonl", "link.jsonl") if single else ("out", "link")))
    link.symlink_to(output, target_is_directory=not single)
    refused: list[str] = []

    def second(_: corpus.Progress) -> None:
        def work() -> None:
            try:
                run(source, link, form="jsonl")
            except InputError as error:
                refused.append(str(error))

        thread = threading.Thread(target=work)  # a lock is held by a thread
        thread.start()
        thread.join()

    assert run(source, output, form="jsonl", report=second).rows == 30
    assert refused
    assert all("another run is writing" in message for message in refused)


def test_a_linked_output_is_written_through_its_link(source: Path, tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    output = tmp_path / "out.jsonl"
    output.symlink_to(tmp_path / "store" / "real.jsonl")
    assert run(source, output).rows == 30
    assert output.is_symlink()
    assert len(rows(tmp_path / "store" / "real.jsonl")) == 30
    assert run(source, output).resumed == 30
    assert run(source, output, options={"top_n": 2}, restart=True).rows == 30
    assert output.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "store"]


def test_a_lock_file_of_another_program_is_left_alone(source: Path, tmp_path: Path) -> None:
    (tmp_path / "poetry.lock").write_text("precious")
    run(source, tmp_path / "poetry", form="jsonl")
    assert (tmp_path / "poetry.lock").read_text() == "precious"
    (tmp_path / ".out.jsonl.mudy-lock").write_text("precious")
    with pytest.raises(InputError, match="in the way"):
        run(source, tmp_path / "out.jsonl")
    assert (tmp_path / ".out.jsonl.mudy-lock").read_text() == "precious"


def test_links_under_names_of_ours_lead_to_nothing_that_is_written(source: Path, tmp_path: Path) -> None:
    """A folder that came with links in it, as a cloned repository may, has a run of its own at most."""
    private = tmp_path / "private"
    private.write_text("private")
    output = tmp_path / "out.jsonl"
    for name in (".out.jsonl.part", ".out.jsonl.manifest.json.part"):
        (tmp_path / name).symlink_to(private)
    folder = tmp_path / "out.jsonl.parts"
    folder.mkdir()
    write_manifest(folder / "manifest.json", {})
    for name in ("progress.journal", ".manifest.json.part", ".progress.journal.part", ".part-000000.jsonl.part"):
        (folder / name).symlink_to(private)
    assert run(source, output, part_rows=10).rows == 30
    assert private.read_text() == "private"
    assert (tmp_path / ".out.jsonl.part").is_symlink()
    assert (folder / ".part-000000.jsonl.part").is_symlink()


def test_a_journal_that_is_a_link_to_nothing_makes_nothing(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "out.jsonl.parts"
    folder.mkdir()
    write_manifest(folder / "manifest.json", {})
    (folder / "progress.journal").symlink_to(tmp_path / "private")
    with pytest.raises(InputError, match="symbolic links"):
        run(source, tmp_path / "out.jsonl", part_rows=10)
    assert not (tmp_path / "private").exists()


def test_what_a_kill_left_unfinished_is_ignored(source: Path, tmp_path: Path) -> None:
    folder, left = tmp_path / "out.jsonl.parts", []
    folder.mkdir()
    for place in (folder, tmp_path):
        left.append(new_file(place / "part-000000.jsonl"))
        left[-1].write_text("half a row")
    assert run(source, tmp_path / "out.jsonl", part_rows=10).rows == 30
    assert run(source, tmp_path / "out.jsonl", part_rows=10).resumed == 30
    assert run(source, tmp_path / "out.jsonl", restart=True).resumed == 0
    assert [path.read_text() for path in left] == ["half a row"] * 2


# -- The journal ------------------------------------------------------------------------------------------------------


def tear(folder: Path, line: int) -> None:
    """Cut a line of a journal in its middle, as a full disk does: its part, and those after it, were never written."""
    journal = folder / "progress.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:line]) + lines[line][: len(lines[line]) // 2])
    for part in sorted(folder.glob("part-*"))[line:]:
        part.unlink()


@pytest.mark.parametrize("single", [True, False])
def test_what_was_done_after_a_torn_line_is_found_again(source: Path, tmp_path: Path, single: bool) -> None:
    output = tmp_path / ("out.jsonl" if single else "out")
    stopped(source, output, 10, form="jsonl", part_rows=5)
    folder = tmp_path / ("out.jsonl.parts" if single else "out")
    tear(folder, 1)
    stopped(source, output, 20, form="jsonl", part_rows=5)
    assert run(source, output, form="jsonl", part_rows=5).resumed == 20


@pytest.mark.parametrize("torn", [0, 1, 3])
@pytest.mark.parametrize("part_rows", [3, 5, 8, 30])
def test_parts_of_another_size_are_never_mixed_in(source: Path, tmp_path: Path, torn: int, part_rows: int) -> None:
    output = tmp_path / "out"
    stopped(source, output, 25, form="jsonl", part_rows=5)
    tear(output, torn)
    stopped(source, output, 28, form="jsonl", part_rows=2)
    assert run(source, output, form="jsonl", part_rows=part_rows).rows == 30
    found = [row["id"] for part in sorted(output.glob("part-*")) for row in rows(part)]
    assert found == [str(i) for i in range(30)]
    done = json.loads((output / "done.json").read_text())["found"]
    assert done["files"] == {path.name: path.stat().st_size for path in sorted(output.glob("part-*"))}
    assert (done["rows"], done["parts"]) == (30, len(done["files"]))


def test_a_damaged_line_among_others_costs_nothing(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    stopped(source, output, 25, form="jsonl", part_rows=5)
    journal = output / "progress.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], b"\0\0\0\n", *lines]))
    assert run(source, output, form="jsonl", part_rows=7).resumed == 25
    assert [row["id"] for part in sorted(output.glob("part-*")) for row in rows(part)] == [str(i) for i in range(30)]


def test_a_part_that_is_gone_or_cut_is_computed_again(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    run(source, output, form="jsonl", part_rows=5)
    (output / "part-000004.jsonl").unlink()
    assert run(source, output, form="jsonl", part_rows=5).resumed == 20
    os.truncate(output / "part-000002.jsonl", 50)
    assert run(source, output, form="jsonl", part_rows=5).resumed == 10
    assert [row["id"] for part in sorted(output.glob("part-*")) for row in rows(part)] == [str(i) for i in range(30)]


def test_a_part_of_another_run_is_not_taken_for_ours(source: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    stopped(source, output, 10, form="jsonl", part_rows=5)
    (output / "part-000004.jsonl").write_text("precious")
    with pytest.raises(InputError, match=r"part-000004.jsonl is not part of this run"):
        run(source, output, form="jsonl", part_rows=5)
    assert (output / "part-000004.jsonl").read_text() == "precious"


def test_a_folder_is_not_filled_in_two_formats(source: Path, tmp_path: Path) -> None:
    stopped(source, tmp_path / "out", 10, form="jsonl", part_rows=5)
    with pytest.raises(InputError, match=r"form was '.jsonl', now '.csv'"):
        run(source, tmp_path / "out", form="csv")


def test_the_parts_of_a_run_are_known_by_their_own_names(tmp_path: Path) -> None:
    parts = Parts(tmp_path / "out.jsonl", JsonLinesWriter())
    own = ["out.jsonl", "out.jsonl.manifest.json", "out.jsonl.parts/part-000000.jsonl", ".out.jsonl.mudy-lock"]
    assert all(parts.owns(tmp_path / name) for name in own)
    assert not any(parts.owns(tmp_path / name) for name in ("in.jsonl", "out.jsonl.gz", "my.out.jsonl"))
