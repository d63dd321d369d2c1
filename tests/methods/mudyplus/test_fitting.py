from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize

from mudy.errors import InputError
from mudy.methods.mudyplus import fitting
from mudy.methods.mudyplus.fit_texts import style_directions
from mudy.methods.mudyplus.fitting import (
    Contest,
    Fit,
    Loss,
    Sample,
    fit,
    minimised,
    ranking_weights,
    text_shares,
)
from mudy.methods.mudyplus.weights import Sum, expit


def samples(dataset: str, texts: int, seed: int) -> list[Sample]:
    """Texts whose hits follow the first kind of evidence; the second is noise."""
    random = np.random.default_rng(seed)
    made = []
    for _ in range(texts):
        evidence = random.normal(size=(30, 2))
        hits = random.random(30) < expit(2 * evidence[:, 0] - 1)
        made.append(Sample(dataset, evidence, hits, np.zeros(1)))
    return made


def test_weights_of_a_known_rule_are_found_again_as_log_odds() -> None:
    found = fit(samples("a", 200, 0), ridge=1e-6)
    np.testing.assert_allclose(found.weights, [2, 0], atol=0.15)
    assert found.intercept == pytest.approx(-1, abs=0.15)


def test_a_data_set_weighs_as_the_square_root_of_its_texts() -> None:
    both = samples("a", 40, 0) + samples("b", 10, 1)
    shares = text_shares(both)
    assert sum(shares[:40]) == pytest.approx(2 / 3)
    assert sum(shares) == pytest.approx(1)


def test_a_data_set_can_weigh_less_than_its_texts_say() -> None:
    both = [replace(sample, weight=0.5) for sample in samples("a", 40, 0)] + samples("b", 10, 1)
    assert sum(text_shares(both)[:40]) == pytest.approx(1 / 2)


def test_the_gradient_and_the_hessian_of_surprise_are_those_of_its_differences() -> None:
    contest = Contest.of([sample for sample in samples("a", 5, 0) if sample.tells])
    weights, step = np.array([0.3, -0.2]), 1e-6
    surprise, gradient, curvature = contest.surprise(weights)
    for column in range(2):
        moved = contest.surprise(weights + step * np.eye(2)[column])
        assert gradient[column] == pytest.approx((moved[0] - surprise) / step, abs=1e-5)
        assert curvature[column] == pytest.approx((moved[1] - gradient) / step, abs=1e-5)


def test_the_surprise_of_equal_scores_is_that_of_a_draw() -> None:
    evidence, hits = np.zeros((4, 1)), np.array([True, False, False, False])
    surprise, *_ = Contest.of([Sample("a", evidence, hits, np.zeros(1))]).surprise(np.ones(1))
    assert surprise == pytest.approx(np.log(4))


def test_a_phrase_that_is_worth_three_others_counts_like_three_copies() -> None:
    evidence = np.array([[1.0, 0.2], [0.1, 0.9], [0.4, 0.4], [0.0, 0.3]])
    hits = np.array([True, True, False, False])
    worth = Sample("a", evidence, hits, np.zeros(1), worth=np.array([3.0, 1.0, 1.0, 1.0]))
    copies = Sample("a", evidence[[0, 0, 0, 1, 2, 3]], hits[[0, 0, 0, 1, 2, 3]], np.zeros(1))
    weights = np.array([0.3, -0.7])
    for one, other in zip(Contest.of([worth]).surprise(weights), Contest.of([copies]).surprise(weights), strict=True):
        np.testing.assert_allclose(np.asarray(one), np.asarray(other), atol=1e-12)


def test_a_weight_set_by_hand_stays_in_the_ranking() -> None:
    assert ranking_weights(samples("a", 30, 0), fixed={1: 0.7})[1] == 0.7


def test_texts_of_nearly_one_length_say_little_about_others() -> None:
    made = samples("a", 20, 0)
    for scale in (0.0, 1e-3):
        of_lengths = [Sample(s.dataset, s.evidence, s.hits, np.array([scale * s.hits.mean()])) for s in made]
        assert abs(fit(of_lengths).context_weights[0]) < 1


def test_texts_that_disagree_do_not_turn_a_ranking_over() -> None:
    rows = [
        ([[0.0], [1.0]], [False, True]),
        ([[10.0], [11.0], [12.0]], [False, False, True]),
        ([[-9.0], [-8.0]], [True, True]),
    ]
    made = [Sample("a", np.array(evidence), np.array(hits), np.zeros(1)) for evidence, hits in rows]
    assert fit(made).weights[0] > 0


def test_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="Nothing can be fitted"):
        fit([Sample("a", np.ones((2, 1)), np.zeros(2, dtype=bool), np.zeros(1))])


def test_constant_evidence_has_no_weight() -> None:
    made = [
        Sample(s.dataset, np.column_stack([s.evidence, np.ones(30)]), s.hits, s.context) for s in samples("a", 9, 0)
    ]
    assert fit(made).weights[2] == pytest.approx(0)


def by_scipy(loss: Loss, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least of a loss by scipy's L-BFGS, with which the shipped weights were fitted."""
    search = {"maxiter": 1000, "ftol": 1e-13, "gtol": 1e-9}
    found: NDArray[np.float64] = optimize.minimize(
        lambda weights: loss(weights)[:2], start, jac=True, method="L-BFGS-B", options=search
    ).x
    return found


@pytest.mark.parametrize("fixed", [{}, {0: -2.5, 4: 0.3}])
def test_a_fit_equals_that_of_scipy(fixed: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    rule = random.normal(size=17)
    made = []
    for _ in range(60):  # evidence of very different scales, as that of MUDY+
        evidence = random.normal(size=(40, 17)) * np.logspace(-2, 2, 17)
        hits = random.random(40) < expit(evidence / np.logspace(-2, 2, 17) @ rule - 3)
        made.append(Sample("a", evidence, hits, random.normal(size=2)))
    ours = fit(made, fixed=fixed)
    monkeypatch.setattr(fitting, "minimised", by_scipy)
    theirs = fit(made, fixed=fixed)
    np.testing.assert_allclose(ours.weights, theirs.weights, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(ours.context_weights, theirs.context_weights, atol=1e-6)
    assert ours.intercept == pytest.approx(theirs.intercept, abs=1e-6)


def test_a_fit_of_texts_that_a_rule_parts_without_error_settles() -> None:
    made = [Sample("a", np.array([[1.0], [0.0], [0.0]]), np.array([True, False, False]), np.zeros(1)) for _ in range(4)]
    found = fit(made)
    assert found.log_odds(np.array([[1.0], [0.0]]), np.zeros(1)).round() == pytest.approx([12, -12], abs=3)


def test_a_step_that_overshoots_is_halved() -> None:
    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64], NDArray[np.float64]]:
        """sqrt(1 + w^2): Newton's method alone diverges from where |w| > 1."""
        (weight,) = weights
        length = np.sqrt(1 + weight**2)
        return float(length), np.array([weight / length]), np.array([[length**-3]])

    assert minimised(loss, np.array([3.0]))[0] == pytest.approx(0, abs=1e-8)


def test_weights_that_do_not_settle_raise() -> None:
    with pytest.raises(InputError, match="do not settle"):
        minimised(lambda _: (float("nan"), np.array([np.nan]), np.eye(1)), np.zeros(1))


# -- Priors -----------------------------------------------------------------------------------------------------------


def test_a_strong_ridge_keeps_a_prior_and_a_weak_one_leaves_it() -> None:
    made, prior = samples("a", 40, 0), Fit(np.array([-1.0, 3.0]), np.array([0.5]), -2.0)
    kept, left, alone = fit(made, 1e9, prior=prior), fit(made, 1e-9, prior=prior), fit(made, 1e-9)
    np.testing.assert_allclose(kept.weights, prior.weights, atol=1e-3)
    assert (kept.intercept, kept.context_weights[0]) == pytest.approx((prior.intercept, 0.5), abs=1e-3)
    np.testing.assert_allclose(left.weights, alone.weights, atol=1e-3)


def test_the_pull_of_a_prior_is_in_units_of_what_evidence_varies() -> None:
    made, prior, units = samples("a", 5, 0), Fit(np.array([1.0, 1.0]), np.zeros(1), -1.0), np.array([1.0, 100.0])
    scaled = [replace(sample, evidence=sample.evidence * units) for sample in made]
    moved = fit(scaled, 1.0, prior=replace(prior, weights=prior.weights / units))
    np.testing.assert_allclose(moved.weights * units, fit(made, 1.0, prior=prior).weights, rtol=1e-6)


def test_evidence_that_hardly_varies_in_the_texts_keeps_its_weight() -> None:
    made, prior = samples("a", 5, 0), Fit(np.array([1.0, 1.0]), np.zeros(1), -1.0)
    faint = [replace(sample, evidence=sample.evidence * np.array([1.0, 1e-3])) for sample in made]
    weights = ranking_weights(faint, 1.0, prior=prior.weights)
    assert weights[0] != pytest.approx(1.0, abs=0.01)
    assert weights[1] == pytest.approx(1.0, abs=0.01)


def test_the_minimum_is_that_of_the_penalised_surprise() -> None:
    made, prior = [sample for sample in samples("a", 6, 0) if sample.tells], np.array([0.5, -0.5])
    contest = Contest.of(made)
    scales = np.concatenate([contest.right, contest.wrong]).std(0)

    def loss(weights: NDArray[np.float64]) -> float:
        return contest.surprise(weights)[0] + 0.35 * float((((weights - prior) * scales) ** 2).sum())

    best = optimize.minimize(loss, prior, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    np.testing.assert_allclose(ranking_weights(made, 0.7, prior=prior), best, atol=1e-5)


def test_directions_are_the_covariance_of_the_prior() -> None:
    made, prior = [sample for sample in samples("a", 6, 0) if sample.tells], np.array([0.5, -0.5])
    directions = np.array([[1.0, -2.0], [0.3, 0.1]])
    contest = Contest.of(made)
    scales = np.diag(np.concatenate([contest.right, contest.wrong]).std(0))
    covariance = (np.linalg.inv(scales @ scales) + directions.T @ directions) / 0.7

    def loss(weights: NDArray[np.float64]) -> float:
        change = weights - prior
        return contest.surprise(weights)[0] + float(change @ np.linalg.solve(covariance, change)) / 2

    best = optimize.minimize(loss, prior, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-12}).x
    np.testing.assert_allclose(ranking_weights(made, 0.7, prior=prior, directions=directions), best, atol=1e-5)


def test_weights_move_further_along_a_direction_than_across_it() -> None:
    made, prior = samples("a", 3, 0), np.array([0.0, 0.0])
    stiff = ranking_weights(made, 5.0, prior=prior)
    along = ranking_weights(made, 5.0, prior=prior, directions=np.array([[3.0, 0.0]]))
    across = ranking_weights(made, 5.0, prior=prior, directions=np.array([[0.0, 3.0]]))
    assert along[0] > 1.5 * stiff[0]
    assert across[0] < along[0]


def test_directions_lead_from_a_prior_to_other_styles() -> None:
    prior, same = (Sum({"digit": 1.0, "symbol": 2.0}, {}, intercept) for intercept in (0.0, 1.0))
    other = Sum({"digit": 4.0, "symbol": 0.0, "generic": -1.0}, {}, 0.0)
    names = ("digit", "symbol", "generic")
    np.testing.assert_array_equal(style_directions(prior, [prior, same, other], names), [[3.0, 0.0, -1.0]])
    mean_square = (style_directions(prior, [other, other], names) ** 2).sum(0)
    np.testing.assert_allclose(mean_square, [9.0, 0.0, 1.0])
    assert style_directions(prior, [prior], names).shape == (0, 3)
