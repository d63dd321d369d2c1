"""Files on the disk: whole or absent, one writer at a time, and content that always encodes."""

import json
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from mudy import InputError
from mudy.storage import (
    atomic_output,
    atomic_write,
    dump_json,
    encode_text,
    exclusive_lock,
    file_sha256,
    output_lock,
    unfinished_path,
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
    with atomic_write(link) as unfinished:
        unfinished.write_text("after")
    assert link.is_symlink()
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("after", 0o640)


def test_an_output_that_cannot_be_written_is_the_users_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"), atomic_output(tmp_path / "nowhere/out") as unfinished:
        unfinished.write_text("x")
    with pytest.raises(OSError, match="No such file"), atomic_write(tmp_path / "nowhere/out") as unfinished:
        unfinished.write_text("x")


def test_files_of_several_writers_have_names_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    assert unfinished_path(path) == tmp_path / ".manifest.json.part"
    assert unfinished_path(path, unique=True) != unfinished_path(path)


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


@pytest.mark.parametrize("text", ["", "é 🙂", "half \ud800 a pair", "\udcff"])
def test_json_and_texts_with_any_character_encode(text: str) -> None:
    written = dump_json({"text": text}).encode()
    assert json.loads(written) == {"text": text}
    assert len(encode_text(text).decode()) == len(text)
    if text.isprintable():
        assert text in written.decode()


def test_json_refuses_what_is_no_number_unless_it_is_allowed() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        dump_json(float("nan"))
    assert dump_json(float("nan"), allow_nan=True) == "NaN"


def test_the_hash_of_a_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    assert file_sha256(tmp_path / "file").startswith("ba7816bf")
