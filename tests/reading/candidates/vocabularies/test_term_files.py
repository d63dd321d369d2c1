"""Vocabularies from tables, JSON and lists."""

from pathlib import Path

import pytest

from mudy import Concept, InputError, MudyError, SettingError, Vocabulary
from tests.growth import is_linear

TWO = (Concept("1", "flood", ("inundation", "deluge")), Concept("2", "ice road"))


def loaded(folder: Path, name: str, content: str | bytes, **options: str) -> tuple[Concept, ...]:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return Vocabulary.load(path, **options).concepts


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,label,alternatives\n1,flood,inundation|deluge\n2,ice road,\n"),
        ("a.csv", "\ufeffURI;prefLabel;Alt Labels\r\n1;flood;inundation|deluge\r\n2;ice road\r\n"),
        ("a.csv", "id,label\n1,flood\n1,inundation\n1,deluge\n2,ice road\n"),
        ("a.tsv", "label\tid\tsynonyms\nflood\t1\tinundation; deluge\n\nice road\t2\t\n"),
        ("a.json", '[{"id":1,"label":"flood","alternatives":["inundation","deluge"]},{"id":"2","label":"ice road"}]'),
        ("a.json", '{"concepts":[{"id":1,"label":"flood","alternatives":["inundation","deluge"]},'
                   '{"id":"2","label":"ice road"}]}'),
        ("a.jsonl", '{"id":1,"label":"flood","alternatives":["inundation","deluge"]}\n\n{"id":2,"label":"ice road"}\n'),
    ],
)  # fmt: skip
def test_every_form_gives_the_same_concepts(tmp_path: Path, name: str, content: str) -> None:
    assert loaded(tmp_path, name, content) == TWO


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85", "\x0b"])
def test_a_line_of_json_ends_with_a_line_feed_and_nothing_else(tmp_path: Path, mark: str) -> None:
    label = f"flood{mark}wall".replace("\x0b", "\\u000b")
    assert loaded(tmp_path, "a.jsonl", f'{{"label":"{label}"}}\r\n"ice"\n') == (
        Concept("flood wall", "flood wall"),
        Concept("ice", "ice"),
    )


def test_a_byte_that_is_no_utf_8_is_named_with_its_line_in_a_long_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is not UTF-8: byte 0xe9 .*line 30,002"):
        loaded(tmp_path, "a.txt", b"flood\n" * 30_000 + "né\n".encode() + b"inond\xe9e\n")


def test_a_list_has_a_label_a_line(tmp_path: Path) -> None:
    assert loaded(tmp_path, "a.txt", "# tags\nflood\n\n ice road \n") == (
        Concept("flood", "flood"),
        Concept("ice road", "ice road"),
    )


def test_of_rows_in_several_languages_those_of_one_are_taken(tmp_path: Path) -> None:
    content = "id,label,lang\n1,flood,en\n1,inondation,fr\n2,ice,\n"
    assert loaded(tmp_path, "a.csv", content) == (Concept("1", "flood"), Concept("2", "ice"))
    assert loaded(tmp_path, "a.csv", content, language="fr") == (Concept("1", "inondation"), Concept("2", "ice"))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "flood\nice\n", "no column `label`, but 'flood'.*use a .txt file"),
        ("a.csv", 'id,label\n1,"flood\n', "line 2"),
        ("a.csv", "", "no column `label`, but nothing"),
        ("a.csv", "id,label\n1,\n", "the vocabulary has no labels"),
        ("a.txt", "# nothing\n", "the vocabulary has no labels"),
        ("a.txt", b"flood\ninond\xe9e\n", "is not UTF-8: byte 0xe9 .*line 2"),
        ("a.json", "[1, 2", "not JSON"),
        ("a.json", '{"@context": {}, "@graph": []}', "JSON-LD"),
        ("a.json", '"flood"', "a list"),
        ("a.json", "[" * 100_000, "nested too deeply|not JSON"),
        ("a.xlsx", b"PK", "ends in one of"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_file(tmp_path: Path, name: str, content: str, message: str) -> None:
    with pytest.raises(MudyError, match=message) as caught:
        loaded(tmp_path, name, content)
    assert name in str(caught.value)


def test_a_missing_file_and_an_unknown_encoding_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        Vocabulary.load(tmp_path / "none.csv")
    with pytest.raises(SettingError, match="not a text encoding"):
        loaded(tmp_path, "a.txt", "x", encoding="klingon")
    with pytest.raises(SettingError, match="not a text encoding"):
        loaded(tmp_path, "a.txt", "x", encoding="hex")


def test_an_encoding_that_is_named_is_used(tmp_path: Path) -> None:
    assert loaded(tmp_path, "a.txt", "inondé\n".encode("latin-1"), encoding="latin-1")[0].label == "inondé"
    assert loaded(tmp_path, "a.txt", "inondé\n".encode("utf-16"))[0].label == "inondé"


def test_the_time_to_read_grows_with_the_rows(tmp_path: Path) -> None:
    def written(rows: int) -> Path:
        path = tmp_path / f"{rows}.csv"
        if not path.exists():
            path.write_text("id,label\n" + "".join(f"{n},label number{n}\n" for n in range(rows)))
        return path

    assert is_linear(Vocabulary.load, written, 16_000)
