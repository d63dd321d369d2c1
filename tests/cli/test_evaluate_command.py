"""Facts about `mudy evaluate` and `mudy compare`: what they print, keep, refuse, and how they end."""

import json
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from mudy.cli.main import cli
from mudy.evaluation.runs import Run
from mudy.extraction.extractor import Extractor
from mudy.extraction.model_loader import ModelLoader
from tests import small
from tests.small import TEXT

ROWS = [{"id": f"d{i}", "text": f"{TEXT} The {word} sank.", "keyphrases": ["river ice", word]} for i, word in
        enumerate(("ferry", "raft", "barge", "canoe"))]  # fmt: skip


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.fixture
def rivers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return write(tmp_path / "rivers.jsonl", [*ROWS])


def test_a_table_names_the_run_and_gives_f1_with_its_interval(rivers: Path) -> None:
    found = run("evaluate", rivers, "-m", "yake")
    assert found.exit_code == 0, found.output
    title, head, row = found.stdout.splitlines()
    assert title == "yake; micro F1 in per cent [95 % interval]"
    assert head.split() == ["Data", "set", "Documents", "F1@5", "F1@10", "F1@15", "Ceiling", "%", "CPU-s"]
    assert row.split()[:2] == ["rivers", "4"]
    assert row.count("[") == 3


def test_depth_averaging_and_gold_can_be_chosen(rivers: Path) -> None:
    found = run(
        "evaluate", rivers, "-m", "yake", "-k", "3", "--averaging", "macro", "--gold", "present", "--limit", "2"
    )
    assert "F1@3" in found.stdout
    assert "macro" in found.stdout
    assert "present gold only" in found.stdout
    assert found.stdout.splitlines()[2].split()[:2] == ["rivers", "2"]


def test_a_depth_of_nothing_is_refused(rivers: Path) -> None:
    found = run("evaluate", rivers, "-m", "yake", "-k", "0")
    assert found.exit_code == 2
    assert "-k" in found.stderr


def test_probabilities_are_held_against_the_truth(rivers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ModelLoader, "encoder", lambda _: small.bert())
    found = run("evaluate", rivers, "--speed", "quick", "-o", "run.json")
    assert found.exit_code == 0, found.output
    _, _, _, empty, brier, head, *bins = found.stdout.splitlines()
    (calibration,) = Run.load("run.json").calibrations
    assert (empty, head.split()) == ("", ["Probability", "Mean", "Right", "Phrases"])
    assert brier.startswith(f"Brier score of rivers: {calibration.brier:.4f} (")
    assert [line.split()[0] for line in bins] == list(calibration.reliability)
    kept = json.loads(Path("run.json").read_text())["totals"]["rivers"]["calibration"]
    assert kept == calibration.to_dict()


def test_json_holds_everything(rivers: Path) -> None:
    found = json.loads(run("evaluate", rivers, "-m", "singlerank", "--set", "window=4", "-f", "json").stdout)
    assert found["title"] == "singlerank window=4"
    assert found["totals"]["rivers"]["documents"] == len(found["documents"]) == 4


def test_an_output_of_other_settings_is_refused_and_kept(rivers: Path) -> None:
    assert run("evaluate", rivers, "-m", "yake", "-o", "run.json").exit_code == 0
    before = Path("run.json").read_bytes()
    found = run("evaluate", rivers, "-m", "textrank", "-o", "run.json")
    assert found.exit_code == 1
    assert "method was 'yake', now 'textrank'" in found.stderr
    assert Path("run.json").read_bytes() == before
    assert run("evaluate", rivers, "-m", "textrank", "-o", "run.json", "--restart").exit_code == 0
    assert Run.load("run.json").asked["method"] == "textrank"


def test_bad_rows_are_counted_and_the_good_ones_measured(rivers: Path) -> None:
    bad = write(rivers.with_name("bad.jsonl"), [ROWS[0], {**ROWS[1], "id": "d0"}, {**ROWS[2], "keyphrases": []}, 7])
    found = run("evaluate", bad, rivers, "-m", "yake")
    assert found.exit_code == 0
    assert "bad.jsonl:2" in found.stderr
    assert "bad.jsonl:3" in found.stderr
    assert "bad.jsonl:4" in found.stderr
    assert [line.split()[:2] for line in found.stdout.splitlines()[2:]] == [["bad", "1"], ["rivers", "4"]]


def test_a_data_set_in_another_form_names_the_known_ones(rivers: Path) -> None:
    other = rivers.with_name("other.txt")
    other.write_text("one two three\n", encoding="utf-8")
    found = run("evaluate", other, "-m", "yake")
    assert found.exit_code == 1
    assert "semeval2017" in found.stderr
    assert found.stdout == ""


def test_documents_without_candidates_are_counted(rivers: Path) -> None:
    empty = write(rivers.with_name("empty.jsonl"), [{"id": "e", "text": "And so it was.", "keyphrases": ["ice"]}])
    found = run("evaluate", empty, "-m", "yake")
    assert "1 documents have no candidates" in found.stderr
    assert "0.00 [0.00, 0.00]" in found.stdout


def test_an_interrupted_run_says_where_it_goes_on(rivers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Extractor, "extract", stop)
    found = run("evaluate", rivers, "-m", "yake", "-o", "run.json")
    assert found.exit_code == 130
    assert "run the same command to resume" in found.stderr


class Flaky(BaseHTTPRequestHandler):
    """A chat model that lists the candidates it is shown, and turns callers away after some answers."""

    answers = 2

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        listed = asked["messages"][1]["content"].rpartition("andidates: ")[2].replace(" ; ", "; ")
        choice = {"message": {"content": f"Keyphrases: {listed}; a ship of fools"}, "finish_reason": "stop"}
        body = json.dumps({"choices": [choice]}).encode()
        type(self).answers -= 1
        self.send_response(200 if self.answers >= 0 else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def test_a_server_that_turns_away_ends_the_run_which_goes_on_later(rivers: Path) -> None:
    Flaky.answers = 2
    with ThreadingHTTPServer(("127.0.0.1", 0), Flaky) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        endpoint = f"http://127.0.0.1:{server.server_port}/v1"
        command = ("evaluate", rivers, "-m", "empirical", "--endpoint", endpoint, "--model", "any", "-o", "run.json")
        refused = run(*command)
        assert refused.exit_code == 1
        assert "OPENAI_API_KEY" in refused.stderr
        assert not Path("run.json").exists()
        Flaky.answers = 2  # enough for the two documents that are left
        found = run(*command)
        server.shutdown()
    assert found.exit_code == 0, found.output
    assert "4 generated phrases do not occur in the text" in found.stderr
    assert [document.dropped for document in Run.load("run.json").documents] == [1, 1, 1, 1]


# -- compare ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def two(rivers: Path) -> tuple[str, str]:
    for method in ("yake", "topicrank"):
        assert run("evaluate", rivers, "-m", method, "-o", f"{method}.json").exit_code == 0
    return "yake.json", "topicrank.json"


def test_a_run_does_not_differ_from_itself(two: tuple[str, str]) -> None:
    found = run("compare", two[0], two[0])
    assert found.exit_code == 0
    assert found.stdout.count("no significant difference") == 3
    assert found.stdout.count("+0.00 [+0.00, +0.00]") == 3


def test_a_difference_has_the_sign_of_b_minus_a(two: tuple[str, str]) -> None:
    there, back = (json.loads(run("compare", *pair, "-f", "json", "-k", "1").stdout)[0] for pair in (two, two[::-1]))
    assert there["difference"] == there["b"] - there["a"] == -back["difference"] != 0
    assert there["p_t_test"] == back["p_t_test"]


def test_documents_and_data_sets_of_one_run_only_are_left_out_and_named(rivers: Path, two: tuple[str, str]) -> None:
    lakes = write(rivers.with_name("lakes.jsonl"), [*ROWS])
    run("evaluate", rivers, lakes, "-m", "yake", "--limit", "3", "-o", "more.json")
    found = run("compare", "more.json", two[1])
    assert "lakes is in only one of the runs" in found.stderr
    assert "rivers: 1 documents are in only one of the runs" in found.stderr
    assert found.stdout.splitlines()[3].split()[:2] == ["rivers", "3"]


def test_runs_without_a_common_data_set_cannot_be_compared(rivers: Path, two: tuple[str, str]) -> None:
    lakes = write(rivers.with_name("lakes.jsonl"), [*ROWS])
    run("evaluate", lakes, "-m", "yake", "-o", "lakes.json")
    found = run("compare", "lakes.json", two[1])
    assert found.exit_code == 1
    assert "no data set in common" in found.stderr


def test_what_is_no_run_cannot_be_compared(rivers: Path, two: tuple[str, str]) -> None:
    found = run("compare", rivers, two[0])
    assert found.exit_code == 1
    assert "not a run of `mudy evaluate`" in found.stderr


# -- Measures ---------------------------------------------------------------------------------------------------------


def test_measures_are_chosen_by_name_with_or_without_a_depth(rivers: Path) -> None:
    found = run("evaluate", rivers, "-m", "yake", "--measures", "p@2,MAP,ndcg@3,F1@M,F1@o", "-k", "4")
    assert found.exit_code == 0, found.output
    title, head, _ = found.stdout.splitlines()
    assert title == "yake; micro P, MAP, nDCG, F1 in per cent [95 % interval]"
    assert head.split()[3:8] == ["P@2", "MAP@4", "nDCG@3", "F1@M", "F1@O"]


@pytest.mark.parametrize(
    ("names", "message"),
    [("F2", "Unknown measure 'F2'"), ("F1@0", "a number from 1 up, M or O"), ("F1@N", "M or O"), ("F1,", "Known:")],
)
def test_an_unknown_measure_is_refused_before_any_work(rivers: Path, names: str, message: str) -> None:
    found = run("evaluate", rivers, "-m", "yake", "--measures", names)
    assert (found.exit_code, found.stdout) == (2, "")
    assert message in found.stderr


def test_json_holds_the_measures_that_were_asked_for(rivers: Path) -> None:
    found = json.loads(run("evaluate", rivers, "-m", "yake", "--measures", "MAP@5,F1@O", "-f", "json").stdout)
    measures = found["measures"]["rivers"]
    assert (measures["averaging"], measures["gold"], measures["documents"]) == ("micro", "all", 4)
    assert 0 <= measures["MAP@5"]["low"] <= measures["MAP@5"]["value"] <= measures["MAP@5"]["high"] <= 100
    assert "F1@O" in measures


def test_semantic_measures_ask_the_encoder_and_others_do_not(rivers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    class Letters:
        """An encoder by the letters of a text."""

        def embed(self, texts: Sequence[str]) -> Any:
            asked.extend(texts)
            counts = np.array([[text.count(chr(letter)) + 0.01 for letter in range(97, 123)] for text in texts])
            return counts / np.linalg.norm(counts, axis=1, keepdims=True)

    monkeypatch.setattr(ModelLoader, "encoder", lambda _: Letters())
    plain = run("evaluate", rivers, "-m", "yake", "--measures", "F1@5", "-o", "run.json")
    assert (plain.exit_code, asked) == (0, [])
    found = run("evaluate", rivers, "-m", "yake", "--measures", "SemF1@5,SemR@5", "-o", "run.json")
    assert found.exit_code == 0, found.output
    assert "river ice" in asked
    assert len(asked) == len(set(asked))
    assert "SemF1@5" in found.stdout


def test_runs_are_compared_by_any_measure(rivers: Path) -> None:
    for method in ("yake", "textrank"):
        assert run("evaluate", rivers, "-m", method, "-o", f"{method}.json").exit_code == 0
    found = json.loads(run("compare", "yake.json", "textrank.json", "--measures", "MAP@10,F1@O", "-f", "json").stdout)
    assert [row["measure"] for row in found] == ["MAP@10", "F1@O"]
