"""Theorems 1 and 2: the formulas by hand, the inverse, the card, and the promise kept in simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from sklearn.base import BaseEstimator

from benchmarks.promises import STATEMENTS, TRUTHS, cards, groups
from benchmarks.simulation import means
from calib import HistogramBinning, InputError, MulticlassToBinary, Predictions, guarantee, guarantee_card
from calib.answers import multinomial_bound, points_needed, theorems
from calib.answers.guarantee_cards import CUTS
from calib.answers.theorems import DEVIATION, error_bound, largest_exponent, mass_bound
from calib.files.saved import dumps, loads


def test_theorem_1_by_hand():
    """k = 51, alpha = 0.1: 2 (k - 1) = 100, log 20 = 2.995732, sqrt(0.02995732) = 0.173082."""
    promise = guarantee(points_per_bin=51, n_samples=5100, alpha=0.1, delta=0.0)
    assert promise.marginal == pytest.approx(0.1730818, abs=1e-7)
    # 2 n / (k alpha) = 2000, log 2000 = 7.600902, sqrt(0.07600902) = 0.2756974
    assert promise.conditional == pytest.approx(0.2756974, abs=1e-7)
    assert promise.expected_ece == pytest.approx(math.sqrt(1 / 102))


def test_delta_is_added():
    with_delta = guarantee(points_per_bin=51, n_samples=5100, delta=0.01)
    without = guarantee(points_per_bin=51, n_samples=5100, delta=0.0)
    for name in ("marginal", "conditional", "expected_ece"):
        assert getattr(with_delta, name) == pytest.approx(getattr(without, name) + 0.01)


@given(st.integers(2, 2000), st.integers(1, 50), st.floats(0.001, 0.999))
def test_monotone(k, bins, alpha):
    promise = guarantee(points_per_bin=k, n_samples=k * bins, alpha=alpha)
    more = guarantee(points_per_bin=k + 1, n_samples=(k + 1) * bins, alpha=alpha)
    assert promise.conditional >= promise.marginal
    assert more.marginal < promise.marginal
    assert more.expected_ece < promise.expected_ece


@given(st.floats(0.002, 0.45))
def test_points_needed_inverts_the_bound(target):
    assert points_needed(0.1) == 50
    k = points_needed(target)
    assert math.sqrt(1 / (2 * k)) <= target * (1 + 1e-9)
    assert k == 2 or math.sqrt(1 / (2 * (k - 1))) > target


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"points_per_bin": 1, "n_samples": 10},
            "must be a whole number of at least 2; got 1",
        ),
        ({"points_per_bin": 50, "n_samples": 10}, "got 10 rows for bins of 50"),
        ({"points_per_bin": 5, "n_samples": 10, "alpha": 1.0}, r"alpha must be inside \(0, 1\)"),
        ({"points_per_bin": 5, "n_samples": 10, "delta": -1.0}, "delta must be a finite number, 0 or more"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        guarantee(**arguments)
    with pytest.raises(InputError, match="expected_ece must be inside"):
        points_needed(0.0)


def rows_of(counts, seed=0):
    """Predictions with `counts[l]` rows predicted l, confidences in (0.5, 1) and labels drawn from them."""
    random = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(counts)), counts)
    confidence = 0.5 + 0.5 * random.random(len(label))
    proba = np.repeat(((1 - confidence) / (len(counts) - 1))[:, None], len(counts), axis=1)
    proba[np.arange(len(label)), label] = confidence
    wrong = (label + 1) % len(counts)
    return proba, np.where(random.random(len(label)) < confidence, label, wrong)


def test_card_by_hand():
    """k = 100: class 0 has 250 rows in 2 bins of 125, class 1 183 rows in 1 bin, class 2 fell back."""
    proba, y = rows_of([250, 183, 40])
    model = MulticlassToBinary(HistogramBinning(points_per_bin=100)).fit(proba, y)
    card = guarantee_card(model, alpha=0.1)
    assert card.applies
    assert card.n_points.tolist() == [250, 183, 40]
    assert card.n_bins.tolist() == [2, 1, 0]
    assert card.points_per_bin.tolist() == [125, 183, 0]
    assert card.marginal[0] == pytest.approx(math.sqrt(math.log(20) / (2 * 124)))
    assert card.conditional[1] == pytest.approx(math.sqrt(math.log(2 * 3 / 0.1) / (2 * 182)))
    assert card.expected_ece[0] == pytest.approx(math.sqrt(1 / 250))
    assert np.isnan(card.marginal[2])
    assert card.covered == pytest.approx(433 / 473)
    assert card.worst_marginal == card.marginal[0]
    promise = guarantee(points_per_bin=100, n_samples=473)
    assert card.worst_conditional <= promise.conditional
    assert card.worst_expected_ece <= promise.expected_ece
    assert len(card.frame()) == 3
    first, second = card.promises()
    assert (first.epsilon, first.share) == (card.worst_marginal, 0.9)
    assert (second.epsilon, second.share) == (card.worst_conditional, 1.0)
    words = card.words("**{}**")
    for bound in (card.worst_marginal, card.worst_conditional, card.worst_reach, card.worst_expected_ece):
        assert f"**{bound:.3f}**" in words
    for phrase in ("at least 90%", "Theorem 1", "91.5% of the calibration rows"):
        assert phrase in words
    assert "for every calibrated value at once" in words
    assert card.assumptions[3:] == (CUTS,)


def test_intervals_of_the_bins_by_hand():
    """40 rows in two bins of 20 with 3 and 20 successes, alpha 0.1: each end at 0.1 / 2 / 2 = 0.025."""
    scores = np.arange(40) / 100 + 0.55
    right = np.concatenate([np.repeat([True, False], [3, 17]), np.ones(20, dtype=bool)])
    rows = np.column_stack([scores, 1 - scores]), np.where(right, 0, 1)
    on_rows = MulticlassToBinary(HistogramBinning(points_per_bin=20), notion="confidence")
    bins = guarantee_card(on_rows.fit(*rows), alpha=0.1).bins
    assert binom.sf(2, 20, bins.lower[0]) == pytest.approx(0.025)  # P(3 or more of 20)
    assert binom.cdf(3, 20, bins.upper[0]) == pytest.approx(0.025)
    assert binom.pmf(19, 19, bins.lower[1]) == pytest.approx(0.025)  # the edge is left out
    # Halfway edges: the lower end leaves one success out, the upper end one failure, of 19 rows each.
    model = MulticlassToBinary(HistogramBinning(n_bins=2), notion="confidence")
    card = guarantee_card(model.fit(*rows), alpha=0.1)
    bins = card.bins
    assert bins.value == pytest.approx([0.15, 1.0])
    assert bins.count.tolist() == [20, 20]
    assert binom.sf(1, 19, bins.lower[0]) == pytest.approx(0.025)  # P(2 or more of 19)
    assert binom.cdf(3, 19, bins.upper[0]) == pytest.approx(0.025)
    assert binom.pmf(19, 19, bins.lower[1]) == pytest.approx(0.025)
    assert bins.upper[1] == 1.0
    assert (
        card.reach[0]
        == card.worst_reach
        == max(bins.upper[0] - 0.15, 0.15 - bins.lower[0], 1 - bins.lower[1])
    )
    assert card.worst_reach < card.worst_conditional
    assert len(bins.frame()) == 2


@pytest.mark.parametrize(("place", "k"), [(1, 50), (6, 20)])
def test_statements_fail_no_more_often_than_they_say(place, k):
    """100 draws of 500 rows: a rate of 10 % has a standard error of 3 %."""
    found = means(cards([*TRUTHS][place], k, 500), 100)
    intervals, eps_2, eps_1, error = (found[name] for name in STATEMENTS)
    assert intervals <= 0.1 + 0.06
    assert eps_2 <= intervals
    assert eps_1 <= 0.1
    assert error <= 1.0
    assert found["reach / eps_2"] < 1.0


@pytest.mark.parametrize("cells", ["3 classes, 4 groups, 10 to 1", "2 classes, 2 groups, ties"])
def test_statements_fail_no_more_often_than_they_say_over_all_classes_and_groups(cells):
    """60 draws of 1,000 rows: a rate of 10 % has a standard error of 4 %."""
    found = means(groups(cells, 20, 1_000), 60)
    intervals, eps_2, eps_1, error = (found[name] for name in STATEMENTS)
    assert 0.7 < found["covered"] <= 1.0
    assert intervals <= 0.1 + 0.08
    assert eps_2 <= intervals
    assert eps_1 <= 0.1
    assert error <= 1.0


@pytest.mark.parametrize(
    ("notion", "alpha", "words"),
    [
        ("class-wise", 0.1, "of one class at once"),
        (
            "class-wise",
            0.1,
            "For all 3 classes at once the chances of failure add up to 30%, so it holds with",
        ),
        ("class-wise", 0.4, "add up to 120%, which promises nothing"),
        ("top-k-label", 0.1, "of one rank at once"),
        ("top-k-confidence", 0.05, "For all 3 ranks at once the chances of failure add up to 15%"),
    ],
)
def test_card_says_which_values_it_is_about_at_once(notion, alpha, words):
    proba, y = rows_of([300, 200, 100])
    model = MulticlassToBinary(HistogramBinning(points_per_bin=20), notion=notion).fit(proba, y)
    assert words in guarantee_card(model, alpha).words()


def test_bound_is_void_where_equal_scores_were_spread_over_bins():
    """Class 0 has 10 distinct scores for 300 rows, class 1 none twice."""
    proba, y = rows_of([300, 200])
    proba[:300] = np.round(proba[:300], 1)
    randomized = HistogramBinning(points_per_bin=20, ties="randomize", random_state=0)
    model = MulticlassToBinary(randomized).fit(proba, y)
    card = guarantee_card(model)
    assert card.void.tolist() == [True, False]
    assert np.isnan(card.marginal[0])
    assert np.isnan(card.reach[0])
    assert card.conditional[1] == pytest.approx(math.sqrt(math.log(2 * 10 / 0.1) / 38), abs=1e-9)
    assert set(card.bins.problem) == {1}
    assert "For 1 of 2 problems" in card.words()
    assert "void for these data" in card.words()
    tied = guarantee_card(model.fit(np.round(proba, 1), y))
    assert not tied.applies
    assert "void for these data" in tied.words()
    assert guarantee_card(MulticlassToBinary(HistogramBinning(points_per_bin=20)).fit(proba, y)).applies


def test_loaded_card_is_that_of_the_fitted_calibrator():
    proba, y = rows_of([300, 200])
    for ties in ("group", "randomize"):
        for scores in (proba, np.round(proba, 1)):
            model = MulticlassToBinary(HistogramBinning(points_per_bin=20, ties=ties, random_state=0))
            fresh, loaded = (guarantee_card(m) for m in (model.fit(scores, y), loads(dumps(model))))
            assert fresh.words() == loaded.words()
            assert fresh.assumptions == loaded.assumptions
            np.testing.assert_array_equal(fresh.bins.lower, loaded.bins.lower)


@pytest.mark.parametrize("notion", ["top-label", "class-wise"])
def test_nothing_is_guaranteed_for_rows_that_belong_together(notion):
    proba, y = rows_of([300, 200])
    patient = np.arange(len(y)) // 5
    model = MulticlassToBinary(HistogramBinning(points_per_bin=20), notion=notion)
    for rows in ((Predictions(proba, cluster=patient), y), (np.repeat(proba, 3, 0), np.repeat(y, 3))):
        clusters = len(np.unique(patient)) if len(y) == len(rows[1]) else len(y)
        fitted = model.fit(*rows)
        assert (fitted.n_clusters_, loads(dumps(fitted)).fitted_on_.n_clusters) == (clusters, clusters)
        assert not guarantee_card(fitted).applies
        assert not guarantee_card(loads(dumps(fitted))).applies
    assert guarantee_card(model.fit(proba, y)).applies


def test_files_that_do_not_say_leave_ties_an_assumption():
    model = MulticlassToBinary(HistogramBinning(points_per_bin=20, ties="randomize", random_state=0))
    model.fit(*rows_of([300, 200]))
    assert guarantee_card(model).assumptions[-1] == CUTS
    for fitted in model.calibrators_:
        fitted.misplaced_ = fitted.left_out_ = None
    old = loads(dumps(model))
    assert b"misplaced_" not in dumps(old)
    card = guarantee_card(old)
    assert "does not record" in card.assumptions[-1]
    assert math.isnan(card.error_bound)


def test_card_of_class_wise_is_theorem_2():
    proba, y = rows_of([300, 200, 100])
    model = MulticlassToBinary(
        HistogramBinning(points_per_bin=50, ties="randomize", random_state=0), notion="class-wise"
    ).fit(proba, y)
    card = guarantee_card(model)
    theorem = guarantee(points_per_bin=50, n_samples=600)
    assert card.n_bins.tolist() == [12, 12, 12]
    assert card.marginal == pytest.approx(theorem.marginal)
    assert card.conditional == pytest.approx(theorem.conditional)
    assert len(card.assumptions) == 4
    assert "before looking" in card.assumptions[2]
    assert "divided among" in guarantee_card(model, choices=5).assumptions[2]
    assert card.assumptions[-1] == CUTS


@pytest.mark.parametrize("notion", ["confidence", "top-k-confidence", "top-k-label"])
def test_card_of_other_notions(notion):
    proba, y = rows_of([300, 200, 100])
    card = guarantee_card(MulticlassToBinary(notion=notion).fit(proba, y))
    n_problems = {"confidence": 1, "top-k-confidence": 3, "top-k-label": 9}[notion]
    assert len(card.problem) == n_problems
    assert card.label.tolist() == ([0, 1, 2] * 3 if notion == "top-k-label" else [-1] * n_problems)
    assert card.applies


class Shrink(BaseEstimator):
    """A binary calibrator without a guarantee."""

    def fit(self, scores, outcomes):
        return self

    def predict(self, scores):
        return 0.9 * scores


def test_card_without_guarantee_says_why():
    proba, y = rows_of([100, 100])
    shrunk = guarantee_card(MulticlassToBinary(Shrink()).fit(proba, y))
    normalised = guarantee_card(MulticlassToBinary(notion="class-wise", normalize=True).fit(proba, y))
    few = guarantee_card(MulticlassToBinary(HistogramBinning(points_per_bin=500)).fit(proba, y))
    for card, reason in [
        (shrunk, "Shrink has no"),
        (normalised, "normalising"),
        (few, "no class has enough"),
    ]:
        assert not card.applies
        assert reason in card.why_not
        assert reason in card.words()
        assert card.promises() == []
        assert np.isnan(card.marginal).all()
        assert math.isnan(card.worst_conditional)


@pytest.mark.parametrize("ties", ["group", "randomize"])
def test_the_promise_is_kept(ties):
    """Over many calibration sets, |true - predicted| <= eps as often as Theorem 1 says.

    Class 0: P(Y = 0 | s) = s^2, class 1: P(Y = 1 | s) = sqrt(s), s uniform on (0.5, 1). The true
    probability of a bin [a, b) is the mean of that function over it.
    """
    random = np.random.default_rng(0)
    truth = (lambda s: s**3 / 3, lambda s: s**1.5 / 1.5)  # integrals of s^2 and sqrt(s)
    alpha, k, n = 0.1, 20, 400
    promise = guarantee(points_per_bin=k, n_samples=n, alpha=alpha)
    marginal, conditional, errors, squares = [], [], [], []
    for _ in range(300):
        confidence = 0.5 + 0.5 * random.random(n)
        label = random.integers(0, 2, n)
        right = random.random(n) < np.where(label == 0, confidence**2, np.sqrt(confidence))
        proba = np.stack([1 - confidence, confidence], axis=1)
        proba[label == 0] = proba[label == 0, ::-1]
        model = MulticlassToBinary(HistogramBinning(points_per_bin=k, ties=ties, random_state=random))
        model.fit(proba, np.where(right, label, 1 - label))
        gaps, masses = [], []
        for fitted, integral in zip(model.calibrators_, truth, strict=True):
            edges = np.concatenate(([0.5], fitted.edges_, [1.0]))
            true = np.diff(integral(edges)) / np.diff(edges)
            gaps.append(np.abs(true - fitted.values_))
            masses.append(np.diff(edges))  # share of the class's new rows, half of all each
        gap, mass = np.concatenate(gaps), np.concatenate(masses)
        marginal.append(mass[gap <= promise.marginal].sum())
        conditional.append(gap.max() <= promise.conditional)
        errors.append(mass @ gap)
        squares.append(np.sqrt(mass @ gap**2))
    assert np.mean(marginal) >= 1 - alpha
    assert np.mean(conditional) >= 1 - alpha
    assert np.mean(errors) <= np.mean(squares) <= promise.expected_ece


def test_multinomial_bound():
    # n = 1000, L = 3, alpha = 0.1: sqrt(2 (3 log 2 + log 10) / 1000) = sqrt(2 * 4.38203 / 1000)
    np.testing.assert_allclose(multinomial_bound([1000, 1, 0], 3), [0.0936162, 2.0, 2.0], atol=1e-6)
    with pytest.raises(InputError, match="alpha must be inside"):
        multinomial_bound([5], 3, alpha=0)


def test_multinomial_bound_holds_as_often_as_promised():
    rng = np.random.default_rng(0)
    p = np.array([0.6, 0.3, 0.1])
    frequencies = rng.multinomial(200, p, size=4000) / 200
    radius = multinomial_bound([200], 3, alpha=0.5)[0]
    assert (np.abs(frequencies - p).sum(axis=1) <= radius).mean() >= 0.5


def test_a_choice_by_the_labels_divides_alpha():
    random = np.random.default_rng(3)
    proba = random.dirichlet(np.ones(3), 400)
    model = MulticlassToBinary(HistogramBinning(points_per_bin=25)).fit(proba, random.integers(0, 3, 400))
    chosen, fixed = guarantee_card(model, 0.1, choices=5), guarantee_card(model, 0.02)
    for name in ("marginal", "conditional", "reach", "expected_ece"):
        np.testing.assert_array_equal(getattr(chosen, name), getattr(fixed, name))
    assert "at least 90%" in chosen.words()
    assert "chosen by the same labels among 5 calibrators" in chosen.words()
    assert "chosen" not in fixed.words()
    with pytest.raises(InputError, match="choices"):
        guarantee_card(model, choices=0)


def concave(points, values, at):
    """Least concave function above some points, by all pairs of them."""
    left, right = points <= at, points >= at
    a, b = points[left][:, None], points[right][None, :]
    share = np.divide(at - a, b - a, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > a)
    return float(((1 - share) * values[left][:, None] + share * values[right][None, :]).max())


@pytest.mark.parametrize("m", [1, 2, 7, 49])
@pytest.mark.parametrize("rate", [0.5, 0.37, 0.9, 1.0])
def test_exponents_and_mean_deviations_by_brute_force(m, rate):
    """Lam_m(s, p) of all outcomes and all pairs of probabilities, and D_m(p), its slope at s = 0."""
    points = np.linspace(0.0, 1.0, 501)
    chances = binom.pmf(np.arange(m + 1), m, points[:, None])
    away = np.abs(np.arange(m + 1) / m - points[:, None])
    for s in (0.5, 4.0, 15.0):
        brute = concave(points, np.log((chances * np.exp(s * away)).sum(axis=1)), rate)
        ratio = math.exp(s / m)
        most = (s + m * ratio * (ratio - 1)) * 0.5 / 2**11 / 2  # half a step of the grid, and its slope
        assert -1e-9 <= largest_exponent(s, [rate], m)[0] - brute <= most + 0.002 * s
    deviation = concave(points, (chances * away).sum(axis=1), rate)
    assert largest_exponent(1e-4, [rate], m)[0] / 1e-4 == pytest.approx(deviation, abs=0.003)
    assert deviation <= math.sqrt(rate * (1 - rate) / m) + 1e-9


@pytest.mark.parametrize(("m", "n", "alpha"), [(1, 2, 0.1), (49, 5000, 1e-7), (99, 100, 0.3)])
def test_mass_of_a_cell_is_a_sum_of_spacings(m, n, alpha):
    """A sum of m + 1 spacings is above u if at most m of n uniform numbers are below u."""
    assert binom.cdf(m, n, mass_bound(m, n, alpha)) == pytest.approx(alpha, rel=1e-6)
    assert mass_bound(m, m, alpha) == 1.0


@pytest.mark.parametrize("alpha", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("m", [2, 10, 60])
def test_the_mean_error_of_one_bin_misses_no_more_often_than_it_says(m, alpha):
    """Exact: a bin of all rows has the mass 1, and its mean the binomial distribution."""
    for rate in (0.001, 0.05, 0.3, 0.5, 0.77):
        bound = error_bound([rate], m, 1.0, alpha)
        away = np.abs(np.arange(m + 1) / m - rate)
        assert binom.pmf(np.arange(m + 1), m, rate)[away >= bound].sum() <= alpha
    assert error_bound([0.5, 0.9], m, 1.0, alpha) <= error_bound([0.5], m, 1.0, alpha)


@pytest.mark.parametrize("m", [10, 60, 500])
def test_further_exponents_change_the_bound_of_the_mean_error_by_less_than_0_1_percent(m, monkeypatch):
    bound = error_bound([0.2], m, 1.0, 0.1)
    monkeypatch.setattr(theorems, "_RATIO", 1.002)
    assert error_bound([0.2], m, 1.0, 0.1) <= bound <= 1.001 * error_bound([0.2], m, 1.0, 0.1)


def test_bound_of_the_mean_error_is_smaller_than_epsilon_2():
    """The first lines of the table in docs/why/error_bound.md."""
    for n, k, accuracy, most in (
        (2_000, 50, 0.56, 0.09),
        (5_000, 50, 0.91, 0.045),
        (50_000, 200, 0.95, 0.016),
    ):
        promise = guarantee(points_per_bin=k, n_samples=n, accuracy=accuracy)
        assert promise.error_bound <= most < promise.conditional / 2.5
        assert promise.error_bound <= guarantee(points_per_bin=k, n_samples=n).error_bound
    with pytest.raises(InputError, match="accuracy must lie"):
        guarantee(points_per_bin=50, n_samples=500, accuracy=1.5)


def test_card_bounds_the_mean_error_of_classes_with_enough_rows():
    proba, y = rows_of([300, 200, 40])
    model = MulticlassToBinary(HistogramBinning(points_per_bin=50)).fit(proba, y)
    for card in (guarantee_card(model), guarantee_card(loads(dumps(model)))):
        assert card.error_bound <= guarantee(points_per_bin=50, n_samples=540).error_bound
        assert card.error_bound < card.worst_reach
        assert (card.errors.of.tolist(), card.errors.needed) == ([True, True, False], 50)
        # limits of 40 of 540 rows, each at 0.1 * 0.03 / 6
        assert binom.cdf(40, 540, card.uncovered_bound) == pytest.approx(0.0005, rel=1e-6)
        assert f"{card.error_bound:.3f}" in card.words()
        promise = card.mean_promise()
        assert (promise.error, promise.share) == (card.error_bound, 1 - card.uncovered_bound)
    whole = guarantee_card(MulticlassToBinary(HistogramBinning(points_per_bin=20)).fit(proba, y))
    assert (whole.uncovered_bound, whole.errors.of.all()) == (0.0, True)
    assert guarantee_card(model, 0.1, choices=5).error_bound == guarantee_card(model, 0.02).error_bound


def test_card_bounds_each_class_and_their_mean():
    proba, y = rows_of([300, 200, 100])
    model = MulticlassToBinary(HistogramBinning(points_per_bin=50), notion="class-wise")
    card = guarantee_card(model.fit(proba + 1e-6 * np.random.default_rng(0).random(proba.shape), y))
    assert card.uncovered_bound == 0.0
    assert card.errors.each.min() < card.error_bound < 1.2 * card.errors.each.max()
    alone = MulticlassToBinary(HistogramBinning(points_per_bin=50), notion="confidence")
    confidence = guarantee_card(alone.fit(proba, y))
    m, cells = 49, 12
    rate = 0.5  # between the limits
    mass = mass_bound(50, 600, 0.1 * 0.03 / cells)
    assert confidence.error_bound <= error_bound([rate], m, mass, DEVIATION * 0.1)


@pytest.mark.parametrize(
    ("options", "applies"),
    [
        ({"binary": HistogramBinning(n_bins=4)}, True),
        ({"notion": "top-k-label"}, True),
        ({"notion": "class-wise", "normalize": True}, False),
    ],
)
def test_no_bound_for_the_mean_error_where_nothing_is_proved(options, applies):
    proba, y = rows_of([300, 200])
    card = guarantee_card(MulticlassToBinary(**({"binary": HistogramBinning()} | options)).fit(proba, y))
    assert card.applies == applies
    assert math.isnan(card.error_bound)
    assert math.isnan(card.uncovered_bound)
    assert card.errors.why_not
    assert card.mean_promise() is None


def test_equal_scores_inside_bins_keep_the_bound_and_at_a_cut_they_end_it():
    scores, y = np.sort(np.random.default_rng(0).random(100)), np.arange(100) % 2
    model = MulticlassToBinary(HistogramBinning(points_per_bin=20), notion="confidence")

    def bound(tied, sample_weight=None):
        rows = 0.5 + scores / 2
        rows[tied] = rows[tied[0]]
        return guarantee_card(model.fit(np.column_stack([rows, 1 - rows]), y, sample_weight)).error_bound

    assert bound([90, 91, 92, 99]) == bound([0])
    assert math.isnan(bound([19, 20]))
    assert math.isnan(bound([20, 21]))
    assert math.isnan(bound([0], 1.0 + np.arange(100)))
