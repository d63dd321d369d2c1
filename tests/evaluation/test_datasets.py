"""Data sets in every form that is read, each written by the test itself, and what is said about bad ones."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from mudy.errors import InputError, SettingError
from mudy.evaluation.datasets import DATASET_FORMATS, PROTOCOLS, Dataset, Record, load, set_name

ICE = {
    "id": "ice",
    "title": "River ice",
    "text": "River ice is thin.\nRoads close.",
    "keyphrases": ["river ice", "road"],
}
MAP = {"id": "map", "title": None, "text": "A radar map guides trucks.", "keyphrases": ["radar map", "Radar map"]}


def json_lines(path: Path, *rows: Any) -> Path:
    """A file with a row a line; a str or bytes row is written as it is."""
    lines = [r if isinstance(r, bytes) else (r if isinstance(r, str) else json.dumps(r)).encode() for r in rows]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path


def problems(dataset: Dataset) -> list[tuple[str, int | None, str]]:
    return [(p.file.name, p.line, p.reason) for p in dataset.problems]


# -- Our form ---------------------------------------------------------------------------------------------------------


def test_our_own_form_is_read_as_it_stands(tmp_path: Path) -> None:
    data = load(json_lines(tmp_path / "rivers.jsonl", ICE, "", MAP))
    assert (data.name, data.form, data.problems) == ("rivers", "mudy", ())
    assert data.documents[0] == Record("ice", "River ice", "River ice is thin.\nRoads close.", ("river ice", "road"))
    assert data.documents[1].keyphrases == ("radar map", "Radar map")  # doubles stay


def test_every_bad_row_is_named_with_its_line_and_the_good_ones_are_kept(tmp_path: Path) -> None:
    rows: list[tuple[Any, str]] = [
        ('{"id": "x", "text": ', "not JSON: Expecting value"),
        ("[1, 2]", "a JSON object is needed, not a list"),
        ({"id": "x", "text": "t"}, "gold (keyphrases) is missing"),
        ({"id": "x", "text": "t", "keyphrases": []}, "gold is empty"),
        ({"id": "x", "text": "t", "keyphrases": [" ", ""]}, "gold is empty"),
        ({"id": "x", "text": "t", "keyphrases": ["a", 3]}, "holds a number among"),
        ({"id": "x", "text": "t", "keyphrases": {"a": 1}}, "must be a list of phrases, not an object"),
        ({"id": "x", "keyphrases": ["a"]}, "its text is missing"),
        ({"id": "x", "text": " \n", "keyphrases": ["a"]}, "its text is empty"),
        ({"id": "x", "text": ["t"], "keyphrases": ["a"]}, "its text must be a text, not a list"),
        ({"id": "x", "title": 4, "text": "t", "keyphrases": ["a"]}, "its title must be a text, not a number"),
        ({"id": "", "text": "t", "keyphrases": ["a"]}, "its id is empty"),
        ({"id": True, "text": "t", "keyphrases": ["a"]}, "an id is needed, not true or false"),
        (ICE, "the id 'ice' occurred before"),
        (b'{"id": "x", "text": "caf\xe9", "keyphrases": ["a"]}', "cannot be decoded as UTF-8"),
        ("[" * 100_000, "not JSON"),
    ]
    data = load(json_lines(tmp_path / "mixed.jsonl", ICE, *(row for row, _ in rows), MAP))
    assert [record.id for record in data.documents] == ["ice", "map"]
    assert [(p.file.name, p.line) for p in data.problems] == [("mixed.jsonl", i + 2) for i in range(len(rows))]
    for problem, (_, reason) in zip(data.problems, rows, strict=True):
        assert reason in problem.reason
    assert str(data.problems[2]).endswith("mixed.jsonl:4: its gold (keyphrases) is missing")


def test_a_form_is_told_from_the_first_row_that_can_be_read(tmp_path: Path) -> None:
    data = load(json_lines(tmp_path / "a.jsonl", "\ufeff{broken", b"\xff\xfe", MAP))
    assert [record.id for record in data.documents] == ["map"]
    assert len(data.problems) == 2


def test_a_byte_order_mark_and_numbers_as_ids_do_no_harm(tmp_path: Path) -> None:
    data = load(json_lines(tmp_path / "a.jsonl", "\ufeff" + json.dumps(MAP | {"id": 7})))
    assert [record.id for record in data.documents] == ["7"]


def test_a_limit_stops_the_reading_after_that_many_good_rows(tmp_path: Path) -> None:
    data = load(json_lines(tmp_path / "a.jsonl", "{", ICE, MAP, "{"), limit=1)
    assert (len(data.documents), len(data.problems)) == (1, 1)
    with pytest.raises(SettingError, match="limit is 0"):
        load(tmp_path / "a.jsonl", limit=0)


# -- What is no data set ----------------------------------------------------------------------------------------------


def test_a_file_in_which_nothing_is_usable_is_an_error_that_says_why(tmp_path: Path) -> None:
    path = json_lines(tmp_path / "a.jsonl", MAP | {"keyphrases": []}, "{")
    with pytest.raises(InputError, match=r"no usable document: .*a\.jsonl:1: its gold is empty"):
        load(path)


@pytest.mark.parametrize("content", ["", "plain words\n", '{"words": 3}\n', "a,b\n1,2\n", "[]", "\x00\x01"])
def test_an_unknown_form_is_an_error_that_lists_the_known_ones(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd").write_text(content)
    for path in (tmp_path / "odd", tmp_path):
        with pytest.raises(InputError) as raised:
            load(path)
        assert all(form in str(raised.value) for form in DATASET_FORMATS)


@pytest.mark.parametrize("row", [{"id": 1, "text": "River ice.", "tags": ["ice"]}, {"keyphrases": ["ice"]}])
def test_rows_that_name_their_columns_otherwise_are_told_what_they_need(tmp_path: Path, row: dict[str, Any]) -> None:
    path = json_lines(tmp_path / "mine.jsonl", "{", row)
    with pytest.raises(InputError, match=r"not a data set in a known format. Each row needs `text` and `keyphrases`"):
        load(path)


def test_a_missing_path_and_an_unknown_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "nowhere")
    with pytest.raises(SettingError, match="Did you mean 'wikihow'"):
        load(tmp_path, "wikhow")


@pytest.mark.parametrize("form", DATASET_FORMATS)
def test_a_form_that_is_named_but_does_not_fit_is_an_error(tmp_path: Path, form: str) -> None:
    (tmp_path / "odd").write_text("nothing of the kind\n")
    for path in (tmp_path / "odd", tmp_path):
        with pytest.raises(InputError):
            load(path, form)


def test_a_file_that_may_not_be_read_is_an_error_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = json_lines(tmp_path / "a.jsonl", ICE)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match=r"cannot be read \(Permission denied\)"):
        load(path)


# -- Published forms --------------------------------------------------------------------------------------------------


def test_semeval2017_is_read_from_texts_and_keys_without_the_copies_of_an_editor(tmp_path: Path) -> None:
    for folder in ("docsutf8/.ipynb_checkpoints", "keys"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "docsutf8/S1.txt").write_text("At 5% P is high.\n")
    (tmp_path / "docsutf8/.ipynb_checkpoints/S1-checkpoint.txt").write_text("At 5%")
    (tmp_path / "docsutf8/S2.txt").write_text("No keys.")
    (tmp_path / "keys/S1.key").write_text("High P\r\nhigh p\n\n")
    (tmp_path / "keys/S3.key").write_text("a")
    data = load(tmp_path)
    assert data.documents == (Record("S1", None, "At 5% P is high.", ("High P", "high p")),)
    assert data.form == "semeval2017"
    assert problems(data) == [
        ("S2.txt", None, "there is no gold for it"),
        ("S3.key", None, "there is no S3.txt for it"),
    ]
    assert data.promptrank_text(data.documents[0]) == ("at 5 p is high.", 0)  # cleaned first, then lower-cased


PAPER = {
    "title": "On Ice",
    "abstract": "Ice is thin. We map it, often.",
    "fulltext": "Roads.",
    "keywords": "Ice map;ice;",
}


@pytest.mark.parametrize(
    ("name", "form", "text"),
    [
        ("nus_test.json", "nus", "Ice is thin. We map it, often. Roads."),
        ("Krapivin/test.json", "krapivin", "Ice is thin. We map it, often. Roads."),
        ("SemEval2010/semeval_test.json", "semeval2010", "Ice is thin. We map it, often."),
        ("kp20k_valid2k_test.json", "kp20k", "Ice is thin. We map it, often."),
        ("mine.json", "papers", "Ice is thin. We map it, often. Roads."),
    ],
)
def test_papers_are_read_as_far_as_published_runs_read_them(tmp_path: Path, name: str, form: str, text: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    data = load(json_lines(tmp_path / name, PAPER, PAPER | {"name": "C-1", "keywords": ["a", "b"]}))
    assert data.form == form
    assert data.documents[0] == Record("1", "On Ice", text, ("Ice map", "ice"))
    assert (data.documents[1].id, data.documents[1].keyphrases) == ("C-1", ("a", "b"))
    if form != "papers":
        assert data.promptrank_text(data.documents[0])[0].startswith("Ice is thin . We map it , often")


def test_kptimes_and_stackexchange_have_names_of_their_own_for_text_and_gold(tmp_path: Path) -> None:
    news = {"id": "ny1", "title": "T", "headline": "H", "abstract": "The body.", "keyword": "US,United States;Ice"}
    times = load(json_lines(tmp_path / "KPTimes.test.jsonl", news))
    assert (times.form, times.documents) == (
        "kptimes",
        (Record("ny1", "T", "The body.", ("US", "United States", "Ice")),),
    )
    post = {"title": "Why?", "question": "Why is ice thin?", "tags": "ice;thin-ice"}
    stack = load(json_lines(tmp_path / "stackexchange_test.json", post))
    assert (stack.form, stack.documents) == (
        "stackexchange",
        (Record("1", "Why?", "Why is ice thin?", ("ice", "thin-ice")),),
    )


def test_a_paper_without_text_or_gold_is_a_problem(tmp_path: Path) -> None:
    bad = [{"abstract": "", "keywords": "a"}, {"abstract": "t"}, {"abstract": 3, "keywords": "a"}]
    data = load(json_lines(tmp_path / "kp20k.json", PAPER, *bad))
    assert [(p.line, p.reason[:30]) for p in data.problems] == [
        (2, "a text is needed under abstrac"),
        (3, "its gold (keywords or keyword "),
        (4, "its abstract must be a text, n"),
    ]


def wikihow(path: Path, *rows: tuple[str, ...]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("headline", "title", "text", "word_count", "label"), *rows])
    return path


def test_the_wikihow_csv_is_read_with_its_labels_as_python_lists(tmp_path: Path) -> None:
    path = wikihow(
        tmp_path / "wikihow.csv",
        ("H", "How to Skate", "Find thin\nice, 5% of it.", "5", "['thin ice', \"skater's boot\"]"),
        ("H", "T", "t", "1", "__import__('os').getcwd()"),
        ("H", "T", "t", "1", "['a'"),
        ("H", "T", "t", "1", "[]"),
        ("H", "T", "t"),
        ("H", "T", "", "1", "['a']"),
        ("H", "", "Last.", "1", "['last']"),
    )
    data = load(path)
    first, last = data.documents
    assert first == Record("1", "How to Skate", "Find thin\nice, 5% of it.", ("thin ice", "skater's boot"))
    assert (last.id, last.title) == ("7", None)
    assert [(p.line, p.reason) for p in data.problems] == [
        (4, "its keyphrases are not a list in Python notation"),  # the first text takes two lines
        (5, "its keyphrases are not a list in Python notation"),
        (6, "its gold is empty"),
        (7, "has 3 columns, but 5 are needed"),
        (8, "its text is empty"),
    ]
    assert data.promptrank_text(first) == ("find thin ice, 5% of it.", 0)


def test_a_csv_row_with_undecodable_bytes_is_a_problem_and_the_next_is_read(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_bytes(b"title,text,label\nT,caf\xe9,['a']\nT,t,['b']\n")
    data = load(path)
    assert [record.keyphrases for record in data.documents] == [("b",)]
    assert problems(data) == [("w.csv", 2, "cannot be decoded as UTF-8")]


# -- Protocols --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("duc2001", "90% is a. c, d"),
        ("semeval2017", "90 p is a. c, d"),
        ("inspec", "On Ice 90 P is a. C, d"),
        ("nus", "90% P is a . C , d"),
        ("krapivin", "90% P is a . C , d"),
        ("semeval2010", "90% P is a . C , d"),
        ("kp20k", "90% P is a . C , d"),
        ("wikihow", "90% is a. c, d"),
        ("my-own", "on ice 90% is a. c, d"),
    ],
)
def test_each_data_set_is_cleaned_as_published_also_from_our_form(tmp_path: Path, name: str, expected: str) -> None:
    # A lone p is what is left of a mark for paragraphs, and goes where lower-casing comes first.
    row = {"id": "1", "title": "On Ice", "text": "On Ice\n90% [P] is a. C, d", "keyphrases": ["a"]}
    data = load(json_lines(tmp_path / f"{name}.jsonl", row))
    assert data.promptrank_text(data.documents[0])[0] == expected


def test_only_512_words_are_read_unless_more_are_asked_for(tmp_path: Path) -> None:
    data = load(json_lines(tmp_path / "duc2001.jsonl", MAP | {"text": "Word " * 600}))
    text, omitted = data.promptrank_text(data.documents[0])
    assert (len(text.split()), omitted) == (512, 88)
    assert data.promptrank_text(data.documents[0], max_words=550)[1] == 50


@pytest.mark.parametrize(
    ("title", "text", "read"),
    [
        ("ICE: A Map", "Ice : a map We read.", "We read."),
        ("On Ice", "On Ice", "On Ice"),  # nothing else is there
        ("On Ice", "On Icebergs we read.", "On Icebergs we read."),
        ("On Ice (2+2)", "We read: On Ice (2+2)", "We read: On Ice (2+2)"),
        (" ", "We read.", "We read."),
    ],
)
def test_a_title_that_published_runs_do_not_read_is_taken_off(title: str, text: str, read: str) -> None:
    assert PROTOCOLS["nus"].read(text, title) == (read, 0)


@pytest.mark.parametrize(
    ("name", "known"),
    [("SemEval-2017_es", "semeval2017"), ("nus_test", "nus"), ("DUC2001", "duc2001"), ("nusantara", None)],
)
def test_a_published_data_set_is_known_by_the_beginning_of_its_name(name: str, known: str | None) -> None:
    assert set_name(name) == known
