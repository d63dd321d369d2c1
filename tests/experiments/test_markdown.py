"""Cells and pages of Markdown."""

from pathlib import Path

import pytest

from experiments.reproduce import method_table, paper
from experiments.reproduce.markdown import Gap, Page, cell, literal
from mudy.errors import InputError


def test_a_cell_holds_our_number_and_the_papers() -> None:
    assert cell(37.44, 32.77) == "37.4 *(32.8)*"
    assert cell(None, 31.95) == "– *(32.0)*"  # halves upwards
    assert cell(1.0, "0.3–0.5", 2) == "1.00 *(0.3–0.5)*"
    assert (cell(37.44), cell(None)) == ("37.4", "–")


def test_a_phrase_means_itself_in_markdown() -> None:
    assert literal("a|b *c* _d_") == r"a\|b \*c\* \_d\_"


def test_equal_reasons_are_one_note() -> None:
    page = Page("table2", "Title")
    for name in ("A", "B", "A"):
        page.gap(name, Gap("no\nendpoint."))
    assert page.markdown().endswith("## Notes\n\n- – A; B: no endpoint.\n")


def test_a_page_that_cannot_be_written_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        Page("table2", "Title").write(tmp_path / "absent")
    Page("table2", "Title").write(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["table2.md"]


def test_rows_of_the_paper_that_nothing_stands_for_are_open() -> None:
    row = method_table.unfilled("GPT-5", paper.TABLE5["gpt5 vanilla"])
    assert row.of("duc2001") == Gap(method_table.MODELS_NOT_FETCHED)


def test_a_page_replaces_a_link_and_does_not_follow_it(tmp_path: Path) -> None:
    (tmp_path / "table1.md").symlink_to(tmp_path / "private.md")
    (tmp_path / "private.md").write_text("private")
    Page("table1", "Title").write(tmp_path)
    assert (tmp_path / "table1.md").read_text().startswith("# Title")
    assert (tmp_path / "private.md").read_text() == "private"
