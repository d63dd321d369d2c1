"""Usage, errors and how the command line ends."""

import json
import os
import pty
import signal
import subprocess
import sys
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pytest

from mudy.cli.main import cli
from tests.command_line import VISION, run, spawn


def test_the_version_is_printed_in_the_usual_form() -> None:
    assert run("--version").stdout == f"mudy {version('mudy')}\n"


def test_help_shows_examples_and_needs_no_command() -> None:
    assert "mudy extract report.txt" in run("--help").stdout
    assert run().stdout == run("--help").stdout


@pytest.mark.parametrize("command", sorted(cli.commands))
def test_help_shows_no_mark_of_its_formatting(command: str) -> None:
    ended = run(command, "--help")
    assert ended.exit_code == 0
    assert "\\b" not in ended.stdout
    assert "\b" not in ended.stdout


def test_help_about_completion_keeps_its_commands_on_lines_of_their_own() -> None:
    assert "  fish  mudy completion fish > ~/.config/fish/completions/mudy.fish\n" in run("completion", "--help").stdout


@pytest.mark.parametrize("command", ["extract", "explain"])
def test_help_names_every_value_of_top_n(command: str) -> None:
    told = " ".join(run(command, "--help").stdout.partition("--top-n")[2].partition(" --")[0].split())
    assert all(value in told.partition("]")[0] for value in ("a number", "0.02", "2%", "auto for", "all"))


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
        (["extract", "a.txt", "--method", "mudy", "--set", "lamda=1"], "Did you mean 'lambda_'?"),
        (["extract", "a.txt", "--method", "mudy", "--set", "alpha=high"], "'high' was given, but a number is needed"),
        (["extract", "a.txt", "--set", "alpha"], "NAME=VALUE"),
        (["extract", "a.txt", "--encoding", "klingon"], "not a text encoding"),
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


def test_a_file_without_candidates_gives_no_keyphrases_and_a_warning(folder: Path) -> None:
    (folder / "phrases.txt").write_text("# none yet\n\n", encoding="utf-8")
    ended = run("extract", "vision.txt", "-m", "yake", "--candidates", "phrases.txt", "--format", "json")
    assert ended.exit_code == 0
    assert json.loads(ended.stdout)["keyphrases"] == []
    assert "contains no phrases" in ended.stderr


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
