"""Files, patterns and standard input, and what is said of those that hold no text."""

import json
from pathlib import Path

import pytest

from mudy.cli.parameters import text_sources
from mudy.errors import InputError
from mudy.extraction.extractor import Extractor
from mudy.extraction.options import Options
from mudy.extraction.ranking import PreparedText
from mudy.reading.formats import decode
from tests.command_line import run


def test_patterns_give_their_files_in_order_and_names_with_brackets_are_files(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "b[1].txt").touch()
    (folder / "deep" / "a.txt").touch()
    patterns = ["-", "deep/**/*.txt", "deep/er/b[1].txt", "vision.txt"]
    names = [source.name for source in text_sources(patterns, None)]
    assert names == ["-", "deep/a.txt", "deep/er/b[1].txt", "deep/er/b[1].txt", "vision.txt"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_byte_order_marks_are_recognised_and_taken_off(encoding: str) -> None:
    assert decode("Café 🙂\r\n".encode(encoding)) == "Café 🙂\r\n"
    assert decode("Café 🙂\r\n".encode(encoding), encoding) == "Café 🙂\r\n"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"caf\xe9", "byte 0xe9 at offset 3 .* --encoding latin-1"),
        (b"\xef\xbb\xbfab\n\xff", r"byte 0xff at offset 6 \(line 2\)"),
        (b"ab\0cd", "offset 2 is NUL"),
        ("plain words".encode("utf-16-le"), "offset 1 is NUL; if it is UTF-16, pass --encoding utf-16-le"),
        (b"\x89PNG\r\n\x1a\n", "PNG image"),
        (b"PK\x03\x04\x14", "ZIP archive"),
        (b"\x01\x02\x03\x04 words", "control characters"),
    ],
)
def test_bytes_that_are_no_text_are_named_for_what_they_look_like(data: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        decode(data)


def test_a_given_encoding_is_used_and_its_failure_told() -> None:
    assert decode(b"caf\xe9", "latin-1") == "café"
    assert decode("words".encode("utf-16-le"), "utf-16-le") == "words"
    with pytest.raises(InputError, match="is not ASCII: byte 0xc3 at offset 3"):
        decode("café".encode(), "ascii")


def test_every_bad_input_is_named_with_its_reason_and_nothing_is_written(folder: Path) -> None:
    (folder / "latin.txt").write_bytes(b"caf\xe9")
    (folder / "docs").mkdir()
    ended = run("extract", "latin.txt", "docs", "absent.txt", "no/*.txt", "a whole text", "", "--format", "json")
    assert (ended.exit_code, ended.stdout) == (1, "")
    reasons = ended.stderr.splitlines()
    assert reasons[0].startswith("mudy: latin.txt: is not UTF-8: byte 0xe9 at offset 3")
    assert reasons[1] == 'mudy: docs: is a directory; to read its files, pass "docs/*.txt"'
    assert reasons[2] == "mudy: absent.txt: no such file"
    assert reasons[3] == "mudy: no/*.txt: no file matches this pattern"
    assert reasons[4] == "mudy: a whole text: no such file; to extract from a text itself, use --text"
    assert reasons[5] == "mudy: '': an empty file name was given"


def test_an_unreadable_file_is_said_to_be_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))  # as for all but root, who may read everything

    monkeypatch.setattr(Path, "read_bytes", refuse)
    ended = run("extract", "vision.txt")
    assert (ended.exit_code, ended.stderr) == (1, "mudy: vision.txt: may not be read (permission denied)\n")
    assert folder.exists()


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_text_gives_an_empty_result_without_a_model(text: str) -> None:
    ended = run("extract", "--format", "json", "--model", "some/model-that-is-nowhere", stdin=text)
    assert (ended.exit_code, ended.stderr) == (0, "")
    found = json.loads(ended.stdout)
    assert (found["source"], found["keyphrases"]) == ("-", [])


def test_a_text_given_by_itself_has_no_source() -> None:
    assert json.loads(run("extract", "--text", "", "--format", "json").stdout)["source"] is None


def test_json_is_one_object_for_one_input_and_a_list_for_a_pattern_or_several(folder: Path) -> None:
    assert isinstance(json.loads(run("extract", "empty.txt", "--format", "json").stdout), dict)
    for arguments in (["empty.txt", "empty.txt"], ["empty.txt", "absent.txt"], ["emp*.txt"]):
        assert isinstance(json.loads(run("extract", *arguments, "--format", "json").stdout), list)
    assert folder.exists()


def test_an_unexpected_error_stays_with_its_input(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prepare = Extractor.prepare

    def fragile(self: Extractor, text: str, options: Options) -> PreparedText:
        if options.source == "bad.txt":
            raise RuntimeError("out of luck")
        return prepare(self, text, options)

    (folder / "bad.txt").touch()
    monkeypatch.setattr(Extractor, "prepare", fragile)
    ended = run("extract", "empty.txt", "bad.txt", "empty.txt", "--format", "jsonl")
    assert ended.exit_code == 1
    assert [json.loads(line)["source"] for line in ended.stdout.splitlines()] == ["empty.txt"] * 2
    assert ended.stderr == "mudy: bad.txt: unexpected RuntimeError: out of luck\n"


def test_a_model_that_cannot_be_had_ends_the_run_with_one_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDY_HOME", str(folder / "home"))
    monkeypatch.setenv("MUDY_OFFLINE", "1")
    (folder / "out.csv").write_text("old", encoding="utf-8")
    ended = run("extract", "empty.txt", "vision.txt", "trade.txt", "--format", "csv", "--output", "out.csv")
    assert ended.exit_code == 1
    assert ended.stderr.startswith("mudy: Model 'gemma3-270m' is not in the cache and MUDY_OFFLINE is set.")
    assert len(ended.stderr.splitlines()) == 1
    assert (folder / "out.csv").read_text(encoding="utf-8") == "old"
    assert not list(folder.glob(".out.csv*"))
