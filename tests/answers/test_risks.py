"""A validation of P(Y = 1), against what R's packages print for the same rows."""

import numpy as np
import pytest
from scipy.special import expit, ndtri
from sklearn.linear_model import LogisticRegression

from calib import (
    BinaryPrediction,
    InputError,
    Predictions,
    bootstrap_interval,
    calibration_in_the_large,
    conclude,
    corp_curve,
    decision_curve,
    loess_curve,
    observed_expected,
    reduce_to_binary,
    risk,
)


class RGenerator:
    """`set.seed`, `runif` and `rnorm` of R: Mersenne Twister and inversion."""

    def __init__(self, seed: int) -> None:
        words = [seed]
        for _ in range(50 + 625):
            words.append((69069 * words[-1] + 1) % 2**32)
        self._bits = np.random.MT19937()
        state = {"key": np.array(words[-624:], dtype=np.uint32), "pos": 624}
        self._bits.state = {"bit_generator": "MT19937", "state": state}

    def uniform(self, n: int) -> np.ndarray:
        return self._bits.random_raw(n) * 2.3283064365386963e-10

    def normal(self, n: int) -> np.ndarray:
        first, second = self.uniform(2 * n).reshape(n, 2).T
        return ndtri((np.floor(2.0**27 * first) + second) / 2.0**27)


@pytest.fixture(scope="module")
def validated() -> tuple[np.ndarray, np.ndarray]:
    """Outcomes and risks of the README of pmcalibration: set.seed(2345), sim_dat(1000, a1 = -1, a3 = 1)."""
    random = RGenerator(2345)
    x1, x2 = random.normal(1_000), random.normal(1_000)
    assert x1[:3] == pytest.approx([-1.19142464, 0.54930055, -0.06240514], abs=1e-8)
    assert x2[:3] == pytest.approx([-0.9245914, -1.0019698, 1.5438665], abs=1e-7)
    chance = expit(-1.0 + x1 + x2 + x1 * x2)
    rarer = random.uniform(1_000) >= 1.0 - np.minimum(chance, 1.0 - chance)  # rbinom, by inversion
    y = np.where(chance > 0.5, ~rarer, rarer).astype(int)
    assert y[:6].tolist() == [0, 0, 1, 1, 0, 0]
    return y, expit(-1.0 + x1 + x2)


#: `pmcalibration::logistic_cal` and `rms::val.prob` in github.com/stephenrho/pmcalibration, README.md.
PRINTED = {
    "in_the_large": (-0.11, 0.005),
    "slope": (1.062, 0.0005),
    "auc": (0.813, 0.0005),
    "brier": (0.148, 0.0005),
    "e90_loess": (0.073, 0.0005),
    "ici_loess": (0.044, 0.0005),
}


def test_numbers_are_those_that_r_prints(validated):
    found = risk(*validated)
    numbers = {number.key: number for number in found.numbers}
    for key, (value, error) in PRINTED.items():
        assert numbers[key].value == pytest.approx(value, abs=error), key
    assert found.line.intercept == pytest.approx(-0.076, abs=0.0005)
    assert found.line.p_value == pytest.approx(0.277, abs=0.0005)
    assert np.abs(found.loess.frequency - found.loess.score).max() == pytest.approx(0.145, abs=0.0005)  # Emax
    # profile intervals there, Wald's here
    assert (numbers["slope"].lower, numbers["slope"].upper) == pytest.approx((0.91, 1.22), abs=0.006)
    large = numbers["in_the_large"]
    assert (large.lower, large.upper) == pytest.approx((-0.27, 0.046), abs=0.005)


def lowess(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Line by line what R's `lowess(x, y, iter = 0)` does, with windows of n f rows, rounded up."""
    order = np.argsort(x, kind="stable")
    x, y, n = x[order], y[order], len(x)
    size, apart, fitted = int(np.ceil(2 / 3 * n)), 0.01 * (x[-1] - x[0]), np.zeros(n)
    left, last, at = 0, -1, 0
    while last < n - 1:
        while left + size < n and x[at] - x[left] > x[left + size] - x[at]:
            left += 1
        reach = max(x[at] - x[left], x[left + size - 1] - x[at])
        near = np.minimum(np.abs(x - x[at]) / reach, 1)
        mass = (1 - near**3) ** 3
        line = np.polynomial.polynomial.polyfit(x - x[at], y, 1, w=np.sqrt(mass))
        fitted[at] = line[0]
        if last < at - 1:
            part = (x[last + 1 : at] - x[last]) / (x[at] - x[last])
            fitted[last + 1 : at] = part * fitted[at] + (1 - part) * fitted[last]
        last = at
        at = max(last + 1, int(np.searchsorted(x, x[last] + apart, side="right")) - 1)
    return x, fitted


def test_loess_curve_is_local_lines(validated):
    y, p = validated
    curve = loess_curve(y, p)
    score, fitted = lowess(p, y)
    np.testing.assert_array_equal(curve.score, score)
    np.testing.assert_allclose(curve.frequency, fitted, atol=1e-7)
    assert curve.ici == pytest.approx(np.abs(fitted - score).mean(), abs=1e-7)


def test_loess_of_many_scores_is_the_same_curve_in_runs():
    random = np.random.default_rng(0)
    p = random.random(20_000)
    y = random.random(20_000) < p**1.5
    whole, some = loess_curve(y, p), loess_curve(y, np.round(p, 3))
    assert len(whole.score) == 5_000
    assert whole.count.sum() == 20_000
    assert whole.ici == pytest.approx(some.ici, abs=1e-4)


def test_loess_band_is_the_sandwich_of_single_rows_and_of_clusters(validated):
    y, p = validated
    one, copies = loess_curve(y[:200], p[:200]), (np.repeat(y[:200], 3), np.repeat(p[:200], 3))
    together = loess_curve(*copies, cluster=np.repeat(np.arange(200), 3))
    np.testing.assert_allclose(together.frequency, one.frequency, atol=1e-9)
    wider = (together.upper - together.lower) / (one.upper - one.lower)
    few, student = np.sqrt(200 / 199), 1.9720 / 1.9600
    np.testing.assert_allclose(wider, few * student, rtol=2e-3)


def test_a_curve_that_one_score_determines_is_flat():
    curve = loess_curve([0, 1, 1, 0], [0.2, 0.2, 0.2, 0.2])
    assert (curve.score.tolist(), curve.frequency.tolist()) == ([0.2], [0.5])


def test_observed_expected_has_the_linearised_variance(validated):
    y, p = validated
    found = observed_expected(y, p)
    assert (found.observed, found.expected) == pytest.approx((299, p.sum()))
    error = np.sqrt(((y - found.ratio * p) ** 2).sum()) / p.sum()
    assert (found.lower, found.upper) == pytest.approx(
        (found.ratio - 1.96 * error, found.ratio + 1.96 * error), abs=0.004
    )
    nothing = observed_expected(np.zeros(50, int), np.full(50, 0.1))
    assert (nothing.ratio, nothing.lower) == (0.0, 0.0)
    assert nothing.upper == pytest.approx((1 - 0.025 ** (1 / 50)) / 0.1)  # Clopper & Pearson of 0 in 50
    assert np.isnan(observed_expected([1, 0], [0.0, 0.0]).ratio)


def test_in_the_large_makes_expected_events_the_observed_ones(validated):
    y, p = validated
    found = calibration_in_the_large(y, p)
    assert expit(np.log(p / (1 - p)) + found.estimate).sum() == pytest.approx(y.sum(), abs=1e-6)
    peer = LogisticRegression(C=np.inf, tol=1e-10).fit(np.log(p / (1 - p))[:, None], y)
    assert risk(y, p).line.slope == pytest.approx(peer.coef_[0, 0], abs=1e-4)


def test_skill_and_murphys_parts_add_up(validated):
    y, p = validated
    found, base = risk(y, p), y.mean()
    numbers = {number.key: number.value for number in found.numbers}
    assert found.skill.estimate == pytest.approx(1 - ((p - y) ** 2).mean() / (base * (1 - base)))
    parts = numbers["miscalibration"] - numbers["discrimination"] + numbers["uncertainty"]
    assert parts == pytest.approx(numbers["brier"])
    random = np.random.default_rng(0)
    resampled = []
    for _ in range(400):
        rows = random.integers(0, 1_000, 1_000)
        resampled.append(risk_skill(y[rows], p[rows]))
    assert (found.skill.lower, found.skill.upper) == pytest.approx(
        np.quantile(resampled, [0.025, 0.975]), abs=0.015
    )


def risk_skill(y: np.ndarray, p: np.ndarray) -> float:
    return float(1 - ((p - y) ** 2).mean() / (y.mean() * (1 - y.mean())))


def test_two_columns_are_the_second_class_and_three_are_refused(validated):
    y, p = validated
    one = risk(BinaryPrediction(p, y))
    assert risk(Predictions(np.column_stack([1 - p, p]), y)).texts() == one.texts()
    with pytest.raises(InputError, match="one score and an outcome"):
        risk(y, np.column_stack([1 - p, p / 2, p / 2]))
    with pytest.raises(InputError, match="BinaryProblems"):
        risk(reduce_to_binary(y, p))


def test_half_points_are_votes():
    """A draw counts half: of four games one and a half are won."""
    result = np.array([1.0, 0.5, 0.0, 0.0])
    games = BinaryPrediction([0.9, 0.5, 0.4, 0.2]).with_votes(np.column_stack([1 - result, result]))
    found = risk(games)
    assert (found.events.observed, found.events.expected) == pytest.approx((1.5, 2.0))
    assert found.brier.estimate == pytest.approx((0.01 + 0.25 + 0.16 + 0.04) / 4)


def test_numbers_that_rows_do_not_determine_are_missing():
    numbers = {number.key: number for number in risk([0, 0, 0], [0.1, 0.2, 0.3]).numbers}
    for key in ("slope", "in_the_large", "auc", "skill"):
        assert (numbers[key].value, numbers[key].text) == (None, "\u2013"), key
    assert numbers["ratio"].value == 0.0


def test_one_cluster_tells_nothing_about_other_clusters(validated):
    y, p = validated
    found = risk(y, p, cluster=np.zeros(len(y)))
    assert (found.events.lower, found.events.upper) == pytest.approx((0.0, 1.0 / np.mean(p)))
    assert (found.auc.lower, found.auc.upper) == (0.0, 1.0)
    assert (found.brier.lower, found.brier.upper) == (0.0, 2.0)
    assert {number.key: number.text for number in found.numbers}["skill"] == f"{found.skill.estimate:.4f}"
    accuracy = bootstrap_interval(y, p, metric="accuracy", cluster=np.zeros(len(y)))
    assert (accuracy.lower, accuracy.upper) == (0.0, 1.0)
    curve = decision_curve(y, p, thresholds=[0.3], cluster=np.zeros(len(y)))
    assert curve.upper[0] - curve.lower[0] > 0.9
    assert (found.loess.upper - found.loess.lower > 1.9).all()


def test_scores_about_a_single_event_do_not_narrow_its_interval():
    """Two rows whose residuals are 0.01 by chance: without the scores, 1 of 2 is 0.01 to 0.99."""
    found = observed_expected([1, 0], [0.6326, 0.0064])
    assert (found.lower, found.upper) == pytest.approx((0.0126 / 0.3195, 0.9874 / 0.3195), abs=1e-3)


def test_scores_of_1_are_drawn():
    assert np.isfinite(risk([0, 1] * 10, np.ones(20)).plot().data[-2].y[1::3]).all()


def test_curves_draw_what_they_hold(validated):
    found = risk(*validated)
    names = [trace.name for trace in found.plot(event="death").data]
    assert [name.split(":")[0] for name in names[1:3]] == ["loess", "isotonic"]
    drawn = found.plot().data
    np.testing.assert_array_equal(drawn[1].y, found.loess.frequency)
    np.testing.assert_array_equal(corp_curve(*validated).plot().data[0].x, found.isotonic.steps()[0])
    assert found.plot(backend="matplotlib") is not None


def test_conclusion_of_an_event_says_the_same_numbers(validated):
    assert conclude(*validated, n_resamples=20).events.ratio == pytest.approx(risk(*validated).events.ratio)


@pytest.mark.parametrize("digits", [6, 1])
def test_noise_floors_of_distances_are_means_over_perfect_models(digits):
    random = np.random.default_rng(0)
    p = random.beta(2, 5, 600).round(digits).clip(0.05, 0.95)
    floors = risk(random.random(600) < p, p).floors
    drawn = [risk(random.random(600) < p, p) for _ in range(60)]
    for smoother in ("loess", "isotonic"):
        for key in ("ici", "e50", "e90"):
            values = [getattr(getattr(each, smoother), key) for each in drawn]
            error = np.std(values) / np.sqrt(60)
            assert floors[f"{key}_{smoother}"] == pytest.approx(np.mean(values), abs=4 * error)


def test_a_number_of_events_is_whole_for_any_number_of_rows():
    counts = [observed_expected(np.arange(n) < n // 3, np.full(n, 0.3)).observed for n in range(3, 400)]
    assert counts == [n // 3 for n in range(3, 400)]
