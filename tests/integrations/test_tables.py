"""Columns of pandas, polars and DuckDB, with the real packages."""

from typing import Any

import duckdb
import pandas
import polars
import pytest

import mudy.integrations.pandas
import mudy.integrations.polars  # noqa: F401 (registers its namespace, as the one above does)
from mudy import Extractor, InputError, SettingError
from mudy.integrations.duckdb import register_keyphrases
from tests.integrations.texts import PARAGRAPHS

TEXTS = [PARAGRAPHS[0], None, PARAGRAPHS[1], ""]
PHRASES = [
    None if text is None else [keyphrase.text for keyphrase in Extractor("yake").extract(text, top_n=3)]
    for text in TEXTS
]


def text_column() -> Any:
    """With a namespace that mypy cannot know."""
    return polars.col("text")


def test_a_pandas_column_has_a_list_for_each_text_under_its_index() -> None:
    column = pandas.Series(TEXTS, index=["a", "b", "c", "d"], name="text")
    keyphrases = column.mudy.keyphrases("yake", top_n=3)
    assert keyphrases.index.tolist() == ["a", "b", "c", "d"]
    assert keyphrases.name == "keyphrases"
    assert keyphrases.tolist() == PHRASES


@pytest.mark.parametrize("missing", [None, float("nan"), pandas.NA])
def test_each_kind_of_missing_text_of_pandas_is_missing(missing: object) -> None:
    column = pandas.Series([missing, PARAGRAPHS[0]], dtype=object)
    assert column.mudy.keyphrases("yake", top_n=3).tolist() == [None, PHRASES[0]]


def test_a_pandas_table_has_a_row_for_each_keyphrase() -> None:
    table = pandas.Series(TEXTS, index=[5, 6, 5, 8]).mudy.keyphrase_table("yake", top_n=3)
    assert table["text"].tolist() == [phrase for phrases in PHRASES for phrase in phrases or ()]
    assert set(table.index) == {5}
    first = table.iloc[0]
    assert PARAGRAPHS[0][first.start : first.end] == first.text


def test_a_pandas_table_of_no_texts_has_all_columns_and_no_rows() -> None:
    table = pandas.Series([], dtype=str).mudy.keyphrase_table("yake")
    assert table.columns.tolist() == ["text", "score", "start", "end", "occurrences"]
    assert len(table) == 0


def test_a_value_that_is_no_text_raises() -> None:
    with pytest.raises(InputError, match="A text must be a str"):
        pandas.Series([1, 2]).mudy.keyphrases("yake")
    with pytest.raises(InputError, match=r"texts\[2\] is 7"):
        pandas.Series(["a text", None, 7], dtype=object).mudy.keyphrases("yake")


def test_a_polars_column_has_a_list_for_each_text() -> None:
    frame = polars.DataFrame({"text": TEXTS})
    eager = frame.select(text_column().mudy.keyphrases("yake", top_n=3))
    assert eager.schema == {"text": polars.List(polars.String)}
    assert eager["text"].to_list() == PHRASES
    lazy = frame.lazy().with_columns(keyphrases=text_column().mudy.keyphrases("yake", top_n=3))
    assert lazy.collect()["keyphrases"].to_list() == PHRASES


def test_scored_keyphrases_of_polars_are_structs() -> None:
    frame = polars.DataFrame({"text": TEXTS})
    scored = frame.select(text_column().mudy.scored_keyphrases("yake", top_n=3).alias("keyphrases"))
    rows = scored.explode("keyphrases").unnest("keyphrases").drop_nulls()
    assert rows["text"].to_list() == [phrase for phrases in PHRASES for phrase in phrases or ()]
    assert rows.columns == ["text", "score", "start", "end", "occurrences"]


def test_a_polars_column_of_nulls_gives_nulls() -> None:
    frame = polars.DataFrame({"text": [None, None]}, schema={"text": polars.String})
    assert frame.select(text_column().mudy.keyphrases("yake"))["text"].to_list() == [None, None]


def test_a_function_of_duckdb_gives_a_list_for_each_text() -> None:
    with duckdb.connect() as connection:
        register_keyphrases(connection, method="yake", top_n=3)
        connection.execute("CREATE TABLE papers (id INTEGER, text VARCHAR)")
        connection.executemany("INSERT INTO papers VALUES (?, ?)", list(enumerate(TEXTS)))
        rows = connection.sql("SELECT id, keyphrases(text) FROM papers ORDER BY id").fetchall()
    assert rows == list(enumerate(PHRASES))


def test_a_function_of_duckdb_has_the_name_asked_for_and_can_be_unnested() -> None:
    with duckdb.connect() as connection:
        register_keyphrases(connection, "tags", "yake", top_n=2)
        rows = connection.execute("SELECT unnest(tags(?))", [PARAGRAPHS[0]]).fetchall()
    assert [phrase for (phrase,) in rows] == (PHRASES[0] or [])[:2]


def test_a_function_of_duckdb_that_is_registered_again_is_replaced() -> None:
    with duckdb.connect() as connection:
        for top_n in (3, 1):
            register_keyphrases(connection, method="yake", top_n=top_n)
        rows = connection.execute("SELECT keyphrases(?)", [PARAGRAPHS[0]]).fetchall()
    assert rows == [((PHRASES[0] or [])[:1],)]


def test_wrong_settings_leave_a_function_of_duckdb_as_it_was() -> None:
    with duckdb.connect() as connection:
        register_keyphrases(connection, method="yake", top_n=3)
        with pytest.raises(SettingError, match="top_n is 0"):
            register_keyphrases(connection, top_n=0)
        rows = connection.execute("SELECT keyphrases(?)", [PARAGRAPHS[0]]).fetchall()
    assert rows == [(PHRASES[0],)]


def test_wrong_settings_raise_when_the_function_is_registered() -> None:
    with duckdb.connect() as connection, pytest.raises(SettingError, match="top_n is 0"):
        register_keyphrases(connection, top_n=0)
