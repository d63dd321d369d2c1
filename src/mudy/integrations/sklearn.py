"""A scikit-learn vectorizer whose features are keyphrases. It also fits `BERTopic(vectorizer_model=...)`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from mudy.errors import SettingError
from mudy.extractor import DEFAULT_METHOD
from mudy.integrations import from_extra
from mudy.integrations.extraction import results_of
from mudy.ranking import variant_key
from mudy.results import Keyphrase, Result
from mudy.validation import TopN, several

with from_extra("scikit-learn"):
    import numpy as np
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

Stems = tuple[str, ...]


class KeyphraseVectorizer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Texts -> a sparse matrix with a column for each keyphrase of the texts that it was fitted on.

    A text's row holds its own keyphrases: how often each stands in the text, or its score with `weight="score"`.
    Forms with equal stems (model, models) are one column, named after the form that most texts have, in lower case.
    `min_df` leaves out phrases that are keyphrases of fewer texts (a number, or a share of the texts); `max_features`
    keeps those of the most texts. `settings` are further ones of `Extractor` and `extract`.
    """

    def __init__(
        self,
        method: str = DEFAULT_METHOD,
        *,
        speed: str | None = None,
        top_n: TopN = 10,
        weight: Literal["count", "score"] = "count",
        min_df: int | float = 1,
        max_features: int | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.method = method
        self.speed = speed
        self.top_n = top_n
        self.weight = weight
        self.min_df = min_df
        self.max_features = max_features
        self.settings = settings

    def fit(self, raw_documents: Iterable[str], y: Any = None) -> Self:
        """Learn the columns."""
        self.fit_transform(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Iterable[str], y: Any = None) -> csr_matrix:  # noqa: ARG002 (as scikit-learn calls it)
        """Learn the columns, and give the matrix of the same texts; each text is computed once."""
        results = list(self._results(raw_documents))
        kept = self._kept(Counter(stems for result in results for stems in _by_stems(result)), len(results))
        if not kept:
            raise SettingError(f"No keyphrases for columns in {len(results):,} texts. Lower min_df, or see the texts.")
        names = sorted((name, stems) for stems, name in _usual_names(results).items() if stems in kept)
        self.feature_names_ = np.array([name for name, _ in names], dtype=object)
        self._columns = {stems: column for column, (_, stems) in enumerate(names)}
        return self._matrix(results)

    def transform(self, raw_documents: Iterable[str]) -> csr_matrix:
        """The matrix of texts; keyphrases without a column are left out."""
        check_is_fitted(self, "feature_names_")
        return self._matrix(list(self._results(raw_documents)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 (as scikit-learn calls it)
        """The phrase of each column."""
        check_is_fitted(self, "feature_names_")
        return self.feature_names_.copy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags

    def _results(self, texts: Iterable[str]) -> Iterator[Result]:
        if self.weight not in ("count", "score"):
            raise SettingError(f"weight is {self.weight!r}, but must be 'count' or 'score'.")
        settings = {"method": self.method, "speed": self.speed, "top_n": self.top_n, **(self.settings or {})}
        return results_of(several("raw_documents", texts, "texts"), settings)

    def _kept(self, frequencies: Counter[Stems], texts: int) -> set[Stems]:
        """The phrases that get a column; of equally frequent ones the first in alphabetical order."""
        least = self.min_df * texts if isinstance(self.min_df, float) else self.min_df
        frequent = [stems for stems, count in frequencies.items() if count >= least]
        return set(sorted(frequent, key=lambda stems: (-frequencies[stems], stems))[: self.max_features])

    def _matrix(self, results: Sequence[Result]) -> csr_matrix:
        entries = [
            (row, self._columns[stems], self._value(keyphrase))
            for row, result in enumerate(results)
            for stems, keyphrase in _by_stems(result).items()
            if stems in self._columns
        ]
        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        dtype = np.int64 if self.weight == "count" else np.float64
        return csr_matrix((np.array(values, dtype), (rows, columns)), shape=(len(results), len(self._columns)))

    def _value(self, keyphrase: Keyphrase) -> float:
        return len(keyphrase.occurrences) if self.weight == "count" else keyphrase.score


def _by_stems(result: Result) -> dict[Stems, Keyphrase]:
    """The keyphrases of a text by their stems; of two that were not merged, the better one."""
    return {variant_key(keyphrase.text): keyphrase for keyphrase in reversed(result.keyphrases)}


def _usual_names(results: Iterable[Result]) -> dict[Stems, str]:
    """For each phrase the form that most texts show, in lower case."""
    forms: dict[Stems, Counter[str]] = {}
    for result in results:
        for stems, keyphrase in _by_stems(result).items():
            forms.setdefault(stems, Counter())[keyphrase.text.lower()] += 1
    return {stems: min(counts, key=lambda form: (-counts[form], form)) for stems, counts in forms.items()}
