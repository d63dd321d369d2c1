"""A pandas accessor: `import mudy.integrations.pandas`, then `frame["text"].mudy.keyphrases()`."""

from typing import Any

from mudy._support.extras import from_extra
from mudy._support.validation import TopN
from mudy.extraction.options import DEFAULT_METHOD
from mudy.integrations.extraction import KEYPHRASE_COLUMNS, keyphrase_column, phrase_column

with from_extra("pandas"):
    from pandas import DataFrame, Series
    from pandas.api.extensions import register_series_accessor


@register_series_accessor("mudy")
class PandasKeyphrases:
    """Keyphrases of the texts in a column. Further settings are those of `Extractor` and `extract`."""

    def __init__(self, column: Series) -> None:
        self._column = column

    def keyphrases(self, method: str = DEFAULT_METHOD, *, top_n: TopN = 10, **settings: Any) -> Series:
        """A column of lists of phrases, best first; missing where the text is missing."""
        lists = phrase_column(self._texts(), {"method": method, "top_n": top_n, **settings})
        return Series(lists, index=self._column.index, name="keyphrases", dtype=object)

    def keyphrase_table(self, method: str = DEFAULT_METHOD, *, top_n: TopN = 10, **settings: Any) -> DataFrame:
        """A table with one row per keyphrase, under the index of its text."""
        lists = keyphrase_column(self._texts(), {"method": method, "top_n": top_n, **settings})
        rows = [(position, row) for position, keyphrases in enumerate(lists) for row in keyphrases or ()]
        index = self._column.index.take([position for position, _ in rows])
        return DataFrame([row for _, row in rows], index=index, columns=list(KEYPHRASE_COLUMNS))

    def _texts(self) -> list[str | None]:
        missing = self._column.isna()
        return [None if empty else text for text, empty in zip(self._column, missing, strict=True)]
