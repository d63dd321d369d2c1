"""A scikit-learn vectorizer whose features are keyphrases. It also fits `BERTopic(vectorizer_model=...)`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any, Self

from mudy._support.extras import from_extra
from mudy._support.validation import TopN, checked, seen, several
from mudy.errors import InputError, SettingError
from mudy.extraction.options import DEFAULT_METHOD
from mudy.extraction.ranking import variant_key
from mudy.extraction.results import Result
from mudy.integrations.extraction import plain_settings, results_of
from mudy.reading.candidates import stands_alone, text_units
from mudy.reading.candidates.phrase_index import PhraseIndex
from mudy.reading.candidates.stemming import base_form
from mudy.reading.document import Span

with from_extra("scikit-learn"):
    import numpy as np
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted

Lookup = Callable[[str], Iterator[tuple[Span, int]]]


@dataclass(eq=False, repr=False)
class KeyphraseVectorizer(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """Convert texts to a sparse matrix of phrase counts; the columns are the keyphrases of the texts given to `fit`.

    `transform` needs no model: it looks phrases up as whole words, regardless of case. Inflections (model, models)
    share a column, also those that occur in no text of `fit`; its name is the most frequent form in lower case.
    `min_df` leaves out phrases that are keyphrases of fewer texts (a number, or a share below 1); `max_features` keeps
    those of the most texts. `settings` are further settings of `Extractor` and `extract`.
    """

    method: str = DEFAULT_METHOD
    _: KW_ONLY
    speed: str | None = None
    top_n: TopN = 10
    min_df: int | float = 1
    max_features: int | None = None
    settings: Mapping[str, Any] | None = None

    def fit(self, raw_documents: Iterable[str], y: Any = None) -> Self:  # noqa: ARG002 (as scikit-learn calls it)
        """Learn the columns."""
        checked("max_features", self.max_features, int | None, least=1)
        checked("min_df", self.min_df, float, least=0)
        texts = several("raw_documents", raw_documents, "texts")
        results = list(results_of(texts, plain_settings(self)))
        least = self.min_df * len(results) if isinstance(self.min_df, float) else self.min_df
        frequent = [phrase for phrase in _phrase_forms(results) if phrase.texts >= least]
        columns = sorted(frequent, key=lambda phrase: (-phrase.texts, phrase.name))[: self.max_features]
        if not columns:
            raise SettingError(f"No keyphrases for columns in {len(results):,} texts. Lower min_df, or check them.")
        columns.sort(key=lambda phrase: phrase.name)
        self.feature_names_ = np.array([phrase.name for phrase in columns], dtype=object)
        self.form_columns_: dict[str, dict[str, int]] = {}  # language -> form -> column
        for column, phrase in enumerate(columns):
            for language, form in sorted(phrase.forms):
                self.form_columns_.setdefault(language, {})[form] = column
        return self

    def transform(self, raw_documents: Iterable[str]) -> csr_matrix:
        """How often the phrase of each column occurs in each text."""
        check_is_fitted(self, "feature_names_")
        lookups = [_lookup(language, tuple(forms.items())) for language, forms in self.form_columns_.items()]
        texts = several("raw_documents", raw_documents, "texts")
        rows = [sorted(_counts(lookups, text, n).items()) for n, text in enumerate(texts)]
        starts = np.cumsum([0, *map(len, rows)])
        columns, counts = np.array([*chain(*rows)], dtype=np.int64).reshape(-1, 2).T
        return csr_matrix((counts, columns, starts), shape=(len(rows), len(self.feature_names_)))

    def fit_transform(self, raw_documents: Iterable[str], y: Any = None) -> csr_matrix:
        """Learn the columns, and count them in the same texts."""
        texts = list(several("raw_documents", raw_documents, "texts"))
        return self.fit(texts, y).transform(texts)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:  # noqa: ARG002 (as scikit-learn calls it)
        """The phrase of each column."""
        check_is_fitted(self, "feature_names_")
        return np.array(self.feature_names_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


@lru_cache(maxsize=4)
def _lookup(language: str, forms: tuple[tuple[str, int], ...]) -> Lookup:
    """What finds the phrases of one language in a text, in any inflection, and their columns."""
    columns: dict[tuple[str, ...], int] = {}
    for form, column in forms:
        columns.setdefault(tuple(_inflected(unit, language) for unit, _ in text_units(form)), column)
    index, of_phrase = PhraseIndex(list(columns)), list(columns.values())

    def places(text: str) -> Iterator[tuple[Span, int]]:
        units = list(text_units(text))
        for start, end, phrase in index.places(_inflected(unit, language) for unit, _ in units):
            span = Span(units[start][1].start, units[end - 1][1].end)
            if stands_alone(text, span):
                yield span, of_phrase[phrase]

    return places


def _inflected(unit: str, language: str) -> str:
    """A word without its inflection; a hyphen counts as a space."""
    return " " if unit in " -" else base_form(unit, language)


def _counts(lookups: Iterable[Lookup], text: Any, number: int) -> Counter[int]:
    if not isinstance(text, str):
        raise InputError(f"A text must be a str, but raw_documents[{number}] is {seen(text)}.")
    places = {place for lookup in lookups for place in lookup(text)}  # once, even if two languages have a phrase
    return Counter(column for _, column in places)


@dataclass
class PhraseForms:
    """A phrase in the forms in which it occurs, all in lower case."""

    shown: Counter[str] = field(default_factory=Counter)  # form of the keyphrase -> number of texts
    forms: set[tuple[str, str]] = field(default_factory=set)  # language and form, also of merged variants

    @property
    def texts(self) -> int:
        return self.shown.total()

    @property
    def name(self) -> str:
        return min(self.shown, key=lambda form: (-self.shown[form], form))


def _phrase_forms(results: Iterable[Result]) -> Iterable[PhraseForms]:
    phrases: dict[tuple[str, ...], PhraseForms] = {}
    languages: dict[str, str] = {}  # of each form: that of the first text that has it
    for result in results:
        for keyphrase in result:
            language = languages.setdefault(keyphrase.text.lower(), result.language or "en")
            phrase = phrases.setdefault(variant_key(keyphrase.text, language), PhraseForms())
            phrase.shown[keyphrase.text.lower()] += 1
            phrase.forms.update((language, form.lower()) for form in (keyphrase.text, *keyphrase.variants))
    return phrases.values()
