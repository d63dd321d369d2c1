import numpy as np

from mudy.methods.mudyplus.evidence.similarity import similarity


def test_cosines_are_standardised() -> None:
    values = similarity(np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([3.0, 0.0]))
    assert values[0] > values[2] > values[1]
    np.testing.assert_allclose([values.mean(), values.std()], [0, 1], atol=1e-12)


def test_one_phrase_equal_phrases_and_empty_vectors_are_in_the_middle() -> None:
    one = np.array([[1.0, 2.0]])
    assert similarity(one, np.array([1.0, 0.0])).tolist() == [0.0]
    assert similarity(np.repeat(one, 3, axis=0), np.array([1.0, 0.0])).tolist() == [0.0] * 3
    assert similarity(np.zeros((2, 2)), np.zeros(2)).tolist() == [0.0, 0.0]
