"""The vectorizer, with the real scikit-learn."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils import get_tags

from mudy import InputError, SettingError
from mudy.integrations.sklearn import KeyphraseVectorizer
from tests.integrations.texts import PARAGRAPHS

RIVERS = [f"The river dam of town {n} holds the spring flood. A river dam needs repairs." for n in range(6)]
CAKES = [f"The apple cake of baker {n} needs butter. An apple cake with cinnamon smells good." for n in range(6)]


def vectorizer(**settings: object) -> KeyphraseVectorizer:
    return KeyphraseVectorizer(**{"method": "yake", "top_n": 5, **settings})  # type: ignore[arg-type]


def test_the_matrix_counts_whole_words_in_any_casing_and_form() -> None:
    made = vectorizer().fit(["The river dam holds the flood. All the river dams broke.", "Rivers rise."])
    column = list(made.get_feature_names_out()).index("river dam")
    counts = made.transform(["A RIVER DAM, river  dams and riverdams.", "Nothing."])[:, column]
    assert counts.toarray().ravel().tolist() == [2, 0]


def test_inflections_that_no_fitted_text_has_are_counted() -> None:
    made = vectorizer().fit(["The lake is deep. A lake freezes. The lake thaws."])
    column = list(made.get_feature_names_out()).index("lake")
    assert made.transform(["Two lakes, one LAKE, and a lakeside."])[:, column].toarray().ravel().tolist() == [2]


def test_columns_are_merged_by_the_rules_of_their_language() -> None:
    texts = [
        "Die Wärmepumpe heizt das Haus. Eine Wärmepumpe braucht Strom, und die Wärmepumpe ist leise.",
        "Die Wärmepumpen heizen die Häuser. Viele Wärmepumpen brauchen Strom, und Wärmepumpen sind leise.",
    ]
    made = vectorizer(settings={"language": "de"}).fit(texts)
    (column,) = (i for i, name in enumerate(made.get_feature_names_out()) if name.startswith("wärmepumpe"))
    assert made.transform(texts)[:, column].toarray().ravel().tolist() == [3, 3]


def test_a_phrase_of_texts_in_two_languages_is_one_column_and_counted_once() -> None:
    english = vectorizer(top_n=3).fit_transform(["The Internet is old. The Internet grows. Internet."])
    texts = ["The Internet is old. The Internet grows. Internet.", "Das Internet ist alt. Das Internet wächst schnell."]
    made = vectorizer(top_n=3).fit(texts)
    assert made.get_feature_names_out().tolist().count("internet") == 1
    column = list(made.get_feature_names_out()).index("internet")
    assert made.transform(texts)[0, column] == english.max() == 3


@pytest.mark.parametrize("setting", [{"max_features": -1}, {"max_features": 0}, {"min_df": -1}])
def test_limits_below_their_least_value_are_refused(setting: dict[str, int]) -> None:
    with pytest.raises(SettingError, match=next(iter(setting))):
        vectorizer(**setting).fit(RIVERS)


def test_the_matrix_is_sparse_and_in_canonical_order() -> None:
    matrix = vectorizer().fit_transform([*PARAGRAPHS, ""])
    assert isinstance(matrix, csr_matrix)
    assert matrix.has_canonical_format
    assert matrix.shape[0] == len(PARAGRAPHS) + 1
    assert matrix[-1].nnz == 0
    assert matrix.dtype == np.int64


def test_fitting_and_transforming_in_one_step_gives_the_same() -> None:
    matrix = vectorizer().fit_transform(iter(PARAGRAPHS))
    assert (matrix != vectorizer().fit(PARAGRAPHS).transform(iter(PARAGRAPHS))).nnz == 0


def test_columns_are_named_in_alphabetical_order_and_each_stands_in_some_text() -> None:
    made = vectorizer().fit(PARAGRAPHS)
    names = made.get_feature_names_out()
    assert names.dtype == object
    assert names.tolist() == sorted(set(names))
    assert all(made.transform(PARAGRAPHS).sum(axis=0).A1 > 0)


def test_rare_phrases_can_be_left_out_by_number_or_share_and_the_commonest_kept() -> None:
    texts = [*RIVERS, *CAKES[:2]]
    assert "apple cake" not in vectorizer(min_df=3).fit(texts).get_feature_names_out()
    assert "apple cake" not in vectorizer(min_df=0.5).fit(texts).get_feature_names_out()
    assert "apple cake" in vectorizer(min_df=2).fit(texts).get_feature_names_out()
    assert len(vectorizer(max_features=1).fit(texts).get_feature_names_out()) == 1


def test_a_clone_has_the_same_parameters_and_is_not_fitted() -> None:
    made = vectorizer(settings={"window": 2}, min_df=2).fit(RIVERS)
    copy = clone(made)
    assert copy.get_params() == made.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(RIVERS)
    with pytest.raises(NotFittedError):
        copy.get_feature_names_out()


def test_a_fitted_vectorizer_can_be_pickled() -> None:
    made = vectorizer().fit(RIVERS)
    assert (pickle.loads(pickle.dumps(made)).transform(RIVERS) != made.transform(RIVERS)).nnz == 0


def test_a_pipeline_learns_from_keyphrases() -> None:
    pipeline = make_pipeline(vectorizer(), TfidfTransformer(), LogisticRegression())
    pipeline.fit([*RIVERS[:5], *CAKES[:5]], ["river"] * 5 + ["cake"] * 5)
    assert pipeline.predict([RIVERS[5], CAKES[5]]).tolist() == ["river", "cake"]


def test_a_grid_search_varies_its_parameters() -> None:
    pipeline = make_pipeline(vectorizer(), LogisticRegression())
    grid = {"keyphrasevectorizer__top_n": [1, 5], "keyphrasevectorizer__method": ["yake", "textrank"]}
    search = GridSearchCV(pipeline, grid, cv=2).fit([*RIVERS, *CAKES], ["river"] * 6 + ["cake"] * 6)
    assert search.best_score_ == 1.0
    assert len(search.cv_results_["params"]) == 4


def test_tags_say_that_texts_come_in() -> None:
    tags = get_tags(vectorizer()).input_tags
    assert (tags.string, tags.two_d_array) == (True, False)


def test_bad_input_raises() -> None:
    with pytest.raises(InputError, match="Put it in a list"):
        vectorizer().fit("one text")
    with pytest.raises(InputError, match=r"A text must be a str, but raw_documents\[0\] is None"):
        vectorizer().fit(RIVERS).transform([None])  # type: ignore[list-item]
    with pytest.raises(SettingError, match="No keyphrases for columns in 2 texts"):
        vectorizer().fit(["", "and of the"])
    with pytest.raises(SettingError, match="Unknown method"):
        vectorizer(method="yakke").fit(RIVERS)
