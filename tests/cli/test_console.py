"""Tables, JSON, JSON lines and CSV, and the files that they are written to."""

import csv
import io
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from mudy._support.storage import dump_json
from mudy.cli import main
from mudy.cli.extract_command import ResultFormat
from mudy.cli.main import Output, Screen
from mudy.extraction import results


def result(source: str | None = "a.txt") -> results.Result:
    places = (results.ScoredOccurrence(4, 11, -1.5, {"p": -2.0}), results.ScoredOccurrence(20, 27, -1.75))
    phrases = (
        results.Keyphrase(1, "naïve Bayes", -1.5, ("Naïve Bayes", "naïve-Bayes"), places),
        results.Keyphrase(2, "機械学習, \x1b[31m", -2.25, (), places[:1]),
    )
    return results.Result("", phrases, results.Coverage(10, 40, 1), "mudy", "gemma3-270m", source)


def test_json_and_json_lines_hold_what_the_result_holds() -> None:
    lines, whole = ResultFormat("jsonl", True, False), ResultFormat("json", True, False)
    assert json.loads(lines.one(result())) == result().to_dict()
    assert "\n" not in lines.one(result()).rstrip("\n")
    assert whole.one(result()) + whole.one(result("b.txt")) == ""
    assert json.loads(whole.end()) == [result().to_dict(), result("b.txt").to_dict()]


def test_json_escapes_what_utf_8_cannot_hold() -> None:
    assert json.loads(dump_json("é\udcff").encode()) == "é\udcff"
    assert dump_json("é") == '"é"'


def test_sections_stand_below_the_table_those_without_a_heading_with_a_number() -> None:
    phrases = result().keyphrases[:1]
    sections = (
        results.SectionResult(None, 0, 9, phrases),
        results.SectionResult("2 Méthodes\x1b", 9, 20, phrases * 2),
        results.SectionResult("Empty", 20, 30, ()),
    )
    form = ResultFormat("table", False, False)
    written = form.one(replace(result(), sections=sections)).split("\n\n")[1]
    assert written.splitlines() == [
        "Section      Keyphrases",
        "Part 1       naïve Bayes",
        "2 Méthodes�  naïve Bayes; naïve Bayes",
        "Empty",
    ]
    assert "Section" not in form.one(replace(result(), sections=sections[:1]))  # the whole text is no section


def test_csv_has_a_head_once_and_a_row_a_keyphrase_at_its_best_place() -> None:
    form = ResultFormat("csv", True, False)
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
        "page": "",
        "occurrences": "2",
    }


def test_csv_names_the_page_of_the_best_place_in_a_pdf_file() -> None:
    first, *others = result().keyphrases
    best, *rest = first.occurrences
    paged = replace(first, occurrences=(replace(best, page=3), *rest))
    written = ResultFormat("csv", False, False).one(replace(result(), keyphrases=(paged, *others)))
    assert [row["page"] for row in csv.DictReader(io.StringIO(written))] == ["3", ""]


def test_a_plain_table_is_aligned_uncut_and_free_of_control_characters() -> None:
    written = ResultFormat("table", False, False).one(result())
    assert written.splitlines() == [
        "#  Keyphrase          Score  Count  Also as",
        "1  naïve Bayes      -1.5000      2  Naïve Bayes; naïve-Bayes",
        "2  機械学習, �[31m  -2.2500      1",
        "10 of 40 words read.",
    ]


def test_an_output_file_appears_whole_or_not_at_all(folder: Path) -> None:
    path = folder / "out.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    with suppress(ValueError), Output(str(path)) as output:
        output.write("new")
        raise ValueError("an error before the end")
    assert path.read_text(encoding="utf-8") == "old"
    with Output(str(path)) as output:
        output.write("new")
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert not list(folder.glob(".out.json*"))


def test_json_lines_stream_into_their_file(folder: Path) -> None:
    with Output(str(folder / "out.jsonl"), streaming=True) as output:
        output.write("{}\n")
        assert (folder / "out.jsonl").read_text(encoding="utf-8") == "{}\n"


def test_the_licence_is_named_once_even_where_nobody_looks_on(capsys: pytest.CaptureFixture[str]) -> None:
    with Screen(quiet=True) as screen:
        for done in (0, 5, 10):
            screen.report("Fetching small (licence: MIT)", done, 10)
        screen.report("Unpacking small", 0, None)
        screen.warning("not heard")
    assert capsys.readouterr() == ("", "mudy: Fetching small (licence: MIT)\n")


def test_where_there_is_no_terminal_progress_is_a_line_every_ten_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0
    monkeypatch.setattr(main, "monotonic", lambda: now)
    with Screen(lines=True) as screen:
        for now in range(36):
            screen.show("Extracting", amount=f"{now} rows")
    assert capsys.readouterr() == ("", "".join(f"mudy: Extracting: {n} rows\n" for n in (10, 20, 30)))


@pytest.mark.parametrize("screen", [Screen(), Screen(quiet=True, lines=True)])
def test_without_lines_or_where_it_is_to_be_quiet_no_progress_is_written(
    screen: Screen, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(main, "monotonic", lambda: 1e9)
    screen.show("Extracting", amount="1 row")
    assert capsys.readouterr() == ("", "")
