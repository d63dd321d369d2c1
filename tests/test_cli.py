"""Facts about the command line: what it reads, writes, refuses, and how it ends."""

import csv
import io
import json
import os
import pty
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from mudy import results
from mudy.cli import formats, parameters, sources
from mudy.cli.console import Screen
from mudy.cli.main import cli
from mudy.errors import InputError, SettingError
from mudy.extractor import Extractor
from mudy.preparation import PreparedText
from mudy.readers.reading import decode
from mudy.storage import dump_json

VISION = "Deep learning has changed computer vision. Convolutional neural networks learn features of natural images.\n"
TRADE = "The European Union agreed on a carbon border tax. Trade partners of the EU criticised carbon border taxes.\n"
SMALL = ("--model", "smollm2-135m", "--method", "promptrank", "--threads", "1")


def run(*arguments: str | Path, stdin: bytes | str = "") -> Result:
    """The command in this process."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments], input=stdin)


def spawn(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    command = [sys.executable, "-m", "mudy", *map(str, arguments)]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, **(streams | options))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with two texts in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vision.txt").write_text(VISION, encoding="utf-8")
    (tmp_path / "trade.txt").write_text(TRADE, encoding="utf-8")
    (tmp_path / "empty.txt").touch()
    return tmp_path


# -- Usage ------------------------------------------------------------------------------------------------------------


def test_the_version_is_printed_in_the_usual_form() -> None:
    assert run("--version").stdout == "mudy 0.1.0\n"


def test_help_shows_examples_and_needs_no_command() -> None:
    assert "mudy extract report.txt" in run("--help").stdout
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["extract", "--help"], ["models"]])
def test_looking_around_imports_no_heavy_library(arguments: list[str]) -> None:
    code = f"import sys; from mudy.cli.main import cli; cli.main({arguments!r}, standalone_mode=False); "
    code += "sys.exit(bool({'torch', 'spacy', 'transformers', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["extrat"], "Did you mean 'extract'?"),
        (["extract", "--bogus"], "No such option"),
        (["extract", "-", "-"], "only once"),
        (["extract", "a.txt", "--text", "b"], "cannot be given together"),
        (["extract", "a.txt", "--method", "mudi"], "Did you mean 'mudy'?"),
        (["extract", "a.txt", "--model", "smollm2"], "Did you mean 'smollm2-135m'?"),
        (["extract", "a.txt", "--set", "lamda=1"], "Did you mean 'lambda_'?"),
        (["extract", "a.txt", "--set", "alpha=high"], "'high' was given, but a number is needed"),
        (["extract", "a.txt", "--set", "alpha"], "NAME=VALUE"),
        (["extract", "a.txt", "--encoding", "klingon"], "no encoding of text"),
        (["extract", "a.txt", "--candidates", "absent.txt"], "absent.txt: no such file"),
        (["extract", "a.txt", "--output", "absent/out.json"], "does not exist"),
        (["extract", "a.txt", "--output", "."], "is a directory"),
        (["extract", "a.txt", "--diversity", "2"], "0<=x<=1"),
        (["extract", "a.txt", "--protocol", "promptrank", "--max-candidate-words", "2"], "has no effect"),
        (["models", "pull", "gemma"], "Did you mean 'gemma3-270m'?"),
        *((["extract", "a.txt", "--top-n", n], "nor 'all'") for n in ("0", "-1", "1.5", "-2%", "100%", "ten", "nan")),
    ],
)
def test_wrong_usage_ends_with_2_and_one_line_that_says_why(folder: Path, arguments: list[str], message: str) -> None:
    (folder / "a.txt").touch()
    ended = run(*arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert ended.stderr.startswith("mudy: ")
    assert message in ended.stderr.splitlines()[0]


def test_a_forgotten_command_is_pointed_out(folder: Path) -> None:
    assert "mudy extract vision.txt" in run("vision.txt").stderr
    assert folder.exists()


def test_an_output_that_is_also_an_input_is_refused(folder: Path) -> None:
    assert run("extract", "vision.txt", "--output", folder / "vision.txt").exit_code == 2
    assert (folder / "vision.txt").read_text(encoding="utf-8") == VISION


def test_a_file_of_candidates_without_any_is_refused(folder: Path) -> None:
    (folder / "phrases.txt").write_text("# none yet\n\n", encoding="utf-8")
    assert "holds no phrases" in run("extract", "vision.txt", "--candidates", "phrases.txt").stderr


def test_at_a_terminal_without_files_usage_is_explained_instead_of_waiting() -> None:
    ours, theirs = pty.openpty()
    try:
        with spawn("extract", stdin=theirs) as process:
            _, said = process.communicate(timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert process.returncode == 2
    assert "No input" in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_call_back_into_the_command(shell: str) -> None:
    assert f"_MUDY_COMPLETE={shell}_complete" in run("completion", shell).stdout


# -- Values of options ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("lambda_=0.5", 0.5),
        ("k_attn=3", 3),
        ("mixture=off", False),
        ("sigma_related=0.2,0.1", (0.2, 0.1)),
        ("sam_layers=3,4", (3, 4)),
        ("sam_layers=none", None),
        ("sigma_cap=None", None),
        ("normalise_global=yes", True),
        ("attention=none", "none"),
    ],
)
def test_a_setting_takes_the_type_of_its_field(pair: str, value: object) -> None:
    (found,) = parameters.settings("mudy", [pair]).values()
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    "pair", ["k_attn=1.5", "alpha=nan", "mixture=maybe", "attention=Q", "weighted_layers=0,0.5,1", "w=none"]
)
def test_a_setting_of_the_wrong_type_is_refused(pair: str) -> None:
    with pytest.raises(SettingError, match="is needed"):
        parameters.settings("mudy", [pair])


def test_phrases_are_read_one_a_line_without_comments_and_blanks(folder: Path) -> None:
    (folder / "phrases.txt").write_bytes("\ufeff# mine\r\n  B2B \r\n\r\nC# language\r\n".encode())
    assert sources.phrases_in("phrases.txt") == ["B2B", "C# language"]


# -- Inputs -----------------------------------------------------------------------------------------------------------


def test_patterns_give_their_files_in_order_and_names_with_brackets_are_files(folder: Path) -> None:
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "b[1].txt").touch()
    (folder / "deep" / "a.txt").touch()
    names = [source.name for source in sources.sources(["-", "deep/**/*.txt", "deep/er/b[1].txt", "vision.txt"])]
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
        ("plain words".encode("utf-16-le"), "--encoding utf-16-le"),
        ("plain words".encode("utf-16-be"), "--encoding utf-16-be"),
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

    def fragile(self: Extractor, text: str, *args: Any, **options: Any) -> PreparedText:
        if options["source"] == "bad.txt":
            raise RuntimeError("out of luck")
        return prepare(self, text, *args, **options)

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


# -- Outputs ----------------------------------------------------------------------------------------------------------


def result(source: str | None = "a.txt") -> results.Result:
    places = (results.ScoredOccurrence(4, 11, -1.5, {"p": -2.0}), results.ScoredOccurrence(20, 27, -1.75))
    phrases = (
        results.Keyphrase(1, "naïve Bayes", -1.5, ("Naïve Bayes", "naïve-Bayes"), places),
        results.Keyphrase(2, "機械学習, \x1b[31m", -2.25, (), places[:1]),
    )
    return results.Result("", phrases, results.Coverage(10, 40, 1), "mudy", "gemma3-270m", source)


def test_json_and_json_lines_hold_what_the_result_holds() -> None:
    lines, whole = formats.format_of("jsonl", True, False), formats.format_of("json", True, False)
    assert json.loads(lines.one(result())) == result().to_dict()
    assert "\n" not in lines.one(result()).rstrip("\n")
    assert whole.one(result()) + whole.one(result("b.txt")) == ""
    assert json.loads(whole.end()) == [result().to_dict(), result("b.txt").to_dict()]


def test_json_escapes_what_utf_8_cannot_hold() -> None:
    assert json.loads(dump_json("é\udcff").encode()) == "é\udcff"
    assert dump_json("é") == '"é"'


def test_csv_has_a_head_once_and_a_row_a_keyphrase_at_its_best_place() -> None:
    form = formats.format_of("csv", True, False)
    rows = list(csv.DictReader(io.StringIO(form.one(result()) + form.one(result("b.txt")) + form.end())))
    assert [row["source"] for row in rows] == ["a.txt", "a.txt", "b.txt", "b.txt"]
    assert rows[0] == {
        "source": "a.txt",
        "rank": "1",
        "text": "naïve Bayes",
        "score": "-1.5",
        "variants": "Naïve Bayes;naïve-Bayes",
        "start": "4",
        "end": "11",
        "occurrences": "2",
    }


def test_a_plain_table_is_aligned_uncut_and_free_of_control_characters() -> None:
    written = formats.format_of("table", False, False).one(result())
    assert written.splitlines() == [
        "#  Keyphrase          Score  Places  Also as",
        "1  naïve Bayes      -1.5000       2  Naïve Bayes; naïve-Bayes",
        "2  機械学習, �[31m  -2.2500       1",
        "10 of 40 words were read.",
    ]


def test_an_output_file_appears_whole_or_not_at_all(folder: Path) -> None:
    path = folder / "out.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    output = formats.Output(str(path))
    output.write("new")
    assert path.read_text(encoding="utf-8") == "old"
    output.discard()
    assert path.read_text(encoding="utf-8") == "old"
    output = formats.Output(str(path))
    output.write("new")
    output.close()
    assert path.read_text(encoding="utf-8") == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert not list(folder.glob(".out.json*"))


def test_json_lines_stream_into_their_file(folder: Path) -> None:
    output = formats.Output(str(folder / "out.jsonl"), streaming=True)
    output.write("{}\n")
    assert (folder / "out.jsonl").read_text(encoding="utf-8") == "{}\n"
    output.close()


def test_the_licence_is_named_once_even_where_nobody_looks_on(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(quiet=True) as screen:
        for done in (0, 5, 10):
            screen.report("Fetching small (licence: MIT)", done, 10)
        screen.report("Unpacking small", 0, None)
        screen.warning("not heard")
    assert capsys.readouterr() == ("", "mudy: Fetching small (licence: MIT)\n")


# -- Models and methods -----------------------------------------------------------------------------------------------


def test_models_are_listed_with_size_licence_and_place(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUDY_HOME", str(folder / "home"))
    listed = {model["name"]: model for model in json.loads(run("models", "--format", "json").stdout)}
    assert listed.keys() == {"gemma3-270m", "smollm2-135m", "minilm-l6"}
    assert listed["gemma3-270m"]["licence"] == "Gemma Terms of Use"
    assert listed["smollm2-135m"]["cached"] is False
    assert listed["smollm2-135m"]["path"] == str(folder / "home" / "models" / "smollm2-135m")
    table = run("models").stdout
    assert "smollm2-135m  decoder  135 M" in table
    assert str(folder / "home") in table


def test_an_absent_model_is_told_by_verify_and_harmless_to_remove(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUDY_HOME", str(folder / "home"))
    monkeypatch.setenv("MUDY_OFFLINE", "1")
    assert run("models", "verify").exit_code == 0
    assert run("models", "verify", "minilm-l6").exit_code == 1
    assert "was not in the cache" in run("models", "remove", "minilm-l6").stderr
    pulled = run("models", "pull", "minilm-l6", "smollm2-135m")
    assert (pulled.exit_code, pulled.stdout, len(pulled.stderr.splitlines())) == (1, "", 2)


# -- How it ends ------------------------------------------------------------------------------------------------------


def test_a_reader_that_goes_away_ends_the_run_quietly(folder: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    with spawn("extract", "empty.txt", "--format", "jsonl", stdout=theirs, cwd=folder) as process:
        os.close(theirs)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (141, "")


def test_an_interrupt_ends_with_130_and_no_traceback(folder: Path) -> None:
    os.mkfifo(folder / "slow.txt")
    heed = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # which a shell lets its background jobs ignore
    command = spawn("extract", "slow.txt", cwd=folder, preexec_fn=heed)
    with command as process, (folder / "slow.txt").open("wb"):  # opens at its reading
        process.send_signal(signal.SIGINT)
        written, said = process.communicate(timeout=60)
    assert (process.returncode, written, said.strip()) == (130, "", "")


# -- With a real model ------------------------------------------------------------------------------------------------


@pytest.mark.real
def test_standard_output_is_pure_data_while_failures_are_told_beside_it(folder: Path) -> None:
    inputs = ("vision.txt", "absent.txt", "empty.txt", "trade.txt")
    with spawn("extract", *inputs, *SMALL, "--top-n", "2", "--format", "json", cwd=folder) as process:
        written, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (1, "mudy: absent.txt: no such file\n")
    vision, empty, trade = json.loads(written)
    assert [document["source"] for document in (vision, empty, trade)] == ["vision.txt", "empty.txt", "trade.txt"]
    assert [len(document["keyphrases"]) for document in (vision, empty, trade)] == [2, 0, 2]
    for document, text in ((vision, VISION), (trade, TRADE)):
        for phrase in document["keyphrases"]:
            best = phrase["occurrences"][0]
            assert text[best["start"] : best["end"]] == phrase["text"]


@pytest.mark.real
def test_a_file_and_standard_input_give_the_same_keyphrases_whatever_their_encoding(folder: Path) -> None:
    (folder / "marked.txt").write_text(VISION, encoding="utf-16")
    ended = run("extract", "marked.txt", "-", *SMALL, "--top-n", "25%", "--format", "jsonl", stdin=VISION)
    file, stdin = map(json.loads, ended.stdout.splitlines())
    assert (file["source"], stdin["source"]) == ("marked.txt", "-")
    assert file["keyphrases"] == stdin["keyphrases"]
    assert len(file["keyphrases"]) == 4  # a quarter of 14 words


@pytest.mark.real
def test_own_candidates_are_ranked_and_those_in_no_text_are_named(folder: Path) -> None:
    absent = "".join(f"absent {i}\n" for i in range(7))
    (folder / "phrases.txt").write_text(f"COMPUTER vision\nnatural images\n{absent}", encoding="utf-8")
    (folder / "stop.txt").write_text("Natural Images\n", encoding="utf-8")
    lists = ("--candidates", "phrases.txt", "--stop-phrases", "stop.txt")
    ended = run("extract", "vision.txt", *SMALL, *lists, "--format", "csv", "--top-n", "all")
    assert [row["text"] for row in csv.DictReader(io.StringIO(ended.stdout))] == ["computer vision"]
    assert ended.exit_code == 0
    assert "candidates not found in the text: 'absent 0'" in ended.stderr
    assert "'absent 4' and 2 more" in ended.stderr
    assert "absent 5" not in ended.stderr


@pytest.mark.real
def test_a_candidate_too_long_for_the_model_fails_its_document_alone(folder: Path) -> None:
    phrase = " ".join(f"word{i}" for i in range(300))
    (folder / "long.txt").write_text(f"Here {phrase} stands.", encoding="utf-8")
    (folder / "phrases.txt").write_text(f"{phrase}\ncomputer vision\n", encoding="utf-8")
    ended = run("extract", "long.txt", "vision.txt", *SMALL, "--candidates", "phrases.txt", "--format", "jsonl")
    assert ended.exit_code == 1
    assert [json.loads(line)["source"] for line in ended.stdout.splitlines()] == ["vision.txt"]
    assert ended.stderr.startswith("mudy: long.txt: A candidate of ")
