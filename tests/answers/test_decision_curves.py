"""Net benefit with intervals: printed numbers of dcurves, hand arithmetic, weights, clusters and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import beta

from benchmarks.events import benefits
from benchmarks.simulation import means
from calib import InputError, decision_curve
from calib.answers import benefit_difference
from calib.answers.decision_curves import cost_thresholds

#: dcurves 1.1 for R, `dca(cancer ~ famhistory, df_binary)`: 750 patients, 105 with cancer, 115 with a family
#: history, 24 of them with cancer. Net benefit by threshold, of family history and of treating all.
DCURVES = {
    0.05: (0.025614035087719297, 0.09473684210526317),
    0.10: (0.018518518518518517, 0.04444444444444445),
    0.20: (0.0016666666666666635, -0.07499999999999998),
    0.35: (-0.033333333333333354, -0.32307692307692315),
}
HISTORY = np.repeat([1.0, 1.0, 0.0, 0.0], [24, 91, 81, 554])
CANCER = np.repeat([1, 0, 1, 0], [24, 91, 81, 554])
RANDOM = np.random.default_rng(0)
P = RANDOM.beta(1.0, 6.0, 800)
Y = (RANDOM.random(800) < P).astype(int)


def test_net_benefit_is_the_one_that_dcurves_prints():
    curve = decision_curve(CANCER, HISTORY, thresholds=list(DCURVES))
    for place, (model, everyone) in enumerate(DCURVES.values()):
        assert curve.model[place] == pytest.approx(model, abs=1e-12)
        assert curve.everyone[place] == pytest.approx(everyone, abs=1e-12)
    # 0.1: (0.0185185 - 0.0444444) * 0.9 / 0.1; 105 of 750 have the event
    assert curve.avoided[1] == pytest.approx(-0.2333333, abs=1e-6)
    assert curve.standardised[1] == pytest.approx(0.0185185 / 0.14, abs=1e-6)


def test_avoided_actions_have_the_interval_of_the_benefit_of_leaving_rows():
    """Rows are left at P(Y = 0) above 1 - t, which costs a missed event for (1 - t) / t actions."""
    for options in ({}, {"cluster": np.arange(800) // 4}, {"sample_weight": 1.0 + P}):
        curve = decision_curve(Y, P, thresholds=[0.1, 0.3], **options)
        left = decision_curve(1 - Y, 1.0 - P, thresholds=[0.9, 0.7], **options)
        for found, expected in (("avoided", "model"), ("avoided_lower", "lower"), ("avoided_upper", "upper")):
            assert getattr(curve, found) == pytest.approx(getattr(left, expected))


def test_the_interval_combines_both_shares_by_hand():
    """MOVER of Jeffreys limits of 24 and 91 of 750; the correlation of two shares of a multinomial."""
    curve, odds = decision_curve(CANCER, HISTORY, thresholds=[0.2]), 0.25
    h, f = 24 / 750, 91 / 750
    ends = [beta.ppf(q, k + 0.5, 750 - k + 0.5) for k in (24, 91) for q in (0.025, 0.975)]
    r = -np.sqrt(h * f / ((1 - h) * (1 - f)))
    s, t = h - ends[0], odds * (ends[3] - f)
    assert curve.lower[0] == pytest.approx(h - odds * f - np.sqrt(s * s + t * t - 2 * r * s * t))


def test_one_light_needless_action_does_not_show_that_they_are_light():
    """60 rows: 20 hits and 39 rows below of weight 1, one needless action of weight 0.05.

    Shares have Jeffreys limits of effective rows, in whose variance -log(0.025) rows of the average weight
    count as seen.
    """
    y, score = np.repeat([1, 0], [20, 40]), np.repeat([0.9, 0.1, 0.9], [20, 39, 1])
    weights = np.append(np.ones(59), 0.05)
    curve, share = decision_curve(y, score, thresholds=[0.5], sample_weight=weights), weights / 59.05
    n, more, ends, away = 59.05**2 / (59 + 0.05**2), -np.log(0.025), [], []
    for hit in (y == 1, (y == 0) & (score > 0.5)):
        p = share @ hit
        away.append(share * (hit - p))
        u = away[-1] @ away[-1] / (p * (1 - p))
        seen = min(p, 1 - p)
        rows = min(1 / u, (seen + more / n) / (seen * u + more / n**2))
        ends += [p, *(beta.ppf(q, p * rows + 0.5, (1 - p) * rows + 0.5) for q in (0.025, 0.975))]
    h, _, h_high, f, f_low, f_high = ends
    r = away[0] @ away[1] / np.sqrt((away[0] @ away[0]) * (away[1] @ away[1]))
    s, t = h - ends[1], f_high - f
    assert curve.lower[0] == pytest.approx(h - f - np.sqrt(s * s + t * t - 2 * r * s * t))
    s, t = h_high - h, f - f_low
    assert curve.upper[0] == pytest.approx(h - f + np.sqrt(s * s + t * t - 2 * r * s * t))
    assert f_high > 0.03  # 1 of 60 equal rows: 0.075; the light row's variance alone: 0.003


def test_a_threshold_without_needless_actions_has_an_interval():
    curve = decision_curve([1, 1, 0, 0, 0], [0.95, 0.92, 0.3, 0.2, 0.1], thresholds=[0.9])
    assert curve.model[0] == pytest.approx(0.4)
    assert curve.lower[0] < 0.0 < curve.model[0] < curve.upper[0]


def test_clusters_of_copies_are_as_wide_as_the_rows():
    at = {"thresholds": [0.1, 0.3]}
    alone = decision_curve(Y, P, **at)
    copied = decision_curve(np.repeat(Y, 4), np.repeat(P, 4), cluster=np.repeat(np.arange(800), 4), **at)
    np.testing.assert_allclose(copied.lower, alone.lower, atol=2e-4)
    np.testing.assert_allclose(copied.upper, alone.upper, atol=2e-4)


def test_a_difference_is_paired_by_rows():
    worse = np.clip(P + 0.1 * RANDOM.standard_normal(800), 0.0, 1.0)
    change = benefit_difference(Y, P, worse, thresholds=[0.2, 0.3])
    both = [decision_curve(Y, p, thresholds=[0.2, 0.3]) for p in (P, worse)]
    np.testing.assert_allclose(change.difference, both[1].model - both[0].model)
    assert (change.upper - change.lower < both[1].upper - both[1].lower).all()
    same = benefit_difference(Y, P, P, thresholds=[0.2])
    assert same.difference[0] == 0.0
    assert same.lower[0] < 0.0 < same.upper[0]
    with pytest.raises(InputError, match="thresholds"):
        benefit_difference(Y, P, worse, thresholds=[1.0])


def test_intervals_hold_the_truth_in_95_of_100_draws():
    """Binomial(80, 0.05) is above 10 once in 500."""
    found = means(benefits(0.2, 300, 1), 80)
    assert found["coverage (95 %)"] >= 70 / 80
    assert found["avoided, coverage (95 %)"] >= 70 / 80
    assert found["difference, coverage (95 %)"] >= 70 / 80


def test_without_events_there_is_no_standardised_benefit():
    curve = decision_curve(np.zeros(20), np.linspace(0.1, 0.9, 20), thresholds=[0.5])
    assert np.isnan(curve.standardised).all()
    assert curve.frame()["model"].iloc[0] < 0.0


def test_a_row_whose_missed_event_costs_nothing_is_never_acted_on():
    """Amounts of 0, 10 and 100, and an action that costs 5: thresholds of infinity, 0.5 and 0.05."""
    costs = np.array([[[0.0, 5.0], [amount, 5.0]] for amount in (0.0, 10.0, 100.0)])
    assert cost_thresholds(costs).tolist() == [np.inf, 0.5, 0.05]
