"""A polars namespace: `import mudy.integrations.polars`, then `pl.col("text").mudy.keyphrases()`."""

from collections.abc import Callable
from typing import Any

from mudy._support.extras import from_extra
from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import keyphrase_column, phrase_column

with from_extra("polars"):
    import polars as pl

KEYPHRASE = pl.Struct(
    {"text": pl.String, "score": pl.Float64, "start": pl.Int64, "end": pl.Int64, "occurrences": pl.Int64}
)


@pl.api.register_expr_namespace("mudy")
class PolarsKeyphrases:
    """Keyphrases of the texts in a column. Further settings are those of `Extractor` and `extract`."""

    def __init__(self, column: pl.Expr) -> None:
        self._column = column

    def keyphrases(self, method: str = DEFAULT_METHOD, *, top_n: TopN = 10, **settings: Any) -> pl.Expr:
        """Lists of phrases, best first; null where the text is null."""
        return self._mapped(phrase_column, pl.List(pl.String), {"method": method, "top_n": top_n, **settings})

    def scored_keyphrases(self, method: str = DEFAULT_METHOD, *, top_n: TopN = 10, **settings: Any) -> pl.Expr:
        """Lists of structs: the phrase, its score, its best occurrence, and the number of occurrences."""
        return self._mapped(keyphrase_column, pl.List(KEYPHRASE), {"method": method, "top_n": top_n, **settings})

    def _mapped(self, column_of: Callable[..., Any], dtype: pl.DataType, settings: dict[str, Any]) -> pl.Expr:
        def column(texts: pl.Series) -> pl.Series:
            return pl.Series(texts.name, column_of(texts, settings), dtype=dtype)

        return self._column.map_batches(column, return_dtype=dtype)
