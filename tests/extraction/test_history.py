"""Tags of similar texts, whoever asks: library, command line, service, assistants and corpus."""

import asyncio
import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from pyarrow import parquet

from mudy import Extractor, InputError, Result, SettingError, Vocabulary, corpus
from mudy.extraction.examples.front_matter import Note
from mudy.extraction.history import INDEX, VectorIndex, plain_tags, tagged_texts
from mudy.server.app import create_app
from mudy.server.config import Config
from tests.command_line import run as mudy

NOTES = {
    "tomatoes": (["gardening"], "Growing tomatoes needs warm soil, compost and water every morning."),
    "heap": (["gardening", "compost"], "Compost heaps turn kitchen waste into soil for vegetable beds."),
    "bank": (["finance"], "The bank raised interest rates, and mortgages became expensive."),
    "returns": (["finance", "area/taxes"], "Income tax returns are due in April; deductions for interest matter."),
    "untagged": ([], "A note that nobody has tagged."),
}
NEW = "Carrots and beans grow best in beds with loose soil, some compost and much water."
QUICK: dict[str, Any] = {"speed": "quick", "language": "en"}
CLI = ("--speed", "quick", "--language", "en", "-q")


def note(tags: list[str], text: str) -> str:
    return f"---\ntags: {json.dumps(tags, ensure_ascii=False)}\n---\n{text}\n" if tags else f"{text}\n"


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, (tags, text) in NOTES.items():
        (folder / f"{name}.md").write_text(note(tags, text))
    return folder


def suggested(result: Result) -> list[str]:
    return [k.text for k in result if k.source == "history"]


def check(result: Result) -> None:
    """Tags from history have no offsets, and all other phrases occur at theirs."""
    assert [k.rank for k in result] == list(range(1, len(result) + 1))
    assert [k.score for k in result] == sorted((k.score for k in result), reverse=True)
    for keyphrase in result:
        assert (keyphrase.source == "history") == (not keyphrase.occurrences)
        forms = {form.lower() for form in (keyphrase.text, *keyphrase.variants)}
        assert all(result.text[o.start : o.end].lower() in forms for o in keyphrase.occurrences)


# -- The library ------------------------------------------------------------------------------------------------------


@pytest.mark.real
def test_tags_of_similar_notes_are_suggested_and_those_in_the_text_have_offsets(notes: Path) -> None:
    result = Extractor(history=notes, **QUICK).extract(NEW)
    check(result)
    assert suggested(result) == ["gardening"]
    compost = next(k for k in result if k.text == "compost")
    assert (compost.source, compost.concept and compost.concept.match) == ("text", "label")
    assert "history" in compost.occurrences[0].parts
    row = next(k for k in result.to_dict()["keyphrases"] if k["text"] == "gardening")
    assert (row["source"], row["occurrences"], row["concept"]["match"]) == ("history", [], "history")
    assert "source" not in next(k for k in result.to_dict()["keyphrases"] if k["text"] == "compost")
    frame = result.to_pandas().set_index("text")
    assert (frame.loc["gardening", "occurrences"], frame.loc["gardening", "concept_match"]) == (0, "history")
    assert "gardening" in result.to_html()


@pytest.mark.real
def test_distant_notes_suggest_nothing(notes: Path) -> None:
    extractor = Extractor(history=notes, **QUICK)
    assert suggested(extractor.extract("The football match ended without a goal.")) == []


@pytest.mark.real
def test_a_note_does_not_vote_for_itself_however_it_is_written(notes: Path) -> None:
    (notes / "single.md").write_text(note(["zeppelin"], "Airships cross the ocean in two days."))
    extractor = Extractor(history=notes, **QUICK)
    history = extractor.history
    assert history is not None
    for text in ("Airships cross the ocean in two days.", "**Airships** cross the ocean -- in two days.\n"):
        numbers, _ = history.features(text, "en")
        assert "zeppelin" not in [history.tags[number] for number in numbers]
    numbers, _ = history.features("Other words.", "en", source=str(notes / "single.md"))
    assert "zeppelin" not in [history.tags[number] for number in numbers]
    assert "zeppelin" in suggested(extractor.extract("Airships cross an ocean in three days."))


@pytest.mark.real
def test_copies_of_a_note_count_once_with_all_their_tags(notes: Path) -> None:
    before = Extractor(history=notes, **QUICK).extract(NEW)
    for number in range(5):
        (notes / f"copy{number}.md").write_text((notes / "bank.md").read_text())
    assert Extractor(history=notes, **QUICK).extract(NEW) == before
    (notes / "copy0.md").write_text(note(["money"], NOTES["bank"][1]))
    history = Extractor(history=notes, **QUICK).history
    assert history is not None
    assert next(text.tags for text in history.texts if "mortgages" in text.text) == ("finance", "money")


@pytest.mark.real
def test_results_are_the_same_with_a_new_index_a_kept_one_and_another_order(notes: Path) -> None:
    first = Extractor(history=notes, **QUICK).extract(NEW)
    kept = (notes / INDEX).read_bytes()
    again = Extractor(history=notes, **QUICK)
    assert list(again.extract_many([NOTES["bank"][1], NEW, NEW]))[1:] == [first, first]
    assert (notes / INDEX).read_bytes() == kept


@pytest.mark.real
def test_a_vocabulary_decides_what_may_be_suggested(notes: Path) -> None:
    extractor = Extractor(history=notes, **QUICK)
    vocabulary = Vocabulary.of([{"id": "G", "label": "Gardens", "alternatives": ["gardening"]}, "water", "volcano"])
    only = extractor.extract(NEW, vocabulary=vocabulary)
    check(only)
    assert {(k.concept.id, k.source) for k in only if k.concept} == {("G", "history"), ("water", "text")}
    assert len(only) == 2
    boosted = extractor.extract(NEW, vocabulary=vocabulary, boost=1)
    assert {"G", "compost"} <= {k.concept.id for k in boosted if k.concept}
    assert "beans" in boosted
    assert suggested(extractor.extract(NEW, candidates=["beans"])) == []
    assert suggested(extractor.extract(NEW, stop_phrases=["Gardening"])) == []
    assert suggested(extractor.extract(NEW, min_score=0.999)) == []


@pytest.mark.real
@pytest.mark.slow
def test_other_languages_are_compared_by_the_multilingual_encoder(notes: Path) -> None:
    for number in range(3):
        text = f"Im Garten wachsen Tomaten und Bohnen, wenn es warm genug ist und {number + 2} Tage regnet."
        (notes / f"garten{number}.md").write_text(note(["Garten"], text))
    (notes / "bank-de.md").write_text(note(["Geld"], "Die Bank hat die Zinsen für Kredite und Häuser erhöht."))
    text = "Die Tomaten und die Bohnen wachsen gut, wenn es warm ist und viel regnet."
    result = Extractor(history=notes, speed="quick").extract(text)
    check(result)
    assert suggested(result)[:1] == ["Garten"]
    with np.load(notes / INDEX) as stored:
        assert len([name for name in stored.files if name.startswith("vectors-")]) == 1
    Extractor(history=notes, speed="quick").extract(NEW)
    with np.load(notes / INDEX) as stored:
        assert {stored[name].shape[1] for name in stored.files if name.startswith("vectors-")} == {384, 512}


def test_the_style_is_tags_unless_another_is_chosen(notes: Path) -> None:
    assert Extractor(history=notes).style == "tags"
    assert Extractor(history=notes).using("mudyplus").style == "tags"
    assert Extractor(history=notes, style="terms").style == "terms"
    assert Extractor(history=notes).using("yake").history is None


@pytest.mark.parametrize("wrong", ["missing", "notes/bank.md", 5, ["notes"]])
def test_a_history_that_is_none_is_refused_before_anything_is_loaded(
    notes: Path, wrong: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(notes.parent)
    with pytest.raises(SettingError, match="history"):
        Extractor(history=wrong)
    with pytest.raises(SettingError, match="yake gives scores"):
        Extractor("yake", history=notes)


# -- Reading ----------------------------------------------------------------------------------------------------------


def test_notes_that_cannot_be_read_are_named_and_others_count(notes: Path, tmp_path: Path) -> None:
    (notes / "broken.md").write_text("---\na: b: c\n---\nx\n")
    (notes / "latin.md").write_bytes("---\ntags: [a]\n---\nÜber".encode("latin-1"))
    (tmp_path / "outside.md").write_text(note(["private"], "A diary."))
    (notes / "link.md").symlink_to(tmp_path / "outside.md")
    texts, problems = tagged_texts(notes)
    assert len(texts) == 4
    assert [Path(problem.split(": ")[0]).name for problem in problems] == ["broken.md", "latin.md", "link.md"]


def test_rows_of_a_file_and_their_problems(tmp_path: Path) -> None:
    lines = [
        '{"text": "a", "tags": ["x", 5]}',
        "no json",
        '{"text": 1, "tags": []}',
        '{"text": "b", "keywords": "y; z"}',
    ]
    (tmp_path / "h.jsonl").write_text("\n".join(lines))
    texts, problems = tagged_texts(tmp_path / "h.jsonl")
    assert [(text.text, text.tags) for text in texts] == [("a", ("x",)), ("b", ("y", "z"))]
    assert [problem.rpartition("jsonl:")[2][0] for problem in problems] == ["2", "3"]
    (tmp_path / "h.csv").write_text('\ufeffText,Tags\n"a, b",x|y\nc,"p,q"\nd,\n', encoding="utf-8")
    texts, problems = tagged_texts(tmp_path / "h.csv")
    assert [(text.text, text.tags) for text in texts] == [("a, b", ("x", "y")), ("c", ("p", "q"))]
    (tmp_path / "l.csv").write_bytes(b"text,tags\n\xff,a\nc,p\n")
    texts, (problem,) = tagged_texts(tmp_path / "l.csv")
    assert (len(texts), "l.csv:2: cannot be decoded as UTF-8" in problem) == (1, True)
    (tmp_path / "n.jsonl").write_text('{"text": "a", "tags": null}\n{"text": "b", "tags": 5}\n')
    assert tagged_texts(tmp_path / "n.jsonl") == ([], [])


def test_tags_are_kept_as_they_are_written_but_for_marks_and_doubles() -> None:
    assert plain_tags(["#Flood", "flood", " sea  ice ", "", "area/taxes", "🌊", "#"]) == (
        *("Flood", "sea ice", "area/taxes", "🌊"),
    )


@pytest.mark.real
def test_unusual_tags_are_suggested_as_they_are_written(tmp_path: Path) -> None:
    tags = ["🌊 sea/ice", "C++", "two words", "--", "Ünïcode"]
    (tmp_path / "a.md").write_text(note(tags, "Glaciers melt and the ocean rises every year."))
    result = Extractor(history=tmp_path, **QUICK).extract("Glaciers melt, and oceans rise every year.", min_score=0.0)
    check(result)
    assert set(suggested(result)) <= set(tags)
    assert suggested(result)


@pytest.mark.real
def test_a_history_without_tags_changes_nothing_and_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("No tags here.\n")
    extractor = Extractor(history=tmp_path, **QUICK)
    assert extractor.extract(NEW) == Extractor(style="tags", **QUICK).extract(NEW)
    assert extractor.history is not None
    assert "no text has tags" in extractor.history.notes[-1]
    assert extractor.extract("").keyphrases == ()


# -- The index --------------------------------------------------------------------------------------------------------


class CountingEncoder:
    """Vectors that depend on the text alone; counts what it is given."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def embed(self, texts: Any) -> Any:
        self.seen += texts
        rows = np.array([[len(text), 1.0, sum(map(ord, text)) % 97] for text in texts])
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def encoded(path: Path, texts: list[str], encoder: str = "e1") -> tuple[Any, list[str]]:
    """The vectors of texts, and those of them that were not in the index."""
    index, counting = VectorIndex(path), CountingEncoder()
    vectors = index.vectors(encoder, texts, counting.embed, lambda _: None)
    index.save()
    return vectors, counting.seen


def test_only_texts_that_changed_are_encoded_again(tmp_path: Path) -> None:
    path = tmp_path / "i.npz"
    first, seen = encoded(path, ["a", "bb", "ccc"])
    assert seen == ["a", "bb", "ccc"]
    second, seen = encoded(path, ["ccc", "dddd", "a"])
    assert seen == ["dddd"]
    assert (second[0] == first[2]).all()
    _, seen = encoded(path, ["bb"])  # it was dropped when the index was written without it
    assert seen == ["bb"]


def test_an_index_may_be_moved(tmp_path: Path) -> None:
    encoded(tmp_path / "i.npz", ["a", "b"])
    shutil.move(tmp_path / "i.npz", tmp_path / "j.npz")
    assert encoded(tmp_path / "j.npz", ["a", "b"])[1] == []


def damaged(path: Path, kind: str) -> None:
    data = path.read_bytes()
    if kind == "other encoder":
        path.unlink()
        encoded(path, ["a", "b"], "e2")
    elif kind == "other version":
        with np.load(path) as stored:
            np.savez(path, **{name.replace("-1-", "-0-"): array for name, array in stored.items()})
    elif kind == "truncated":
        path.write_bytes(data[: len(data) // 2])
    elif kind == "flipped":
        middle = data.index(b"NUMPY", data.index(b"vectors-")) + 140
        path.write_bytes(data[:middle] + bytes([data[middle] ^ 255]) + data[middle + 1 :])
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "link":
        shutil.move(path, path.with_suffix(".other"))
        path.symlink_to(path.with_suffix(".other"))
    elif kind == "folder":
        path.unlink()
        path.mkdir()
    else:
        with np.load(path) as stored:
            arrays = dict(stored)
        vectors = {"long": 3 * arrays["vectors-1-e1"], "nan": np.nan * arrays["vectors-1-e1"], "flat": np.ones(2)}
        arrays["vectors-1-e1"] = vectors.get(kind, np.array(["x", {}], dtype=object))
        np.savez(path, **arrays)


@pytest.mark.parametrize(
    "kind", ["other encoder", "other version", "truncated", "flipped", "empty", "link", "long", "nan", "flat", "pickle"]
)
def test_an_index_that_cannot_be_trusted_is_made_again(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "i.npz"
    before, _ = encoded(path, ["a", "b"])
    damaged(path, kind)
    after, seen = encoded(path, ["a", "b"])
    assert seen == ["a", "b"]
    assert (after == before).all()
    assert not path.is_symlink()
    assert encoded(path, ["a", "b"])[1] == []


def test_a_link_in_the_place_of_the_index_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "private").write_text("mine")
    (tmp_path / "i.npz").symlink_to(tmp_path / "private")
    encoded(tmp_path / "i.npz", ["a"])
    assert (tmp_path / "private").read_text() == "mine"


@pytest.mark.real
def test_an_index_that_cannot_be_written_changes_no_result(notes: Path) -> None:
    expected = Extractor(history=notes, **QUICK).extract(NEW)
    (notes / INDEX).unlink()
    (notes / INDEX).mkdir()
    assert Extractor(history=notes, **QUICK).extract(NEW) == expected
    assert not list(notes.glob("*.part"))


# -- Other ways in ----------------------------------------------------------------------------------------------------


@pytest.mark.real
def test_the_command_line_marks_tags_from_history(notes: Path, tmp_path: Path) -> None:
    (tmp_path / "new.txt").write_text(NEW)
    asked = ("extract", tmp_path / "new.txt", "--history", notes, *CLI)
    expected = Extractor(history=notes, **QUICK).extract(NEW)
    result = json.loads(mudy(*asked, "-f", "json").stdout)
    assert result["keyphrases"] == json.loads(expected.to_json())["keyphrases"]
    rows = list(csv.DictReader(io.StringIO(mudy(*asked, "-f", "csv").stdout)))
    row = next(row for row in rows if row["text"] == "gardening")
    assert (row["start"], row["occurrences"], row["concept_match"]) == ("", "0", "history")
    assert "history: gardening" in mudy(*asked).stdout
    assert "gardening" in mudy("explain", tmp_path / "new.txt", "--history", notes, *CLI).stdout
    assert mudy("extract", "--text", NEW, "--history", notes / "bank.md", *CLI).exit_code == 2


@pytest.mark.real
def test_notes_get_tags_of_similar_notes_and_a_second_run_changes_nothing(notes: Path) -> None:
    (notes / "new.md").write_text(NEW)
    (notes / "broken.md").write_text("---\na: b: c\n---\nx\n")
    result = mudy("tag", notes / "new.md", "--history", notes, "-n", "2", *CLI[:-1])
    assert result.exit_code == 0, result.stderr
    assert Note.of((notes / "new.md").read_text()).tags() == ["gardening", "compost"]
    assert "broken.md" in result.stderr
    before = {path: path.read_bytes() for path in notes.glob("*.md")}
    mudy("tag", notes / "new.md", "--history", notes, "-n", "2", *CLI)
    assert {path: path.read_bytes() for path in notes.glob("*.md")} == before


@pytest.mark.real
def test_the_service_and_its_assistants_say_the_same(notes: Path) -> None:
    from mudy.engines import Compute
    from mudy.integrations.mcp import LocalBackend

    expected = json.loads(Extractor(history=notes, **QUICK).extract(NEW).to_json())["keyphrases"]
    config = Config(history=str(notes), language="en", compute=Compute(speed="quick"))
    with TestClient(create_app(config), base_url="http://localhost") as client:
        answer = client.post("/v1/extract", json={"text": NEW}).json()
        explained = client.post("/v1/explain", json={"text": NEW}).json()
    assert answer["results"][0]["keyphrases"] == expected
    assert explained["methods"][0]["keyphrases"][0]["text"] == expected[0]["text"]
    backend = LocalBackend({"history": str(notes), **QUICK})
    assert asyncio.run(backend.extracted(NEW, {}, "mudyplus"))["keyphrases"] == expected
    asyncio.run(backend.extracted(NEW, {}, "yake"))


@pytest.mark.real
@pytest.mark.parametrize("ending", ["jsonl", "parquet", "csv"])
def test_rows_of_a_corpus_mark_tags_from_history(notes: Path, tmp_path: Path, ending: str) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "1", "text": NEW}) + "\n")
    output = tmp_path / f"out.{ending}"
    corpus.run(tmp_path / "in.jsonl", output, history=str(notes), summary=tmp_path / "terms.csv", **QUICK)
    if ending == "csv":
        with output.open(encoding="utf-8-sig", newline="") as stream:
            line = next(line for line in csv.DictReader(stream) if line["keyphrase"] == "gardening")
        assert (line["start"], line["occurrences"], line["concept_match"]) == ("", "0", "history")
    else:
        read = parquet.read_table(output).to_pylist if ending == "parquet" else lambda: [json.loads(output.read_text())]
        row: Any = next(k for k in read()[0]["keyphrases"] if k["text"] == "gardening")
        assert (row["source"], row["occurrences"], row["concept"]["match"]) == ("history", [], "history")
    (notes / "more.md").write_text(note(["more"], "Another note."))
    with pytest.raises(InputError, match="history"):
        corpus.run(tmp_path / "in.jsonl", output, history=str(notes), **QUICK)
