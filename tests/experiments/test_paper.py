"""The paper's printed numbers, as they stand in its tables."""

import pytest

from experiments.reproduce import paper


def test_the_papers_numbers_are_the_printed_ones() -> None:
    assert paper.TABLE2["mudy gemma2"]["duc2001"] == (32.77, 36.86, 36.00)
    assert paper.TABLE2["mudy t5"]["nus"] == (16.84, 19.95, 20.41)
    assert paper.TABLE2["empirical llama3"]["wikihow"] == (10.97, 15.08, 16.25)
    assert paper.TABLE2["jointgl"]["semeval2017"] == (18.05, 26.00, 29.27)
    assert paper.TABLE3["vanilla+aligned"]["semeval2017"] == (27.26, 37.99, 42.08)
    assert paper.TABLE3["L"]["duc2001"] == (25.05, 29.72, 30.02)
    assert paper.TABLE4[3]["duc2001"] == 32.28
    assert paper.TABLE5["gpt5 candidate"]["nus"] == (21.62, 21.54, 20.15)
    assert paper.TABLE6["mudy t5"]["kp20k"] == (16.32, 16.40, 14.87)
    assert paper.DRIFT["wikihow"] == 0.50
    assert paper.PROMPTRANK_README["inspec"] == (31.73, 37.88, 38.17)


@pytest.mark.parametrize("table", [paper.TABLE2, paper.TABLE3, paper.TABLE5])
def test_every_row_of_the_paper_has_the_four_data_sets(table: dict[str, paper.PaperRow]) -> None:
    assert {tuple(row) for row in table.values()} == {paper.SETS}
    assert all(0 < value < 100 for row in table.values() for triple in row.values() for value in triple)


def test_the_whole_method_is_the_same_row_in_two_tables() -> None:
    assert paper.TABLE3["mudy"] == paper.TABLE2["mudy t5"]
    assert paper.TABLE4[1] == {name: paper.TABLE2["mudy t5"][name][2] for name in ("duc2001", "wikihow", "nus")}
