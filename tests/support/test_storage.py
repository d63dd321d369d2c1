"""Files on the disk: whole or absent, one writer at a time, and content that always encodes."""

import json
import os
import secrets
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mudy import InputError
from mudy._support.storage import (
    atomic_output,
    atomic_write,
    dump_json,
    exclusive_lock,
    file_sha256,
    is_leftover,
    open_to_append,
    output_lock,
    real_path,
)


def test_a_file_is_whole_or_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("before")
    with pytest.raises(ValueError, match="x"), atomic_write(path) as unfinished:
        int(str(unfinished.write_text("half")) + "x")
    assert path.read_text() == "before"
    with atomic_write(path) as unfinished:
        unfinished.write_text("after")
        assert path.read_text() == "before"
    assert path.read_text() == "after"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_is_replaced_keeps_its_permissions_and_a_link_its_target(tmp_path: Path) -> None:
    path, link = tmp_path / "real.txt", tmp_path / "link.txt"
    path.write_text("before")
    path.chmod(0o640)
    link.symlink_to(path)
    with atomic_write(real_path(link)) as unfinished:
        unfinished.write_text("after")
    assert link.is_symlink()
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", 0o640)


def test_an_output_that_cannot_be_written_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"), atomic_output(tmp_path / "nowhere/out") as unfinished:
        unfinished.write_text("x")
    with pytest.raises(OSError, match="No such file"), atomic_write(tmp_path / "nowhere/out") as unfinished:
        unfinished.write_text("x")


def test_several_writers_of_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    with atomic_write(path) as one, atomic_write(path) as other:
        one.write_text("one")
        other.write_text("other")
        assert is_leftover(one)
    assert path.read_text() == "one"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_in_the_place_of_a_file_is_replaced_and_not_followed(tmp_path: Path) -> None:
    private, path = tmp_path / "private", tmp_path / "manifest.json"
    private.write_text("private")
    private.chmod(0o600)
    path.symlink_to(private)
    with atomic_write(path) as unfinished:
        unfinished.write_text("new")
    assert (path.is_symlink(), path.read_text(), private.read_text()) == (False, "new", "private")
    assert stat.S_IMODE(private.stat().st_mode) == 0o600


def test_an_unfinished_file_is_new_and_its_name_is_not_taken_from_that_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that was guessed nevertheless is refused, and what lies there stays."""
    path, names = tmp_path / "notes.md", iter(["guessed", "b", "c"])
    (tmp_path / "private").write_text("private")
    for name in (".notes.md.part", ".mudy-guessed.part"):
        (tmp_path / name).symlink_to(tmp_path / "private")
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(names))
    with pytest.raises(FileExistsError), atomic_write(path):
        pytest.fail("it was opened")
    with atomic_write(path) as unfinished:
        unfinished.write_text("new")
    assert (path.read_text(), (tmp_path / "private").read_text()) == ("new", "private")
    assert (tmp_path / ".notes.md.part").is_symlink()


@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        with atomic_write(tmp_path / "new") as unfinished:
            unfinished.write_text("x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask


def test_what_replaces_a_private_file_is_private_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "private"
    path.touch(0o600)
    with atomic_write(path) as unfinished:
        assert stat.S_IMODE(unfinished.stat().st_mode) == 0o600


def test_a_name_as_long_as_the_disk_allows_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / f"{'n' * 252}.md"
    with atomic_write(path) as unfinished:
        unfinished.write_text("x")
    assert path.read_text() == "x"


@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_appended_through_a_link(tmp_path: Path, exists: bool) -> None:
    if exists:
        (tmp_path / "private").write_text("private")
    (tmp_path / "journal").symlink_to(tmp_path / "private")
    with pytest.raises(OSError, match="symbolic links"):
        open_to_append(tmp_path / "journal")
    assert (tmp_path / "private").exists() == exists
    for line in (b"a\n", b"b\n"):
        with open_to_append(tmp_path / "other") as stream:
            stream.write(line)
    assert (tmp_path / "other").read_bytes() == b"a\nb\n"


HOLD = (
    "import sys\nfrom filelock import FileLock\nwith FileLock(sys.argv[1]):\n    print('held', flush=True)\n    input()"
)


def test_a_lock_that_another_process_holds_is_refused_or_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "model.lock"
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", HOLD, str(file)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        with pytest.raises(TimeoutError), exclusive_lock(file):
            pytest.fail("two hold it")
        stdin, waits = process.stdin, []

        def waiting() -> None:
            waits.append(1)
            stdin.write("\n")
            stdin.flush()

        with exclusive_lock(file, waiting):
            assert waits == [1]


def test_an_output_has_one_run_and_its_lock_is_gone_afterwards(tmp_path: Path) -> None:
    output = tmp_path / "out.jsonl"
    with output_lock(output):
        with pytest.raises(InputError, match="another run is writing"), output_lock(output):
            pytest.fail("two write to it")
        with pytest.raises(OSError, match="of the work"), output_lock(tmp_path / "other"):
            raise OSError("of the work")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", [None, ""])
def test_a_lock_is_not_made_through_a_link(tmp_path: Path, content: str | None) -> None:
    private = tmp_path / "private"
    if content is not None:
        private.write_text(content)
    (tmp_path / ".out.jsonl.mudy-lock").symlink_to(private)
    with pytest.raises(InputError, match="is in the way: it is a link"), output_lock(tmp_path / "out.jsonl"):
        pytest.fail("it is held")
    assert private.exists() == (content is not None)


@pytest.mark.parametrize("text", ["", "é 🙂", "half \ud800 a pair", "\udcff"])
def test_json_with_any_character_encodes(text: str) -> None:
    written = dump_json({"text": text}).encode()
    assert json.loads(written) == {"text": text}
    if text.isprintable():
        assert text in written.decode()


def test_json_refuses_what_is_no_number_unless_it_is_allowed() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json(float("nan"))
    assert dump_json(float("nan"), allow_nan=True) == "NaN"


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert file_sha256(tmp_path / "file").startswith("ba7816bf")
