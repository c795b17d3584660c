"""Calibration by centre, and what a meta-analysis says of it."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit

from calib import (
    BinaryPrediction,
    InputError,
    Predictions,
    calibration_by_centre,
    calibration_slope,
    observed_expected,
)
from calib.answers.risks import random_effects

#: 13 trials of BCG vaccination: cases and others with vaccine, cases and others without (`metafor::dat.bcg`).
BCG = np.array(
    [
        *[[4, 119, 11, 128], [6, 300, 29, 274], [3, 228, 11, 209], [62, 13536, 248, 12619]],
        *[[33, 5036, 47, 5761], [180, 1361, 372, 1079], [8, 2537, 10, 619], [505, 87886, 499, 87892]],
        *[[29, 7470, 45, 7232], [17, 1699, 65, 1600], [186, 50448, 141, 27197], [5, 2493, 3, 2338]],
        [27, 16886, 29, 17825],
    ],
    dtype=float,
)


def test_random_effects_are_metafors():
    """`rma(yi, vi, data=dat, test="knha")` as README.md of github.com/wviechtb/metafor prints it."""
    a, b, c, d = BCG.T
    ratio, variance = np.log(a / (a + b) / (c / (c + d))), 1 / a - 1 / (a + b) + 1 / c - 1 / (c + d)
    mean, lower, upper, low, high, tau = random_effects(ratio, np.sqrt(variance), 0.95)
    assert (mean, lower, upper) == pytest.approx((-0.7145, -1.1084, -0.3206), abs=5e-5)
    assert (tau, tau**2) == pytest.approx((0.5597, 0.3132), abs=5e-5)
    # exp of a t interval of the estimated variance is 0.14 to 1.76 there; this one knows less of the variance
    assert 0.10 < np.exp(low) < 0.14
    assert 1.76 < np.exp(high) < 2.0


def test_variance_maximises_the_restricted_likelihood():
    random = np.random.default_rng(1)
    errors = random.uniform(0.05, 0.3, 9)
    values = random.normal(0, 0.4, 9) + random.normal(0, errors)

    def loss(squared: float) -> float:
        weight = 1 / (errors**2 + squared)
        mean = weight @ values / weight.sum()
        return -np.log(weight).sum() + np.log(weight.sum()) + weight @ (values - mean) ** 2

    best = minimize_scalar(loss, bounds=(0, 2), method="bounded", options={"xatol": 1e-10}).x
    assert random_effects(values, errors, 0.95)[5] ** 2 == pytest.approx(best, abs=1e-6)


def test_values_that_agree_have_no_spread():
    mean, lower, upper, low, high, tau = random_effects(np.full(6, 0.3), np.full(6, 0.1), 0.95)
    assert (mean, tau) == (pytest.approx(0.3), 0.0)
    assert upper - mean == pytest.approx(2.5706 * 0.1 / np.sqrt(6), rel=1e-4)  # as wide as without the method
    assert low <= lower < upper <= high


@pytest.fixture(scope="module")
def hospitals() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    centre = np.repeat(np.arange(5), 1_000)
    p = random.beta(1, 6, 5_000)
    chance = expit(logit(p) + np.array([-0.6, -0.2, 0.0, 0.1, 0.5])[centre])
    return (random.random(5_000) < chance).astype(int), p, np.array(list("ABCDE"))[centre]


def test_each_centre_has_the_numbers_of_its_rows(hospitals):
    y, p, centre = hospitals
    table = calibration_by_centre(y, p, centre).frame().set_index("centre")
    for name in "ABCDE":
        own = centre == name
        line, events = calibration_slope(y[own], p[own]), observed_expected(y[own], p[own])
        found = table.loc[name]
        assert (found["slope"], found["slope_lower"]) == (line.slope, line.slope_lower)
        assert (found["in_the_large"], found["in_the_large_upper"]) == (
            line.in_the_large,
            line.in_the_large_upper,
        )
        assert (found["ratio"], found["observed"], found["count"]) == (events.ratio, y[own].sum(), 1_000)


def test_five_hospitals_have_an_answer_also_as_clusters(hospitals):
    y, p, centre = hospitals
    found = calibration_by_centre(y, p, centre)
    assert [each.key for each in found.across] == ["ratio", "in_the_large", "slope"]
    large, slope = found.across[1:]
    assert 0.2 < large.tau < 0.9
    assert large.new_lower < -0.6 < 0.5 < large.new_upper
    assert slope.lower < 1.0 < slope.upper
    same = calibration_by_centre(BinaryPrediction(p, y).with_cluster(centre), centre=centre)
    assert same.lines == found.lines
    two = calibration_by_centre(Predictions(np.column_stack([1 - p, p]), y), centre=centre)
    assert two.lines == found.lines
    within = calibration_by_centre(y, p, centre, cluster=np.arange(5_000) // 2)
    assert within.across[1].mean == pytest.approx(large.mean, abs=0.02)


def test_few_centres_and_centres_without_events_say_so(hospitals):
    y, p, centre = hospitals
    some = centre < "D"
    few = calibration_by_centre(y[some], p[some], centre[some])
    assert (len(few.centre), few.across) == (3, ())
    none = calibration_by_centre(np.where(centre == "A", 0, y), p, centre)
    assert (none.ratio[0], none.across) == (0.0, ())
    assert none.texts().loc[0, "Slope"] == "\u2013"
    more = np.where((centre == "B") & (np.arange(5_000) % 2 == 0), "F", centre)
    left = calibration_by_centre(np.where(centre == "A", 0, y), p, more)
    assert [each.n_centres for each in left.across] == [5, 5, 5]


def test_centres_must_be_given_for_each_row(hospitals):
    y, p, centre = hospitals
    with pytest.raises(InputError, match="each row needs its centre"):
        calibration_by_centre(y, p)
    with pytest.raises(InputError, match="5,000 rows"):
        calibration_by_centre(y, p, centre[:10])
