"""Facts about `mudy explain`: what it shows, writes and refuses."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mudy import Extractor, engines
from mudy.cli import parameters
from mudy.errors import SettingError
from mudy.extraction.options import RankingFocus
from mudy.extraction.render import html
from mudy.reading.document import squeeze
from tests import small
from tests.command_line import run, spawn
from tests.explained import HOSTILE, saved
from tests.taggers import english

EXAMPLE = Path(__file__).parents[2] / "examples" / "floodplain.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a text in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLUMNS", raising=False)
    (tmp_path / "ice.txt").write_text(small.TEXT, encoding="utf-8")
    (tmp_path / "gold.txt").write_text("# known\nradar maps\n\nglacier\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a model was loaded")

    for name in ("load_backbone", "load_encoder", "load_chat"):
        monkeypatch.setattr(engines, name, refuse)


def test_help_is_shown_without_a_heavy_library_and_says_why_one_method_is_the_default() -> None:
    code = "import sys; from mudy.cli.main import cli; cli.main(['explain', '--help'], standalone_mode=False); "
    code += "sys.exit(bool({'torch', 'spacy', 'transformers', 'numpy', 'rich'} & set(sys.modules)))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ended.returncode == 0
    assert "The default is one because" in " ".join(ended.stdout.split())


# -- Refused before the work ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "mudi"], "Did you mean 'mudy'?"),
        (["--methods", "mudy,yake,mudy"], "mudy is named twice"),
        (["--methods", " , "], "No method is named"),
        (["--model", "smollm2"], "Did you mean 'smollm2-135m'?"),
        (["--html", "absent/out.html"], "--html "),
        (["--html", "absent/out.html"], "does not exist"),
        (["--html", "."], "is a directory"),
        (["--html", "ice.txt"], "--html "),
        (["--html", "ice.txt"], "is also an input"),
        (["--html", "./ice.txt"], "is also an input"),
        (["--html", "-", "--json"], "both be written to standard output"),
        (["--methods", "mudy", "--set", "lamda=1"], "Did you mean 'lambda_'?"),
        (["--methods", "mudy", "--set", "lambda_=high"], "a number is needed"),
        (["--set", "style=topics"], "'subjects' or 'terms' or 'keywords' or 'tags'"),
        (["--set", "promptrank.alpha=1"], "promptrank is not among the methods mudyplus"),
        (["--methods", "yake,textrank", "--set", "window=2"], "--set yake.window=2"),
        (["--gold", " ; "], "contains no phrases"),
        (["--gold", "empty.txt"], "contains no phrases"),
        (["--candidates", "absent.txt"], "absent.txt: no such file"),
        (["--candidates", "gold.txt", "--max-candidate-words", "2"], "has no effect"),
        (["--top-n", "0"], "nor 'all'"),
        (["--text", "b"], "cannot be given together"),
        (["--encoding", "klingon"], "not a text encoding"),
    ],
)
def test_wrong_usage_ends_with_2_and_one_line_before_any_model(
    folder: Path, arguments: list[str], message: str
) -> None:
    (folder / "empty.txt").touch()
    ended = run("explain", "ice.txt", *arguments)
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert message in ended.stderr.splitlines()[0]
    assert (folder / "ice.txt").read_text(encoding="utf-8") == small.TEXT


@pytest.mark.usefixtures("no_model")
def test_a_text_that_cannot_be_read_is_named_before_any_model(folder: Path) -> None:
    (folder / "other.txt").touch()
    assert run("explain", "absent.txt").stderr == "mudy: absent.txt: no such file\n"
    several = run("explain", "*ce.txt", "--methods", "yake")  # a pattern that stands for one file is that file
    assert several.exit_code == 0
    many = run("explain", "*.txt")
    assert (many.exit_code, "one text is explained at a time" in many.stderr) == (2, True)


@pytest.mark.parametrize(
    ("methods", "pairs", "found"),
    [
        (["mudy"], ["kappa=0.3", "mudy.lambda_=.5"], {"mudy": {"kappa": 0.3, "lambda_": 0.5}}),
        (["promptrank"], ["alpha=0.5"], {"promptrank": {"alpha": 0.5}}),
        (["promptrank", "mudy"], ["lambda_=0.5"], {"promptrank": {}, "mudy": {"lambda_": 0.5}}),
        (["mudy", "promptrank"], ["promptrank.alpha = 0.5"], {"mudy": {}, "promptrank": {"alpha": 0.5}}),
    ],
)
def test_a_setting_belongs_to_the_method_that_is_named_or_to_mudy(
    methods: list[str], pairs: list[str], found: dict[str, Any]
) -> None:
    assert parameters.settings_of_each(methods, pairs, RankingFocus()) == found


def test_a_setting_of_a_method_that_is_not_shown_is_refused() -> None:
    with pytest.raises(SettingError, match=r"yake is not among the methods mudy\."):
        parameters.settings_of_each(["mudy"], ["yake.window=2"], RankingFocus())


# -- What comes out ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("no_model")
def test_the_json_is_that_of_the_library(folder: Path) -> None:
    ended = run("explain", "ice.txt", "--methods", "yake,textrank", "--gold", "gold.txt", "--json")
    found = json.loads(ended.stdout)
    expected = Extractor("yake", language=english()).explain(
        small.TEXT, ["yake", "textrank"], gold=["radar maps", "glacier"], source="ice.txt"
    )
    wanted = json.loads(json.dumps(expected.to_dict()))
    for method in (*found["methods"], *wanted["methods"]):
        assert method.pop("seconds") > 0
    assert found == wanted
    assert ended.stderr == "mudy: gold phrases not found in the text: 'glacier'\n"
    assert folder.exists()


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("given", ["radar map; glacier", "radar map;glacier;"])
def test_gold_may_stand_in_the_option_itself(folder: Path, given: str) -> None:
    found = json.loads(run("explain", "ice.txt", "-m", "yake", "--gold", given, "--json", "--quiet").stdout)
    assert [(g["text"], len(g["places"])) for g in found["gold"]] == [("radar map", 2), ("glacier", 0)]
    assert folder.exists()


@pytest.mark.usefixtures("no_model")
def test_a_text_comes_from_a_file_from_standard_input_or_from_the_option(folder: Path) -> None:
    file, stdin, text = (
        run("explain", *arguments, "-m", "yake", "--json", stdin=small.TEXT)
        for arguments in (["ice.txt"], ["-"], ["--text", small.TEXT])
    )
    sources = [json.loads(ended.stdout)["source"] for ended in (file, stdin, text)]
    assert sources == ["ice.txt", "-", None]
    assert len({json.dumps(json.loads(e.stdout)["methods"][0]["keyphrases"]) for e in (file, stdin, text)}) == 1
    assert folder.exists()


@pytest.mark.usefixtures("no_model")
def test_without_another_wish_it_is_printed_for_people_and_plainly_into_a_pipe(folder: Path) -> None:
    ended = run("explain", "ice.txt", "-m", "yake,textrank", "--top-n", "2", "--gold", "radar map")
    assert ended.exit_code == 0
    assert "\x1b" not in ended.stdout
    assert ended.stdout.startswith("ice.txt\n\nyake: ")
    assert ended.stdout.count("*radar map*") >= 4  # twice in each text
    assert "]¹" in ended.stdout
    assert "more: --top-n all" in ended.stdout
    assert "more:" not in run("explain", "ice.txt", "-m", "yake", "--top-n", "all").stdout
    assert folder.exists()


def test_a_terminal_gets_colours_and_no_color_takes_them_away(folder: Path) -> None:
    assert b";48;5;" in _at_terminal(folder, {"TERM": "xterm-256color"})
    bare = _at_terminal(folder, {"TERM": "xterm-256color", "NO_COLOR": "1"})
    assert b"48;5;" not in bare
    assert "]¹".encode() in bare


def _at_terminal(folder: Path, environment: dict[str, str]) -> bytes:
    """What the command writes to a terminal."""
    ours, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLORTERM")}
    written = b""
    with spawn("explain", "ice.txt", "-m", "yake", stdout=theirs, cwd=folder, env={**clean, **environment}) as process:
        os.close(theirs)
        try:
            while chunk := os.read(ours, 65536):
                written += chunk
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    assert process.returncode == 0
    return written


@pytest.mark.usefixtures("no_model")
def test_page_and_data_can_be_asked_for_together(folder: Path) -> None:
    ended = run("explain", "ice.txt", "-m", "yake,textrank", "--html", "out.html", "--json", "--top-n", "25%")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert len(json.loads(ended.stdout)["methods"]) == 2
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert '"top_n":9' in page  # a quarter of 34 words


@pytest.mark.usefixtures("no_model")
def test_a_page_can_go_to_standard_output(folder: Path) -> None:
    ended = run("explain", "-", "-m", "yake", "--html", "-", stdin=HOSTILE)
    assert ended.stdout.startswith("<!doctype html>")
    assert ended.stdout.endswith("</html>\n")
    assert "<script>alert" not in ended.stdout
    assert folder.exists()


@pytest.mark.usefixtures("no_model")
def test_what_fails_leaves_old_files_as_they_were(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> str:
        raise RuntimeError("out of ink")

    monkeypatch.setattr(html, "report", fail)
    (folder / "out.html").write_text("old", encoding="utf-8")
    ended = run("explain", "ice.txt", "-m", "yake", "--html", "out.html")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert "out of ink" in ended.stderr
    assert (folder / "out.html").read_text(encoding="utf-8") == "old"
    assert sorted(path.name for path in folder.iterdir()) == ["gold.txt", "ice.txt", "out.html"]


@pytest.mark.usefixtures("no_model")
def test_an_empty_text_needs_no_model(folder: Path) -> None:
    (folder / "empty.txt").touch()
    ended = run("explain", "empty.txt", "--methods", "promptrank,mudy", "--html", "out.html")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert "An empty text" not in (folder / "out.html").read_text(encoding="utf-8")  # it has a name
    assert "0 phrases, 0 occurrences" in run("explain", "empty.txt").stdout


@pytest.mark.usefixtures("no_model")
def test_candidates_that_are_not_there_are_named(folder: Path) -> None:
    ended = run("explain", "ice.txt", "-m", "yake,textrank", "--candidates", "gold.txt", "--json")
    assert ended.stderr == "mudy: candidates not found in the text: 'radar maps', 'glacier'\n"
    (folder / "own.txt").write_text("ice road\nroad closes\n", encoding="utf-8")
    found = json.loads(run("explain", "ice.txt", "-m", "yake", "--candidates", "own.txt", "--json").stdout)
    assert {k["text"] for k in found["methods"][0]["keyphrases"]} == {"ice road", "road closes"}


# -- With models ------------------------------------------------------------------------------------------------------


def test_methods_share_one_model_and_have_their_own_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saved(folder / "small", "llama")
    loaded, load = [], engines.load_backbone

    def counted(*arguments: Any) -> Any:
        loaded.append(arguments)
        return load(*arguments)

    monkeypatch.setattr(engines, "load_backbone", counted)
    own = ("--set", "mixture=off", "--set", "mudy.sam_layers=1", "--set", "promptrank.alpha=0.9")
    ended = run("explain", "ice.txt", "-m", "promptrank,mudy", "--model", model, "--threads", "1", *own, "--json")
    assert ended.exit_code == 0, ended.stderr
    first, second = json.loads(ended.stdout)["methods"]
    assert len(loaded) == 1
    assert first["settings"]["alpha"] == 0.9
    assert (second["settings"]["alpha"], second["settings"]["mixture"]) == (0.6, False)
    assert second["settings"]["sam_layers"] == [1]
    assert set(second["keyphrases"][0]["occurrences"][0]) >= {"p", "G", "L", "AS", "lambda", "m"}


@pytest.mark.slow
@pytest.mark.real
def test_a_real_model_explains_a_real_text(folder: Path) -> None:
    text = EXAMPLE.read_text(encoding="utf-8")[:1200]
    (folder / "flood.txt").write_text(text, encoding="utf-8")
    asked = ("-m", "promptrank,mudy", "--gold", "floodplain restoration; flood wall", "--html", "out.html", "--json")
    with spawn("explain", "flood.txt", *asked, "--model", "smollm2-135m", "--threads", "1", cwd=folder) as process:
        written, said = process.communicate(timeout=240)
    assert (process.returncode, said) == (0, "")
    found = json.loads(written)
    assert [m["method"] for m in found["methods"]] == ["promptrank", "mudy"]
    assert all(g["places"] for g in found["gold"])
    for method in found["methods"]:
        for phrase in method["keyphrases"]:
            for place in phrase["occurrences"]:
                assert squeeze(text[place["start"] : place["end"]]) in (phrase["text"], *phrase["variants"])
    alone = Extractor("mudy", model="smollm2-135m", threads=1).extract(text, 15)
    assert [k["text"] for k in found["methods"][1]["keyphrases"][:15]] == [k.text for k in alone.keyphrases]
    page = (folder / "out.html").read_text(encoding="utf-8")
    assert page.count('<em class="gold"><strong>') >= 6  # three places, in the text of each method
