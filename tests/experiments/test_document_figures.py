"""How lists of phrases are judged by readers' gold, and the weights that are fitted on it."""

import json
import sys
from pathlib import Path

import pytest

from experiments.documents import Figures, Gold, by_genre, load_gold
from experiments.documents.__main__ import main
from mudy.extraction.model_loader import ModelLoader
from mudy.methods.mudyplus.weights import load_weights
from mudy.reading.document import Span
from tests import small

FOLDER = Path(__file__).parents[2] / "experiments" / "documents"
GOLD = Gold(
    "d",
    Path("d.txt"),
    "news",
    "en",
    [["ice road", "winter road"], ["ferry"]],
    [["radar map"], ["truck driver", "ferry pilot"], ["lake"]],
    ["early spring", "people"],
)


# -- Figures ----------------------------------------------------------------------------------------------------------


def test_subjects_are_found_by_any_of_their_names_and_count_once() -> None:
    assert GOLD.figures(["ice road", "winter roads", "Radar Map", "bridge"]) == Figures(50, 20, 0)


def test_names_are_compared_by_stems_and_hyphens_are_spaces() -> None:
    assert GOLD.figures(["Ice-Roads", "ferries"]) == Figures(100, 20, 0)


def test_junk_is_counted_in_the_first_ten_phrases() -> None:
    junk = ["people", "early spring", "bridge"]
    assert GOLD.figures(junk) == Figures(0, 0, 20)
    assert GOLD.figures(["bridge"] * 9 + junk) == Figures(0, 0, 10)


def test_a_subject_behind_the_tenth_phrase_is_not_found_unless_all_are_judged() -> None:
    phrases = ["bridge"] * 10 + ["ferry"]
    assert GOLD.figures(phrases) == Figures(0, 0, 0)
    assert GOLD.figures(phrases, top=None).found == 50


def test_an_empty_list() -> None:
    assert GOLD.figures([]) == Figures(0, 0, 0)
    assert Figures(0, 0, 0).f == 0


def test_f_is_the_harmonic_mean_of_found_and_right() -> None:
    assert Figures(100, 50, 30).f == pytest.approx(2 / (1 / 100 + 1 / 50))


def test_the_mean_of_several_documents_is_that_of_each_figure() -> None:
    assert Figures.mean([Figures(100, 50, 0), Figures(0, 20, 10)]) == Figures(50, 35, 5)


# -- Documents --------------------------------------------------------------------------------------------------------


def test_all_names_are_gold_those_of_main_subjects_first() -> None:
    assert GOLD.names == ("ice road", "winter road", "ferry", "radar map", "truck driver", "ferry pilot", "lake")


def test_every_line_of_gold_is_loaded_with_its_file() -> None:
    documents = load_gold(FOLDER)
    assert len(documents) == len((FOLDER / "gold.jsonl").read_text("utf-8").splitlines())
    assert all(gold.file.is_file() for gold in documents)
    for gold in documents:
        perfect = [names[0] for names in gold.main]
        assert gold.figures(perfect).found == 100
        assert gold.figures(perfect).junk == 0


def made(folder: Path, *rows: tuple[str, str, str, str]) -> Path:
    """A folder of documents, each with a genre, a file name, a text and a main subject."""
    (folder / "files").mkdir(parents=True)
    lines = []
    for genre, name, text, subject in rows:
        (folder / "files" / name).write_text(text, "utf-8")
        lines.append(
            {
                "id": name.partition(".")[0],
                "file": name,
                "genre": genre,
                "language": "en",
                "main": [[subject]],
                "good": [["old bridge"]],
                "junk": ["people"],
            }
        )
    (folder / "gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return folder


def test_a_record_has_the_structure_of_its_file(tmp_path: Path) -> None:
    (gold,) = load_gold(made(tmp_path / "one", ("guide", "a.md", "# Ice road\n\nIt closes in spring.\n", "ice road")))
    record = gold.record()
    assert record.blocks is not None
    (title,) = [block for block in record.blocks if block.kind == "title"]
    assert title.span.of(record.text) == "Ice road"
    assert isinstance(title.span, Span)
    assert record.keyphrases == ("ice road", "old bridge")


def test_the_documents_of_a_genre_are_one_data_set(tmp_path: Path) -> None:
    rows = [("news", "a.txt", "Ice.", "ice"), ("guide", "b.txt", "Road.", "road"), ("news", "c.txt", "Map.", "map")]
    datasets = by_genre(load_gold(made(tmp_path / "some", *rows)))
    assert {data.name: [record.id for record in data.documents] for data in datasets} == {
        "news": ["a", "c"],
        "guide": ["b"],
    }


# -- The fit ----------------------------------------------------------------------------------------------------------


def text_about(thing: str) -> str:
    return (
        f"# The {thing}\n\nThe {thing} matters here. People saw the {thing} near an old bridge in early spring. "
        f"Later every {thing} was gone, and a small boat crossed the water.\n"
    )


def test_weights_are_fitted_and_genres_are_judged_by_weights_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ModelLoader, "encoder", lambda _: small.bert())
    monkeypatch.setattr(ModelLoader, "backbone", lambda _: small.decoder("llama"))
    things = ("radar map", "ice road", "ferry crew", "truck driver", "harbour wall", "salt marsh")
    rows = [(("news", "guide")[i % 2], f"d{i}.md", text_about(thing), thing) for i, thing in enumerate(things)]
    folder, output = made(tmp_path / "documents", *rows), tmp_path / "fitted"
    output.mkdir()
    monkeypatch.setattr(
        sys, "argv", ["documents", str(folder), "--cache", str(tmp_path / "cache"), "--output", str(output)]
    )
    main()
    printed = capsys.readouterr().out
    assert [line for line in printed.splitlines() if line.startswith("## ")] == [
        "## subjects, fitted on 6 documents",
    ]
    cells = [line.split(" | ") for line in printed.splitlines() if line.startswith("| ")][1:]
    assert [row[0] for row in cells[:5]] == [
        "| guide",
        "| news",
        "| all, genres left out",
        "| all, fitted",
        "| candidates",
    ]
    assert [row[1] for row in cells[:3]] == ["3", "3", "6"]
    assert cells[4][2] == "100.0"  # every main subject is a candidate
    weights = load_weights(output / "subjects.json")
    assert weights.fitted_on == {"documents": 6}
    assert weights.quick.evidence["first_position"] == weights.with_model.evidence["plain_ending"] == 0
    assert not (output / "subjects_other_languages.json").exists()
