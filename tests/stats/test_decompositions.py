"""Murphy's identity, by hand and as a property, and the CORP curve."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import xlogy
from sklearn.isotonic import IsotonicRegression

from calib import (
    InputError,
    TopLabelPrediction,
    brier_score,
    corp_curve,
    decomposition,
    log_loss,
    reduce_to_binary,
)

NOTIONS = ["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"]


def test_brier_by_hand():
    """Four rows at 0.5 (1 right) and four at 0.75 (3 right).

    Scores: (1 * 0.25 + 3 * 0.25 + 3 * 0.0625 + 1 * 0.5625) / 8 = 1.75 / 8 = 0.21875.
    Calibration: half the rows are off by 0.25: 0.5 * 0.0625 = 0.03125.
    Refinement: 0.25 * 0.75 = 0.1875 in both cells. Uncertainty: 4 of 8 right, 0.25. Resolution 0.0625.
    """
    top = TopLabelPrediction(np.zeros(8, int), np.repeat([0.5, 0.75], 4))
    terms = decomposition([0, 1, 1, 1, 0, 0, 0, 1], top, notion="confidence")
    assert terms.score == pytest.approx(0.21875)
    assert terms.calibration == pytest.approx(0.03125)
    assert terms.refinement == pytest.approx(0.1875)
    assert terms.uncertainty == pytest.approx(0.25)
    assert terms.resolution == pytest.approx(0.0625)
    assert terms.binning == pytest.approx(0.0, abs=1e-15)
    assert terms.frame()["refinement"][0] == terms.refinement


def test_log_loss_by_hand():
    """The same rows; refinement is the entropy of 1/4 (and of 3/4)."""
    top = TopLabelPrediction(np.zeros(8, int), np.repeat([0.5, 0.75], 4))
    terms = decomposition([0, 1, 1, 1, 0, 0, 0, 1], top, notion="confidence", rule="log_loss")
    entropy = -(0.25 * np.log(0.25) + 0.75 * np.log(0.75))
    assert terms.score == pytest.approx((np.log(2) + entropy) / 2)
    assert terms.refinement == pytest.approx(entropy)
    assert terms.calibration == pytest.approx((np.log(2) - entropy) / 2)
    assert terms.uncertainty == pytest.approx(np.log(2))


@given(st.integers(0, 10**6), st.sampled_from(NOTIONS), st.sampled_from(["uniform", "quantile", "discrete"]))
def test_parts_add_up(seed, notion, strategy):
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.ones(3), 40)
    y = random.integers(0, 3, 40)
    for rule in ("brier", "log_loss"):
        terms = decomposition(y, proba, notion=notion, strategy=strategy, rule=rule, n_bins=5)
        assert terms.score == pytest.approx(terms.calibration + terms.refinement + terms.binning)
        assert terms.refinement == pytest.approx(terms.uncertainty - terms.resolution)
        assert min(terms.calibration, terms.resolution, terms.refinement) >= -1e-12
        if strategy == "discrete":
            assert terms.binning == pytest.approx(0.0, abs=1e-12)


def test_brier_binning_is_the_spread_inside_cells():
    """Stephenson et al. (2008): the remainder is the variance inside cells less twice the covariance."""
    random = np.random.default_rng(0)
    f = random.random(300)
    y = (random.random(300) >= f).astype(int)
    terms = decomposition(y, TopLabelPrediction(np.zeros(300, int), f), notion="confidence", n_bins=5)
    cell = np.minimum((f * 5).astype(int), 4)
    inside = f - np.array([f[cell == c].mean() for c in range(5)])[cell]
    assert terms.binning == pytest.approx(np.mean(inside**2) - 2 * np.mean(inside * (1 - y)))


def test_score_is_the_metric():
    random = np.random.default_rng(1)
    proba = random.dirichlet(np.ones(4), 200)
    y = random.integers(0, 4, 200)
    top = TopLabelPrediction(proba.argmax(axis=1), proba.max(axis=1))
    for notion in ("confidence", "top-label"):
        assert decomposition(y, proba, notion=notion).score == pytest.approx(brier_score(y, top))
        assert decomposition(y, proba, notion=notion, rule="log_loss").score == pytest.approx(
            log_loss(y, top)
        )
    assert decomposition(y, proba, notion="class-wise").score == pytest.approx(brier_score(y, proba) / 4)


def test_top_label_sees_more_of_both():
    """Same score and uncertainty; finer cells find more miscalibration and more resolution."""
    random = np.random.default_rng(2)
    proba = random.dirichlet(np.full(5, 0.3), 2000)
    y = (proba.cumsum(axis=1) < random.random((2000, 1))).sum(axis=1).clip(0, 4)
    pooled, single = (decomposition(y, proba, notion=n) for n in ("confidence", "top-label"))
    assert pooled.uncertainty == pytest.approx(single.uncertainty)
    assert single.calibration >= pooled.calibration
    assert single.resolution >= pooled.resolution


def test_log_loss_of_certain_scores_is_finite():
    top = TopLabelPrediction(np.zeros(4, int), np.array([1.0, 1.0, 0.0, 0.0]))
    terms = decomposition([0, 1, 0, 1], top, notion="confidence", rule="log_loss")
    assert np.isfinite(terms.frame().select_dtypes("number").to_numpy()).all()


def test_corp_is_isotonic_regression():
    random = np.random.default_rng(3)
    f = np.round(random.random(400), 2)  # many ties
    z = random.random(400) < f**2
    problems = reduce_to_binary(1 - z.astype(int), TopLabelPrediction(np.zeros(400, int), f), "confidence")
    curve = corp_curve(problems)
    model = IsotonicRegression().fit(f, z)
    assert curve.frequency == pytest.approx(model.predict(curve.score), abs=1e-9)
    assert curve.count.sum() == 400
    assert np.all(np.diff(curve.frequency) >= 0)
    brier = np.mean((f - z) ** 2)
    inside = np.clip(f, np.finfo(float).eps, 1 - np.finfo(float).eps)
    losses = {"brier": brier, "log_loss": -np.log(np.where(z, inside, 1 - inside)).mean()}
    for rule, score in losses.items():
        terms = getattr(curve, rule)
        assert score == pytest.approx(terms.miscalibration - terms.discrimination + terms.uncertainty)
        assert terms.miscalibration >= 0
        assert terms.discrimination >= 0
    base = z.mean()
    assert curve.log_loss.uncertainty == pytest.approx(-xlogy(base, base) - xlogy(1 - base, 1 - base))
    far = np.sort(np.abs(model.predict(f) - f))  # Austin & Steyerberg (2019), one row at a time
    assert curve.ici == pytest.approx(far.mean())
    assert (curve.e50, curve.e90) == pytest.approx((far[199], far[359]))
    assert len(curve.frame()) == len(np.unique(f))


def test_corp_entropy_is_consistent_with_xlogy():
    """`refinement` of one cell equals the entropy computed with scipy's xlogy."""
    top = TopLabelPrediction(np.zeros(10, int), np.full(10, 0.4))
    terms = decomposition(np.repeat([0, 1], [3, 7]), top, notion="confidence", rule="log_loss")
    assert terms.refinement == pytest.approx(-(xlogy(0.3, 0.3) + xlogy(0.7, 0.7)))


def test_errors():
    problems = reduce_to_binary(
        [0, 1], TopLabelPrediction(np.array([1, 1]), np.array([0.5, 0.6])), "top-label"
    )
    with pytest.raises(InputError, match="problem 0 has no entries"):
        corp_curve(problems, problem=0)
    with pytest.raises(InputError, match='rule must be "brier" or "log_loss"'):
        decomposition([0, 1], [[0.5, 0.5], [0.4, 0.6]], rule="crps")
