"""A DuckDB function: `register(connection)`, then `SELECT keyphrases(text) FROM papers`."""

from contextlib import suppress
from typing import Any

from mudy._support.extras import from_extra
from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import check_plain_settings, phrase_column

with from_extra("duckdb"):
    import duckdb
    import pyarrow


def register_keyphrases(
    connection: duckdb.DuckDBPyConnection,
    name: str = "keyphrases",
    method: str = DEFAULT_METHOD,
    *,
    top_n: TopN = 10,
    **settings: Any,
) -> None:
    """Register a function that returns the keyphrases of a text as a list; NULL for NULL.

    Further `settings` are those of `Extractor` and `extract`. DuckDB calls it with up to 2,048 rows at a time. It
    replaces a function registered on this connection under the same name.
    """
    plain = {"method": method, "top_n": top_n, **settings}
    check_plain_settings(plain)

    def keyphrases(texts: pyarrow.ChunkedArray) -> pyarrow.Array:
        return pyarrow.array(phrase_column(texts.to_pylist(), plain), pyarrow.list_(pyarrow.string()))

    with suppress(duckdb.InvalidInputException):  # no function of that name
        connection.remove_function(name)
    connection.create_function(name, keyphrases, ["VARCHAR"], "VARCHAR[]", type="arrow", null_handling="special")
