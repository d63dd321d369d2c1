"""How lists read: each count on lists written by hand, and the judgements that ship."""

from pathlib import Path

import pytest

from experiments.lists.readability import JudgedText, Readability, Subject, overlapping, readability
from mudy.reading.candidates.stemming import stems_of as stems

LISTS = Path(__file__).parents[2] / "experiments" / "lists"
JUDGED = JudgedText(
    "pump",
    (Subject("heat pump", ("heat pump", "heat pumps")), Subject("boiler", ("boiler",))),
    generic=("people",),
    not_subjects=("Mrs Brown",),
)


def test_judgements_are_read_by_lines_that_end_with_a_line_feed(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"id": "a\u2028b", "subjects": [], "generic": [], "not_subjects": []}\n', encoding="utf-8")
    assert [judged.id for judged in JudgedText.load(path)] == ["a\u2028b"]


def test_a_subject_is_covered_by_any_of_its_forms() -> None:
    counts = readability(["Heat Pumps", "radiators"], JUDGED)
    assert (counts.covered, counts.subjects) == (1, 2)


def test_empty_words_and_what_a_text_is_not_about_are_counted() -> None:
    counts = readability(["People", "mrs brown", "boiler"], JUDGED)
    assert (counts.generic, counts.not_subjects, counts.phrases) == (1, 1, 3)


def test_a_phrase_made_of_words_of_another_overlaps_it() -> None:
    assert overlapping(stems("heat pump"), stems("air-source heat pumps"))
    assert not overlapping(stems("heat pump"), stems("heat exchanger"))
    counts = readability(["heat pump", "new heat pumps", "boiler"], JUDGED)
    assert (counts.overlapping, counts.pairs) == (1, 3)
    assert (counts.repeated_tokens, counts.tokens) == (2, 6)


def test_counts_of_several_lists_add_up() -> None:
    total = readability(["boiler"], JUDGED) + readability(["people"], JUDGED) + Readability()
    assert (total.lists, total.phrases, total.covered, total.generic) == (2, 2, 1, 1)


@pytest.mark.parametrize("judged", JudgedText.load(LISTS / "subjects.jsonl"), ids=lambda judged: judged.id)
def test_every_form_that_counts_stands_in_its_text(judged: JudgedText) -> None:
    text = " ".join((LISTS / "texts" / f"{judged.id}.txt").read_text(encoding="utf-8").lower().split())
    forms = [form for subject in judged.subjects for form in subject.accept]
    assert all(form.lower() in text for form in (*forms, *judged.generic, *judged.not_subjects))
    assert all(subject.name in subject.accept for subject in judged.subjects)
