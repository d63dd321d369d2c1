"""Examples in every form in which they come, and what is said about bad ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from mudy.errors import InputError, MissingExtra
from mudy.extraction.examples import MOST, Examples, load_records

ICE = ("River ice is thin in spring.", ["river ice", "spring"])
MAP = ("A radar map guides trucks.", ["radar map"])
WALL = ("The sea wall held; the storm did not.", ["sea wall", "storm"])
PAIRS = [ICE, MAP, WALL]
BIBTEX = r"""
@comment{not an entry, title = {x}}
@article{ice2020,
  title    = {Thin {Ice} in {\"O}stersund},
  abstract = "River ice is {thin} in spring \& autumn.",
  year     = 2020,
  keywords = {river ice; spring},
}
@book{map1, title={Maps}, abstract={A radar map guides trucks.}, keywords={radar map, trucks}}
@misc{none, title={No abstract}, keywords={a, b}}
@article{wall, title={Walls}, abstract={The sea wall held.}, keywords={sea wall}}
"""


def pairs(examples: Examples) -> list[tuple[str, list[str]]]:
    return [(record.text, list(record.keyphrases)) for record in examples.records]


def test_pairs_of_python_are_taken_as_they_are() -> None:
    examples = Examples.of(PAIRS)
    assert pairs(examples) == PAIRS
    assert examples.notes == ()
    assert Examples.of(examples) is examples


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.jsonl", "".join(json.dumps({"text": text, "keyphrases": phrases}) + "\n" for text, phrases in PAIRS)),
        ("a.csv", "text,keyphrases\n" + "".join(f'"{text}",{"|".join(phrases)}\n' for text, phrases in PAIRS)),
        ("b.csv", "Tags;Content\n" + "".join(f'{", ".join(phrases)};"{text}"\n' for text, phrases in PAIRS)),
        ("c.csv", "".join(f'"{text}","{", ".join(phrases)}"\n' for text, phrases in PAIRS)),  # without a head
        ("a.tsv", "".join(f"{'; '.join(phrases)}\t{text}\n" for text, phrases in PAIRS)),
        ("d.csv", "text,labels\n" + "".join(f'"{text}","{phrases}"\n' for text, phrases in PAIRS)),  # Python's lists
    ],
)
def test_tables_are_read_by_their_columns(name: str, content: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert pairs(Examples.of(tmp_path / name)) == PAIRS


def test_a_workbook_is_a_table(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("text", "keyphrases"), *((text, "; ".join(phrases)) for text, phrases in PAIRS), (None, None)]:
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert pairs(Examples.of(tmp_path / "a.xlsx")) == PAIRS


def test_what_is_no_workbook_is_an_error_with_or_without_the_package(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_text("no workbook")
    with pytest.raises((InputError, MissingExtra), match=r"not a workbook that can be read|openpyxl"):
        Examples.of(tmp_path / "a.xlsx")


def test_a_library_of_zotero_has_titles_abstracts_and_tags(tmp_path: Path) -> None:
    head = '"Key","Title","Abstract Note","Manual Tags"\n'
    rows = "".join(f'"K","On {i}","{text}","{"; ".join(phrases)}"\n' for i, (text, phrases) in enumerate(PAIRS))
    (tmp_path / "zotero.csv").write_text(head + rows, encoding="utf-8")
    assert pairs(Examples.of(tmp_path / "zotero.csv"))[1] == ("On 1\n\nA radar map guides trucks.", ["radar map"])


def test_bibtex_with_abstracts_and_keywords(tmp_path: Path) -> None:
    (tmp_path / "library.bib").write_text(BIBTEX, encoding="utf-8")
    examples = Examples.of(str(tmp_path / "library.bib"))
    assert [record.id for record in examples.records] == ["ice2020", "map1", "wall"]
    assert pairs(examples)[:2] == [
        ("Thin Ice in Östersund\n\nRiver ice is thin in spring & autumn.", ["river ice", "spring"]),
        ("Maps\n\nA radar map guides trucks.", ["radar map", "trucks"]),
    ]
    assert examples.notes == (f"rows that could not be used: 1 ({tmp_path / 'library.bib'}:10: it has no abstract)",)


def test_notes_have_their_tags_in_front_matter(tmp_path: Path) -> None:
    for number, (text, phrases) in enumerate(PAIRS):
        tags = ", ".join(f"topics/{phrase.replace(' ', '-')}" for phrase in phrases)
        (tmp_path / f"{number}.md").write_text(f"---\ntags: [{tags}]\n---\n{text}", encoding="utf-8")
    (tmp_path / "plain.md").write_text("Nothing here.", encoding="utf-8")
    (tmp_path / "toml.md").write_text("+++\ntags = []\n+++\nText.", encoding="utf-8")
    examples = Examples.of(tmp_path)
    assert pairs(examples) == PAIRS
    assert "rows that could not be used: 2" in examples.notes[0]
    assert "it has no tags" in examples.notes[0]


def test_a_tag_keeps_a_hyphen_that_the_text_has(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("---\ntags: [x-ray]\n---\nAn X-ray of the hand.", encoding="utf-8")
    _, (record,), _ = load_records(tmp_path)
    assert record.keyphrases == ("x-ray",)


def test_a_text_that_comes_twice_has_the_phrases_of_both() -> None:
    examples = Examples.of([*PAIRS, (MAP[0], ["trucks", "radar map"])])
    assert pairs(examples)[1] == (MAP[0], ["radar map", "trucks"])
    assert examples.notes == ("texts given more than once, phrases joined: 1",)


def test_of_ten_thousand_examples_some_are_used_and_that_is_said() -> None:
    examples = Examples.of((f"Text {number} of the ferry.", ["ferry"]) for number in range(10_000))
    assert [record.id for record in examples.records[:3]] == ["0", "50", "100"]
    assert len(examples.records) == MOST
    assert examples.notes == ("200 of the 10,000 examples are used, evenly spaced; `mudy fit` uses all",)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([ICE], "1 example was given, but at least 3 different texts"),
        ([ICE, ICE, ICE], r"1 example was given \(texts given more than once, phrases joined: 2"),
        ([], "0 examples were given"),
        (3, "examples is 3, but a list of pairs of a text and its phrases is needed"),
        (["river ice", "map"], r"examples\[0\] is 'river ice' \(str\), but must be a pair"),
        ([*PAIRS, ("", ["a"])], r"examples\[3\]: the text is ''"),
        ([*PAIRS, (None, ["a"])], r"examples\[3\]: the text is None"),
        ([*PAIRS, ("A text.", "one phrase")], r"examples\[3\] is the single text 'one phrase'"),
        ([*PAIRS, ("A text.", [" "])], r"examples\[3\] has no phrases"),
        ([*PAIRS, ("A text.", [3])], r"examples\[3\] holds 3"),
        ("nowhere.jsonl", "no such file or folder"),
    ],
)
def test_bad_examples_are_refused(value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Examples.of(value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "", "not a data set in a known format"),
        ("a.csv", "", "not a data set in a known format"),
        ("a.tsv", "", "its first row is empty"),
        ("a.csv", "one,two,three\n", "a table needs the columns text and keyphrases"),
        ("a.csv", "text,keyphrases\n,a\n", "no usable document: .*its text is empty"),
        ("a.csv", "text,keyphrases\nA text.,\n", "its gold is empty"),
        ("a.csv", "text,keyphrases\nA text.,[1\n", "not a list in Python notation"),
        ("a.jsonl", '{"keyphrases": ["river ice"]}\n', "needs `text` and `keyphrases`"),
        ("a.bib", "nothing", "it is empty"),
        ("a.bib", "@article{a, title = {unclosed", "it has no abstract"),
    ],
)
def test_files_without_an_example_say_why(name: str, content: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        Examples.of(tmp_path / name)
