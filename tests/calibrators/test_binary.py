"""Isotonic, Platt and beta calibration against hand arithmetic, closed forms and slow implementations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from calib.base.exceptions import InputError
from calib.calibrators.binary import BetaCalibration, IsotonicCalibration, PlattScaling
from calib.calibrators.curves import SCORE_CLIP
from calib.calibrators.spline import SplineCalibration
from calib.calibrators.venn_abers import VennAbersCalibration

ALL = [IsotonicCalibration, PlattScaling, BetaCalibration, VennAbersCalibration, SplineCalibration]
EVERYWHERE = np.concatenate([[0.0, 1e-12], np.linspace(0.01, 0.99, 50), [1.0 - 1e-12, 1.0]])


def simulated(n=400, seed=0, power=2.0):
    random = np.random.default_rng(seed)
    scores = random.random(n)
    return scores, (random.random(n) < scores**power).astype(int)


def pool_adjacent_violators(scores, outcomes):
    """Literal PAVA on the sorted distinct scores: merge neighbours while a mean falls."""
    blocks = [[s, outcomes[scores == s].sum(), (scores == s).sum(), 1] for s in np.unique(scores)]
    at = 0
    while at < len(blocks) - 1:
        if blocks[at][1] / blocks[at][2] > blocks[at + 1][1] / blocks[at + 1][2]:
            after = blocks.pop(at + 1)
            blocks[at] = [blocks[at][0], *(blocks[at][i] + after[i] for i in (1, 2, 3))]
            at = max(at - 1, 0)
        else:
            at += 1
    return np.concatenate([np.full(b[3], b[1] / b[2]) for b in blocks])


def test_isotonic_by_hand():
    # 0, 1, 0, 1 at 0.1, 0.2, 0.3, 0.4: the middle pair falls and is pooled to 1/2. Between the scores the
    # function is linear, so 0.15 gets 1/4; outside it is constant.
    fitted = IsotonicCalibration().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    np.testing.assert_allclose(
        fitted.predict([0.0, 0.1, 0.15, 0.2, 0.3, 0.35, 0.9]), [0, 0, 0.25, 0.5, 0.5, 0.75, 1]
    )


def test_isotonic_pools_equal_scores_first():
    fitted = IsotonicCalibration().fit([0.5, 0.5, 0.5, 0.9], [1, 0, 0, 1])
    np.testing.assert_allclose(fitted.predict([0.5, 0.9]), [1 / 3, 1.0])


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=1, max_size=40))
def test_isotonic_is_literal_pava(rows):
    scores = np.array([row[0] for row in rows]) / 12
    outcomes = np.array([row[1] for row in rows])
    fitted = IsotonicCalibration().fit(scores, outcomes)
    np.testing.assert_allclose(
        fitted.predict(np.unique(scores)), pool_adjacent_violators(scores, outcomes), atol=1e-12
    )


def test_platt_with_two_scores_is_the_mean_corrected_target():
    # Outcomes: 1 of 4 at score 0.3, 3 of 4 at 0.8, so n0 = n1 = 4: the targets are 1/6 and 5/6. A slope and
    # an intercept fit two means exactly: (3/6 + 5/6) / 4 = 1/3 at 0.3 and (1/6 + 15/6) / 4 = 2/3 at 0.8.
    fitted = PlattScaling().fit(np.repeat([0.3, 0.8], 4), [1, 0, 0, 0, 1, 1, 1, 0])
    np.testing.assert_allclose(fitted.predict([0.3, 0.8]), [1 / 3, 2 / 3], rtol=1e-7)


@pytest.mark.parametrize(("outcomes", "expected"), [([1, 1, 1], 4 / 5), ([0, 0, 0], 1 / 5)])
def test_platt_keeps_its_prior_when_outcomes_are_all_alike(outcomes, expected):
    fitted = PlattScaling().fit([0.2, 0.6, 0.9], outcomes)
    np.testing.assert_allclose(fitted.predict(EVERYWHERE), expected, atol=1e-6)


def test_platt_is_stationary():
    scores, outcomes = simulated()
    fitted = PlattScaling().fit(scores, outcomes)
    n1 = outcomes.sum()
    targets = np.where(outcomes == 1, (n1 + 1) / (n1 + 2), 1 / (len(outcomes) - n1 + 2))
    residual = expit(fitted.slope_ * logit(scores) + fitted.intercept_) - targets
    assert abs(residual.mean()) < 1e-8
    assert abs((residual * logit(scores)).mean()) < 1e-8


def test_beta_with_three_scores_is_the_frequency():
    # Three parameters fit three means exactly, as long as a and b come out non-negative.
    scores = np.repeat([0.2, 0.5, 0.8], 10)
    outcomes = np.concatenate([np.arange(10) < k for k in (1, 4, 9)])
    fitted = BetaCalibration().fit(scores, outcomes)
    np.testing.assert_allclose(fitted.predict([0.2, 0.5, 0.8]), [0.1, 0.4, 0.9], rtol=1e-6)
    assert min(fitted.a_, fitted.b_) > 0


def test_beta_recovers_its_own_parameters():
    scores = np.random.default_rng(1).random(400_000)
    true = expit(2.0 * np.log(scores) - 0.5 * np.log1p(-scores) + 0.3)
    fitted = BetaCalibration().fit(scores, np.random.default_rng(2).random(400_000) < true)
    np.testing.assert_allclose([fitted.a_, fitted.b_, fitted.c_], [2.0, 0.5, 0.3], atol=0.03)


@pytest.mark.parametrize(
    "outcome_of",
    [
        lambda s: s**2,
        lambda s: 1 - s,
        lambda s: 0.5 + 0 * s,
        lambda s: np.where(s < 0.5, 0.5 - s, 0.6),  # falls near 0: a at its bound
        lambda s: np.where(s > 0.5, 1.4 - s, 0.1),  # falls near 1: b at its bound
    ],
)
def test_beta_is_the_constrained_optimum(outcome_of):
    random = np.random.default_rng(3)
    scores = random.random(2_000)
    outcomes = random.random(2_000) < outcome_of(scores)

    def loss(theta):
        z = theta[0] * np.log(scores) - theta[1] * np.log1p(-scores) + theta[2]
        return np.mean(np.logaddexp(0, z) - outcomes * z)

    bounded = minimize(loss, [1, 1, 0], method="L-BFGS-B", bounds=[(0, None), (0, None), (None, None)])
    fitted = BetaCalibration().fit(scores, outcomes)
    assert fitted.a_ >= 0
    assert fitted.b_ >= 0
    assert loss([fitted.a_, fitted.b_, fitted.c_]) <= bounded.fun + 1e-7


def test_beta_of_misleading_scores_is_the_base_rate():
    scores, outcomes = simulated()
    fitted = BetaCalibration().fit(scores, 1 - outcomes)
    assert (fitted.a_, fitted.b_) == (0.0, 0.0)
    np.testing.assert_allclose(fitted.predict(EVERYWHERE), 1 - outcomes.mean(), rtol=1e-7)


@pytest.mark.parametrize("calibrator", ALL)
@pytest.mark.parametrize(
    ("scores", "outcomes"),
    [
        ([0.9], [1]),
        ([1.0], [0]),
        ([0.0], [1]),
        ([0.7] * 5, [1, 0, 0, 0, 1]),
        ([0.1, 0.5, 0.9], [1, 1, 1]),
        ([0.1, 0.5, 0.9], [0, 0, 0]),
        ([0.1, 0.4, 0.6, 0.9], [0, 0, 1, 1]),
        ([0.1, 0.4, 0.6, 0.9], [1, 1, 0, 0]),
        ([0.0, 0.0, 1.0, 1.0], [0, 1, 0, 1]),
        ([0.0, 1.0], [0, 1]),
        ([0.0, 1.0], [1, 0]),
        (1.0 - 1e-9 * np.arange(50), np.arange(50) % 2),
        (0.7 + 1e-9 * np.arange(50), np.arange(50) % 2),
    ],
)
def test_degenerate_problems_stay_finite(calibrator, scores, outcomes):
    fitted = calibrator().fit(scores, outcomes)
    predicted = fitted.predict(EVERYWHERE)
    assert predicted.shape == EVERYWHERE.shape
    assert predicted.dtype == np.float64
    assert ((predicted >= 0) & (predicted <= 1)).all()
    assert all(np.isfinite(value).all() for value in vars(fitted).values())


@pytest.mark.parametrize("calibrator", ALL)
def test_constant_scores_give_a_constant(calibrator):
    # 1 of 4: isotonic and beta give the frequency, Platt its corrected mean (4/6 * 1/4... by hand:
    # n1 = 1 -> target 2/3, n0 = 3 -> target 1/5; mean (2/3 + 3/5) / 4 = 19/60), and so does a spline.
    # Venn-Abers below 0.4: p0 = 0 and p1 = 2/5; at 0.4: 1/5 and 2/5; above: 1/5 and 1.
    predicted = calibrator().fit([0.4] * 4, [0, 1, 0, 0]).predict(EVERYWHERE)
    expected = np.full(len(EVERYWHERE), 1 / 4)
    if calibrator in (PlattScaling, SplineCalibration):
        expected[:] = 19 / 60
    elif calibrator is VennAbersCalibration:
        expected = np.select([EVERYWHERE < 0.4, EVERYWHERE == 0.4], [0.4 / 1.4, 0.4 / 1.2], 1 / 1.8)
    np.testing.assert_allclose(predicted, expected, rtol=1e-7)


@pytest.mark.parametrize(
    "calibrator", [IsotonicCalibration, BetaCalibration, VennAbersCalibration, SplineCalibration]
)
@given(seed=st.integers(0, 1000), n=st.integers(1, 60))
def test_no_curve_but_platts_ever_falls(calibrator, seed, n):
    random = np.random.default_rng(seed)
    fitted = calibrator().fit(random.integers(0, 11, n) / 10, random.integers(0, 2, n))
    assert (np.diff(fitted.predict(EVERYWHERE)) >= -1e-12).all()


@pytest.mark.parametrize("calibrator", ALL)
def test_rows_may_come_in_any_order_and_as_booleans(calibrator):
    scores, outcomes = simulated()
    order = np.random.default_rng(5).permutation(len(scores))
    item = calibrator().fit(scores, outcomes).predict(EVERYWHERE)
    other = calibrator().fit(scores[order], outcomes[order].astype(bool)).predict(EVERYWHERE)
    np.testing.assert_allclose(item, other, rtol=1e-10)


@pytest.mark.parametrize("calibrator", ALL)
def test_float32_says_the_same(calibrator):
    scores, outcomes = simulated()
    scores32 = scores.astype(np.float32)
    item = calibrator().fit(scores32, outcomes).predict(scores32)
    other = calibrator().fit(scores32.astype(np.float64), outcomes).predict(scores32.astype(np.float64))
    np.testing.assert_array_equal(item, other)


@pytest.mark.parametrize("calibrator", [PlattScaling, BetaCalibration])
def test_saturated_scores_mean_the_same_in_both_precisions(calibrator):
    # 1 - 1e-9 is 1 in float32.
    scores, outcomes = simulated()
    fitted = calibrator().fit(scores, outcomes)
    assert fitted.predict(np.float32([1 - 1e-9])) == fitted.predict([1 - 1e-9]) == fitted.predict([1.0])
    assert np.float32(1 - 2 * SCORE_CLIP) < 1


@pytest.mark.parametrize("calibrator", ALL)
def test_refusals(calibrator):
    with pytest.raises(NotFittedError):
        calibrator().predict([0.5])
    with pytest.raises(InputError, match="scores must lie in"):
        calibrator().fit([0.5, 1.5], [0, 1])
    with pytest.raises(InputError, match="0 or 1"):
        calibrator().fit([0.5, 0.6], [0, 2])
    with pytest.raises(InputError, match=r"\(2,\)"):
        calibrator().fit([0.5, 0.6], [0])
    with pytest.raises(InputError, match="NaN"):
        clone(calibrator()).fit([0.5, np.nan], [0, 1])
