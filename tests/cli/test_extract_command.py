"""`mudy extract` with many files: short ones are computed together, in order, and a failure stays with its file."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from mudy.cli.extract_command import ResultFormat
from mudy.cli.main import cli
from mudy.extraction import results
from mudy.extraction.extractor import Extractor
from mudy.extraction.ranking import PreparedText
from mudy.methods.mudy import Mudy
from tests import small

TEXTS = {f"{name}.txt": f"{small.TEXT} The {name} river has ice." for name in ("a", "b", "c", "d")}


@pytest.fixture
def batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str | None]]:
    """Which files were computed together, on a small random model. What holds "spoilt" fails, also together."""
    monkeypatch.chdir(tmp_path)
    for name, text in TEXTS.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    calls: list[list[str | None]] = []
    finish = Extractor.finish

    def recorded(self: Extractor, prepared: Sequence[PreparedText]) -> list[results.Result]:
        calls.append([text.options.source for text in prepared])
        if any("spoilt" in text.document.text for text in prepared):
            raise ArithmeticError("no number")
        return finish(self, prepared)

    monkeypatch.setattr(Extractor, "finish", recorded)
    monkeypatch.setattr(Extractor, "scorer", Mudy(small.decoder("gemma3"), mixture=False, unit=6.0, sam_layers=(1,)))
    return calls


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["extract", *arguments, "--method", "mudy", "--format", "jsonl"])


def sources(ended: Result) -> list[str]:
    return [json.loads(line)["source"] for line in ended.stdout.splitlines()]


def test_short_files_are_computed_together_and_written_in_order(batches: list[list[str | None]]) -> None:
    ended = run("*.txt")
    assert (ended.exit_code, ended.stderr) == (0, "")
    assert sources(ended) == list(TEXTS)
    assert batches == [list(TEXTS)]


def test_results_are_those_of_each_file_alone(batches: list[list[str | None]]) -> None:
    lines = [json.loads(line) for line in run("*.txt").stdout.splitlines()]
    for name, together in zip(TEXTS, lines, strict=True):
        alone = json.loads(run(name).stdout)
        assert [k["text"] for k in alone["keyphrases"]] == [k["text"] for k in together["keyphrases"]]
        for one, other in zip(alone["keyphrases"], together["keyphrases"], strict=True):
            assert one["score"] == pytest.approx(other["score"], abs=1e-4)
    assert batches[1:] == [[name] for name in TEXTS]


def test_a_file_that_cannot_be_scored_costs_no_other_its_result(batches: list[list[str | None]]) -> None:
    Path("b.txt").write_text("A spoilt radar map.", encoding="utf-8")
    ended = run("a.txt", "absent.txt", "b.txt", "c.txt")
    assert ended.exit_code == 1
    assert sources(ended) == ["a.txt", "c.txt"]
    assert ended.stderr == "mudy: absent.txt: no such file\nmudy: b.txt: unexpected ArithmeticError: no number\n"
    assert batches == [["a.txt", "b.txt", "c.txt"], ["a.txt"], ["b.txt"], ["c.txt"]]


def test_a_result_that_cannot_be_written_costs_no_other_its_place(
    batches: list[list[str | None]], monkeypatch: pytest.MonkeyPatch
) -> None:
    written = ResultFormat.one

    def fragile(self: ResultFormat, result: results.Result) -> str:
        if result.source == "c.txt":
            raise ValueError("not JSON")
        return written(self, result)

    monkeypatch.setattr(ResultFormat, "one", fragile)
    ended = run("*.txt")
    assert ended.exit_code == 1
    assert sources(ended) == ["a.txt", "b.txt", "d.txt"]
    assert len(batches) == 1


def test_a_long_file_is_computed_without_waiting_for_the_next(batches: list[list[str | None]]) -> None:
    Path("b.txt").write_text(small.TEXT * 60, encoding="utf-8")
    assert run("*.txt", "--top-n", "1").exit_code == 0
    assert batches == [["a.txt", "b.txt"], ["c.txt", "d.txt"]]


def test_sections_are_listed_on_request(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text(
        f"# Rivers\n\n{'A ferry crosses rivers. ' * 30}\n\n## Ice\n\n{'The ice road closes. ' * 30}", "utf-8"
    )
    command = ["extract", str(path), "--method", "yake", "--per-section", "--format"]
    table = CliRunner().invoke(cli, [*command, "table"]).stdout
    assert table.splitlines()[-1].startswith("Ice      ice road")
    first, second = json.loads(CliRunner().invoke(cli, [*command, "json"]).stdout)["sections"]
    assert (first["heading"], second["heading"], second["start"]) == ("Rivers", "Ice", first["end"])
    refused = CliRunner().invoke(cli, [*command, "csv"])
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "no effect on csv" in refused.stderr
