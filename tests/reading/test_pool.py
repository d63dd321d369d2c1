"""Files that would freeze, fill or break whatever reads them cost one small process, and no other file."""

import io
import os
import signal
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from mudy import InputError
from mudy.cli.main import cli
from mudy.reading import formats as readers
from mudy.reading.formats import Limits, TextBuilder, docx
from mudy.reading.formats.pool import FileRead, ReaderPool
from tests import hostile
from tests.reading.test_readers import FIRST, pdf
from tests.served import until

on_linux = pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are those of Linux")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and forks are those of POSIX")
RIVER = hostile.docx(hostile.paragraph("River gauge"))


@pytest.fixture
def pool() -> Iterator[ReaderPool]:
    with closing(ReaderPool()) as made:
        yield made


@cache
def slow_file() -> bytes:
    """A file that takes many seconds, whatever the machine."""
    return hostile.docx(b"<w:p/>" * 15_000_000)


def limited(data: bytes, name: str = "", **limits: float) -> str:
    """The text of a file within limits; unless one is given, there is time enough for a busy machine."""
    with closing(ReaderPool(1, Limits(**{"seconds": 3600, **limits}))) as made:  # type: ignore[arg-type]
        return readers.read(data, name, pool=made).text


def processes(pool: ReaderPool) -> list[int]:
    return [process.pid for process in (*pool._idle, *pool._busy)]


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return "zombie" in Path(f"/proc/{pid}/status").read_text() if sys.platform == "linux" else False


# -- Limits -----------------------------------------------------------------------------------------------------------


def test_a_file_that_takes_too_long_is_refused() -> None:
    with pytest.raises(InputError, match=r"^took longer than 0\.3 seconds to read$"):
        limited(slow_file(), seconds=0.3)


@on_linux
def test_a_file_that_needs_too_much_memory_is_refused() -> None:
    """One that asks for much at once, so that enough is left for Python to raise MemoryError."""
    long_word = hostile.docx(hostile.paragraph("a" * 60_000_000))
    with pytest.raises(InputError, match=r"^needs more than 0\.1 GB of memory to read$"):
        limited(long_word, memory=100_000_000, characters=10**9)


@pytest.mark.parametrize("element", [b"<w:p>", b"<w:other>"])
def test_a_document_of_elements_within_elements_is_refused_early(element: bytes) -> None:
    with pytest.raises(InputError, match=r"^nests more than 1,000 elements, which no document does$"):
        limited(hostile.docx(element * 10_000_000))


def test_a_file_that_holds_too_much_text_is_refused() -> None:
    swollen = hostile.swelling_pdf(pages=10, strings=1)
    assert len(swollen) < 4_000
    with pytest.raises(InputError, match=r"^holds more than 300,000 characters of text$"):
        limited(swollen, characters=300_000)
    with pytest.raises(InputError, match="holds more than 300 characters of text"):
        limited(hostile.docx(hostile.paragraph("ice ") * 100), characters=300)
    with pytest.raises(InputError, match="holds more than 300 characters of text"):
        limited(b"<html><body><p>" + b"Thin river ice. " * 100, characters=300)


def test_a_pdf_of_one_long_word_is_read() -> None:
    """Before, this took minutes: the time grew with the square of a word's length."""
    assert len(limited(hostile.one_word_pdf(strings=3))) == 3 * hostile.LONGEST_STRING


def test_a_cell_that_says_that_it_spans_a_quadrillion_columns_is_read_once() -> None:
    assert limited(hostile.docx(hostile.wide_cell(10**15))) == "River gauge"


def test_what_a_document_unpacks_to_is_measured_and_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docx, "_MAX_BYTES", 1_000_000)
    honest = hostile.docx(b"<w:p/>" * 1_000_000)
    with pytest.raises(InputError, match="unpacks to more than 1,000,000 bytes"):
        docx.read_docx(TextBuilder(Limits(), ""), honest)
    size = zipfile.ZipFile(io_of(honest)).getinfo("word/document.xml").file_size
    lying = honest.replace(size.to_bytes(4, "little"), (1_000).to_bytes(4, "little"))
    with pytest.raises(InputError, match="is a broken Word document"):
        limited(lying)


def io_of(data: bytes) -> io.BytesIO:

    return io.BytesIO(data)


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_document_that_would_unpack_at_once_is_not_unpacked(method: int) -> None:
    with pytest.raises(InputError, match="packed in an unusual way"):
        limited(hostile.docx(hostile.paragraph("ice"), method))


def test_a_document_that_defines_entities_is_refused() -> None:
    entities = b'<!DOCTYPE w:document [<!ENTITY a "ice"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    body = hostile.docx(hostile.paragraph("&b;"), zipfile.ZIP_STORED)
    data = rewritten(body, lambda document: entities + document)
    with pytest.raises(InputError, match="a DTD"):
        limited(data)


def rewritten(data: bytes, change: Callable[[bytes], bytes]) -> bytes:

    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(made, "w") as new:
        new.writestr("word/document.xml", change(old.read("word/document.xml")))
    return made.getvalue()


# -- Whatever a reader raises is that file's error --------------------------------------------------------------------


def unsupported() -> bytes:
    """A Word document packed by a method that Python's zipfile raises NotImplementedError for."""
    method = (8).to_bytes(2, "little")
    data = bytearray(RIVER)
    for mark, offset in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        place = data.index(mark) + offset
        assert data[place : place + 2] == method
        data[place : place + 2] = (99).to_bytes(2, "little")
    return bytes(data)


def test_one_bad_document_costs_no_other_its_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.docx").write_bytes(RIVER)
    Path("b.docx").write_bytes(unsupported())
    Path("c.pdf").write_bytes(pdf(FIRST))
    with pytest.raises(SystemExit) as stop:
        cli.main(["extract", "a.docx", "b.docx", "c.pdf", "--method", "yake", "--format", "jsonl"])
    shown = capsys.readouterr()
    assert stop.value.code == 1
    assert len(shown.out.splitlines()) == 2
    assert shown.err.startswith("mudy: b.docx: is a Word document that is encrypted or packed in an unusual way")


def test_whatever_a_reader_raises_names_the_kind_of_file() -> None:
    with pytest.raises(InputError, match=r"^is a broken Word document \(BadZipFile\)$"):
        limited(b"PK\x03\x04 and no more")


def test_whatever_decoding_raises_is_the_files_error() -> None:
    with pytest.raises(InputError):
        readers.read(b"xn--\xff", encoding="idna")


# -- Processes --------------------------------------------------------------------------------------------------------


def test_one_process_reads_one_file_after_the_other(pool: ReaderPool) -> None:
    assert readers.read(pdf(FIRST), pool=pool).text == FIRST
    first = processes(pool)
    assert readers.read(RIVER, pool=pool).text == "River gauge"
    assert processes(pool) == first


def test_after_a_file_that_was_refused_the_next_is_read(pool: ReaderPool) -> None:
    pool.limits = Limits(seconds=0.3)
    with pytest.raises(InputError):
        readers.read(slow_file(), pool=pool)
    assert processes(pool) == []
    pool.limits = Limits()
    assert readers.read(RIVER, pool=pool).text == "River gauge"


@posix
def test_a_process_that_was_killed_is_replaced(pool: ReaderPool) -> None:
    readers.read(RIVER, pool=pool)
    os.kill(processes(pool)[0], signal.SIGKILL)
    assert readers.read(RIVER, pool=pool).text == "River gauge"


@posix
def test_a_file_that_kills_its_process_is_refused() -> None:
    file, slow = FileRead(), ReaderPool(1)
    with closing(slow), ThreadPoolExecutor() as threads:
        reading = threads.submit(readers.read, slow_file(), pool=slow, file=file)
        until(lambda: slow._busy)
        os.kill(processes(slow)[0], signal.SIGSEGV)
        with pytest.raises(InputError, match=r"ended the process that read it \(signal 11\)"):
            reading.result()


@posix
def test_a_reading_can_be_stopped_by_another_thread(pool: ReaderPool) -> None:
    file = FileRead()
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(readers.read, slow_file(), pool=pool, file=file)
        until(lambda: pool._busy)
        pid = processes(pool)[0]
        file.stop()
        with pytest.raises(InputError, match="was no longer wanted"):
            reading.result()
    assert gone(pid)


def test_many_threads_share_a_few_processes(pool: ReaderPool) -> None:
    seen: set[int] = set()

    def read(number: int) -> str:
        text = readers.read(hostile.docx(hostile.paragraph(f"Gauge {number}")), pool=pool).text
        seen.update(processes(pool))
        return text

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(read, range(40))) == [f"Gauge {number}" for number in range(40)]
    assert len(seen) <= pool.size


def script(code: str, folder: Path, **environment: str) -> str:
    """What a Python program prints."""
    home = str(Path(readers.__file__).parents[3])
    root = str(Path(__file__).parents[2])
    env = {**os.environ, "PYTHONPATH": os.pathsep.join((home, root)), **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout


FORKING = """
import io
import os
from mudy.reading import formats as readers
from tests import hostile
processes = lambda: [process.pid for process in readers._shared_pool()._idle]
data = hostile.docx(hostile.paragraph("River gauge"))
assert readers.read(data).text == "River gauge"
before = processes()
child = os.fork()
assert readers.read(data).text == "River gauge"
assert (processes() == before) == bool(child)
if child == 0:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert readers.read(data).text == "River gauge"
print(*processes())
"""


@posix
def test_after_a_fork_both_processes_read_and_no_reader_outlives_them(tmp_path: Path) -> None:
    pid = int(script(FORKING, tmp_path))
    until(lambda: gone(pid))


def test_no_file_of_the_current_folder_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("mudy", "json", "zipfile", "pypdfium2", "sitecustomize"):
        tmp_path.joinpath(f"{name}.py").write_text("open('run.txt', 'w')\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(("", os.environ.get("PYTHONPATH", ""), "")))
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    assert limited(pdf(FIRST)) == FIRST
    assert not Path("run.txt").exists()


def test_a_reader_process_imports_neither_models_nor_taggers(tmp_path: Path) -> None:
    code = "import sys; from mudy.reading.formats import docx, html, pdf, pool; print(*sys.modules)"
    loaded = set(script(code, tmp_path).split())
    assert "pypdfium2" in loaded
    assert loaded.isdisjoint({"torch", "spacy", "transformers", "scipy"})


def test_a_reader_process_is_not_told_the_services_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDY_API_KEY", "secret")
    from mudy.reading.formats.pool import _environment

    assert "secret" not in _environment().values()
