"""Noise floors: exact oracles, the reference row, uniform p-values, and words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from benchmarks.simulation import means
from benchmarks.sizes import POPULATIONS, floors, several
from calib import (
    ConfidencePrediction,
    InputError,
    MulticlassToBinary,
    Predictions,
    TopLabelPrediction,
    ece,
    mce,
    noise_floor,
    reduce_to_binary,
    verdict,
)
from calib.evidence.rows import as_evidence
from calib.evidence.sampling import draw_exclusive
from calib.stats import NoiseFloor, canonical_noise_floor, consistency_band, problem_floors
from calib.stats.floors import noise_floors

NOTIONS = ["confidence", "top-label", "class-wise", "top-k-confidence", "top-k-label"]


def simulated(n, n_classes, seed, sharpness=2.0):
    """Perfectly calibrated predictions: labels drawn from the probabilities."""
    random = np.random.default_rng(seed)
    logits = sharpness * random.standard_normal((n, n_classes))
    proba = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    labels = (proba.cumsum(axis=1) < random.random((n, 1))).sum(axis=1).clip(0, n_classes - 1)
    return Predictions(proba, labels)


def poisson_binomial(scores):
    """Exact distribution of a sum of Bernoulli(score), by convolution."""
    pmf = np.ones(1)
    for score in scores:
        pmf = np.convolve(pmf, [1.0 - score, score])
    return pmf


def test_reference_row(shared_data):
    """Design, section 5: TL-ECE floor 0.0120 (95 % quantile 0.0136), conf-ECE 0.0039 (0.0056)."""
    data = np.load(shared_data / "cifar10_resnet50.npz")
    model = Predictions.from_logits(data["test_logits"], data["test_labels"])
    top = noise_floor(model.labels, model, random_state=0, n_resamples=4000)
    conf = noise_floor(model.labels, model, notion="confidence", random_state=0, n_resamples=4000)
    assert top.observed == pytest.approx(0.0222, abs=1e-4)
    assert top.mean == pytest.approx(0.0120, abs=1e-4)
    assert top.quantile(0.95) == pytest.approx(0.0136, abs=1e-4)
    assert conf.observed == pytest.approx(0.0155, abs=1e-4)
    assert conf.mean == pytest.approx(0.0039, abs=1e-4)
    assert conf.quantile(0.95) == pytest.approx(0.0056, abs=2e-4)
    assert verdict(conf, "conf-ECE") == (
        "conf-ECE 0.016, above noise (a perfect model of this size shows 0.004, "
        "at most 0.006 in 95 of 100 cases)"
    )


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("strategy", ["uniform", "quantile", "discrete"])
def test_observed_is_the_metric(notion, strategy):
    model = simulated(80, 4, seed=1)
    for metric, aggregate in [("ece", "cell"), ("mce", "cell"), ("mce", "bin")]:
        options = {"notion": notion, "strategy": strategy}
        floor = noise_floor(
            model.labels, model, metric=metric, aggregate=aggregate, n_resamples=2, random_state=0, **options
        )
        plain = (
            ece(model.labels, model, **options)
            if metric == "ece"
            else mce(model.labels, model, aggregate=aggregate, **options)
        )
        assert floor.observed == pytest.approx(plain, abs=1e-12)
    squared = noise_floor(model.labels, model, norm=2, n_resamples=2, **options)
    assert squared.observed == pytest.approx(ece(model.labels, model, norm=2, **options), abs=1e-12)


def test_two_rows_by_hand():
    """Scores 0.6 and 0.8 in one cell: the sum is 0, 1, 2 with chances 0.08, 0.44, 0.48.

    The gap is |sum - 1.4| / 2 = 0.7, 0.2, 0.3; its mean 0.056 + 0.088 + 0.144 = 0.288. Both rows were
    right, so 0.3 was observed, and a perfect model reaches it with chance 0.08 + 0.48 = 0.56.
    """
    top = TopLabelPrediction(np.array([0, 0]), np.array([0.6, 0.8]))
    floor = noise_floor([0, 0], top, n_bins=1, n_resamples=20_000, random_state=0)
    assert floor.observed == pytest.approx(0.3)
    assert floor.mean == pytest.approx(0.288, abs=0.005)
    assert floor.p_value == pytest.approx(0.56, abs=0.015)
    assert set(np.round(floor.samples, 9)) == {0.2, 0.3, 0.7}


def test_sure_scores_leave_no_noise():
    top = TopLabelPrediction(np.array([0, 1]), np.array([1.0, 0.0]))
    floor = noise_floor([0, 0], top, n_resamples=50, random_state=0)
    assert floor.observed == 0.0
    assert not floor.samples.any()
    assert floor.p_value == 1.0


@pytest.mark.parametrize("sampler", ["rows", "sums"])
@pytest.mark.parametrize(
    "scores",
    [
        np.linspace(0.40, 0.4666, 40),
        np.linspace(0.9334, 1.0, 300),  # a binomial of the failures
        np.linspace(0.0, 0.0666, 400),
        np.geomspace(1e-7, 0.066, 1000),  # most of the lowest class-wise bin
        np.linspace(0.4667, 0.5333, 65),
        np.full(200, 0.3),  # exactly binomial
        np.linspace(0.0, 1.0, 80),  # one bin for everything: the worst case for the binomial
    ],
)
def test_sums_follow_the_exact_distribution(scores, sampler):
    exact = poisson_binomial(scores)
    rows = as_evidence(np.zeros(len(scores)), ConfidencePrediction(scores))
    draw, _ = rows.draw(rows.cells(n_bins=1, variance=True), sampler)
    sums = draw(np.random.default_rng(0), 100_000)[0].astype(np.int64)
    drawn = np.bincount(sums, minlength=len(exact)) / len(sums)
    mean, variance = scores.sum(), np.sum(scores * (1.0 - scores))
    assert sums.mean() == pytest.approx(mean, abs=4 * np.sqrt(variance / len(sums)))
    assert sums.var() == pytest.approx(variance, rel=0.03)
    # Kolmogorov distance; 0.006 is what 100,000 exact draws stay below.
    distance = np.abs(np.cumsum(drawn) - np.cumsum(exact)).max()
    assert distance < (0.012 if np.ptp(scores) > 0.5 else 0.006)


@pytest.mark.parametrize("notion", NOTIONS)
def test_floors_of_several_errors_are_those_of_each(notion):
    model = simulated(300, 4, seed=1)
    problems = reduce_to_binary(model.labels, model, notion)
    measures = {
        "ece": {"metric": "ece"},
        "l2": {"metric": "ece", "norm": 2},
        "bin": {"metric": "mce", "aggregate": "bin"},
        "cell": {"metric": "mce"},
    }
    options = {"n_bins": 7, "n_resamples": 300, "random_state": 3}
    found = noise_floors(as_evidence(problems), measures, **options)
    for name, measure in measures.items():
        item = noise_floor(problems, **measure, **options)
        assert (found[name].observed, found[name].metric) == (item.observed, item.metric)
        assert np.array_equal(found[name].samples, item.samples)


@pytest.mark.parametrize("sampler", ["rows", "sums"])
def test_every_cell_gets_its_own_sum(sampler):
    scores = np.concatenate([np.full(5, 0.5), np.linspace(0.1, 0.19, 10), np.linspace(0.7, 0.79, 500), [1.0]])
    rows = as_evidence(np.zeros(len(scores)), ConfidencePrediction(scores))
    cells = rows.cells(n_bins=10, variance=True)
    sums = rows.draw(cells, sampler)[0](np.random.default_rng(0), 20_000)
    off = sums.mean(axis=1) - cells.count * cells.mean_score
    assert np.all(np.abs(off) <= 4.5 * np.sqrt(cells.variance / sums.shape[1]) + 1e-12)


@pytest.mark.parametrize("n_classes", [3, 40])
def test_rows_are_drawn_jointly(n_classes):
    """Class-wise outcomes of a row exclude each other: sums over all classes are exactly n."""
    model = simulated(60, n_classes, seed=0)
    rows = as_evidence(model.labels, model)
    cells = rows.cells("class-wise", n_bins=5, variance=True)
    draw, _ = rows.draw(cells, "rows")
    sums = draw(np.random.default_rng(0), 4000)
    assert np.all(np.abs(sums.sum(axis=0) - 60) <= 1)  # rounding of a row's sum may lose a row, rarely
    expected = cells.count * cells.mean_score
    assert sums.mean(axis=1) == pytest.approx(expected, abs=5 * np.sqrt(expected.max() / 4000))


@pytest.mark.parametrize(
    "scores",
    [
        [1.0],
        [0.0, 0.0, 1.0],
        [0.0, 0.0],  # the other outcome is certain
        [0.25, 0.25, 0.25],
        [0.7, 0.1],
        [0.98, *np.full(20, 1e-3)],
        np.geomspace(1e-5, 0.1, 60),
        np.full(200, 0.004),
    ],
)
def test_exclusive_outcomes_have_their_chances(scores):
    """Ten equal rows: each outcome is counted as often as its chance says, and one per row and redraw."""
    width, n_resamples = len(scores) + 1, 5_000
    rows, cells = np.tile(scores, (10, 1)).T, np.tile(np.arange(width - 1), (10, 1)).T
    sums = draw_exclusive(rows, cells, width - 1)[0](np.random.default_rng(0), n_resamples)
    assert np.all(sums.sum(axis=0) <= 10)
    chance = np.array(scores)
    mean, variance = 10 * chance, 10 * chance * (1.0 - chance)
    # A sample variance of counts this rare varies by about (variance + 2 variance^2) / draws.
    assert np.all(np.abs(sums.mean(axis=1) - mean) <= 4.5 * np.sqrt(variance / n_resamples))
    assert np.all(
        np.abs(sums.var(axis=1) - variance) <= 4.5 * np.sqrt((variance + 2 * variance**2) / n_resamples)
    )


def test_two_classes_are_one_coin():
    """With L = 2 both classes have the same error, so class-wise and class 1 share one floor."""
    model = simulated(500, 2, seed=3)
    both = noise_floor(model.labels, model, notion="class-wise", n_bins=10, random_state=0)
    item = problem_floors(reduce_to_binary(model.labels, model, "class-wise"), n_bins=10, random_state=1)
    assert both.quantile(0.95) == pytest.approx(item.upper[1], rel=0.05)


@given(st.integers(0, 10**6), st.integers(1, 6), st.floats(0.01, 1.0))
def test_systematic_rows_come_true_as_often_as_their_scores_sum_to(seed, width, most):
    """Each row, a cell for each of its claims: up to rounding its sum, and each with its score as chance."""
    scores = most * np.random.default_rng(seed).random((width, 3)).round(2)
    cells = np.arange(3 * width).reshape(width, 3)
    sums = draw_exclusive(scores, cells, 3 * width)[0](np.random.default_rng(seed), 2000)
    hits = sums.reshape(width, 3, 2000)
    assert np.all((hits == 0) | (hits == 1))
    total = scores.sum(axis=0)[:, None]
    counts = hits.sum(axis=0)
    assert np.all((counts >= np.floor(total + 1e-9) - 1e-9) & (counts <= np.ceil(total - 1e-9)))
    error = np.sqrt(scores * (1 - scores) / 2000)
    assert np.all(np.abs(hits.mean(axis=2) - scores) <= 5 * error + 1e-9)


def test_rows_that_sum_to_more_than_one_keep_their_margins():
    """Scores of class-wise binning: every cell's sum has the mean of its scores, every row its classes."""
    random = np.random.default_rng(0)
    scores = (random.dirichlet(np.full(3, 0.5), 300) * random.uniform(0.7, 1.4, (300, 3))).clip(0, 1).round(2)
    rows = as_evidence(np.zeros(300, int), scores)
    cells = rows.cells("class-wise", n_bins=10, variance=True)
    sums = rows.draw(cells, "rows")[0](np.random.default_rng(1), 4000)
    expected = cells.count * cells.mean_score
    assert np.abs(sums.mean(axis=1) - expected).max() <= 4.5 * np.sqrt(expected.max() / 4000)
    assert sums.sum(axis=0).mean() == pytest.approx(scores.sum(), rel=0.005)
    assert sums.var(axis=1) == pytest.approx(cells.variance, rel=0.12, abs=0.05)


@pytest.mark.parametrize("place", [1, pytest.param(3, marks=pytest.mark.thorough)])
def test_class_wise_floors_of_two_classes_reject_as_often_as_they_say(place):
    """400 draws on each of 2 sets: 5 % has a standard error of 0.8 %; independent draws give 9 to 12 %."""
    found = means(floors(*POPULATIONS[place], labels=400, n_resamples=1000), 2)
    assert 0.025 <= found["mean size (5 %)"] <= 0.075


@pytest.mark.parametrize("dependence", ["independent", "come together"])
def test_floors_of_labels_of_which_several_are_true_reject_no_more_often_than_they_say(dependence):
    """150 draws on one set: 5 % has a standard error of 1.8 %."""
    found = means(several(300, 5, dependence, labels=150, n_resamples=300), 1)
    assert found["mean size (5 %)"] <= 0.05 + 0.045


@pytest.mark.parametrize(("n_classes", "score"), [(3, 0.7), (20, 0.7)])
def test_floor_of_equal_scores_of_any_sum_is_binomial(n_classes, score):
    """Rows sum to 2.1 (systematic draws) or 14 (independent ones); each class is one binomial(200, 0.7)."""
    scores = np.full((200, n_classes), score)
    floor = noise_floor(
        np.zeros(200, int), scores, notion="class-wise", strategy="discrete", random_state=0, n_resamples=4000
    )
    k = np.arange(201)  # the mean absolute deviation of a binomial by hand
    mean = np.sum(stats.binom.pmf(k, 200, score) * np.abs(k / 200 - score))
    assert floor.mean == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("metric", ["ece", "mce"])
def test_p_values_are_uniform_on_perfect_populations(notion, metric):
    p = [
        noise_floor(
            reduce_to_binary(model.labels, model, notion),
            metric=metric,
            n_bins=10,
            n_resamples=99,
            random_state=seed,
        ).p_value
        for seed in range(150)
        for model in [simulated(150, 3, seed=1000 + seed)]
    ]
    # One small cell decides an MCE, so redraws tie with it and p may only be too large, never too small.
    alternative = "two-sided" if metric == "ece" else "greater"
    assert stats.kstest(p, "uniform", alternative=alternative).pvalue > 0.001
    assert np.mean(np.array(p) <= 0.05) <= 0.11


def test_power_against_overconfidence():
    model = simulated(2000, 5, seed=0)
    sharper = model.proba**1.5 / (model.proba**1.5).sum(axis=1, keepdims=True)
    assert noise_floor(model.labels, sharper, random_state=0).p_value == pytest.approx(1 / 1001)


@given(st.integers(0, 10**6), st.sampled_from(NOTIONS))
def test_seed_decides_everything(seed, notion):
    model = simulated(40, 3, seed=seed % 7)
    draws = [
        noise_floor(model.labels, model, notion=notion, n_resamples=7, random_state=seed) for _ in range(2)
    ]
    assert np.array_equal(draws[0].samples, draws[1].samples)
    assert np.all((draws[0].samples >= 0) & (draws[0].samples <= 1))


def test_progress_ends_at_one():
    model = simulated(100, 3, seed=0)
    told = []
    noise_floor(model.labels, model, n_resamples=600, progress=told.append, random_state=0)
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_float32_and_absent_classes():
    model = simulated(300, 4, seed=5)
    proba = model.proba.astype(np.float32)
    proba[:, 2] = 0.0  # never predicted, never true
    labels = np.where(model.labels == 2, 0, model.labels)
    for notion in NOTIONS:
        floor = noise_floor(labels, proba, notion=notion, n_resamples=50, random_state=0)
        assert np.isfinite(floor.samples).all()


def test_histogram_binned_predictions_assessed_discrete():
    model = simulated(4000, 3, seed=0)
    calibration, evaluation = model.split(random_state=0)
    top = MulticlassToBinary().fit(calibration, calibration.labels).predict_top(evaluation)
    floor = noise_floor(evaluation.labels, top, strategy="discrete", random_state=0)
    assert floor.observed == ece(evaluation.labels, top, strategy="discrete")
    assert 0 < floor.mean < 0.1


def test_problem_floors_agree_with_the_whole():
    model = simulated(800, 4, seed=2)
    problems = reduce_to_binary(model.labels, model, "top-label")
    floors = problem_floors(problems, n_bins=10, random_state=0, n_resamples=3000)
    whole = noise_floor(problems, n_bins=10, random_state=0, n_resamples=3000)
    share = floors.count / floors.count.sum()
    assert share @ floors.observed == pytest.approx(whole.observed)
    assert share @ floors.mean == pytest.approx(whole.mean, rel=0.02)
    assert np.all(floors.upper > floors.mean)
    assert list(floors.frame().columns[:2]) == ["problem", "label"]


def test_problem_floors_skip_classes_never_predicted():
    top = TopLabelPrediction(np.array([0, 0, 3, 3]), np.array([0.5, 0.6, 0.7, 0.8]))
    floors = problem_floors(reduce_to_binary([0, 1, 3, 2], top, "top-label"), n_resamples=9, random_state=0)
    assert floors.label.tolist() == [0, 3]
    assert floors.count.tolist() == [2, 2]


def test_consistency_band_is_binomial():
    """100 rows at 0.7 in one cell: the central 95 % of binomial(100, 0.7) is 61 to 79."""
    top = TopLabelPrediction(np.zeros(100, int), np.full(100, 0.7))
    problems = reduce_to_binary(np.zeros(100, int), top, "confidence")
    band = consistency_band(problems, n_resamples=20_000, random_state=0)
    assert band.lower == pytest.approx([stats.binom.ppf(0.025, 100, 0.7) / 100], abs=0.0101)
    assert band.upper == pytest.approx([stats.binom.ppf(0.975, 100, 0.7) / 100], abs=0.0101)
    assert {"perfect_lower", "perfect_upper"} <= set(band.frame().columns)


def test_consistency_band_covers_a_perfect_model():
    inside = []
    for seed in range(60):
        model = simulated(400, 3, seed=seed)
        problems = reduce_to_binary(model.labels, model, "confidence")
        band = consistency_band(problems, n_bins=8, n_resamples=400, random_state=seed)
        outcome = band.cells.mean_outcome
        inside += ((band.lower <= outcome) & (outcome <= band.upper)).tolist()
    assert 0.93 <= np.mean(inside) <= 0.99


def floor_of(observed, samples):
    return NoiseFloor("ece", "top-label", "uniform", 15, 100, observed, np.sort(np.asarray(samples, float)))


def test_verdict_words():
    samples = np.linspace(0.0, 0.01, 1001)
    assert verdict(floor_of(0.02, samples), "TL-ECE").startswith("TL-ECE 0.020, above noise (a perfect")
    quiet = verdict(floor_of(0.005, samples), "TL-ECE")
    assert "not distinguishable from noise" in quiet
    assert "calibrated" not in quiet
    assert "fitting" not in quiet
    assert verdict(floor_of(0.0, 0.005 + samples), "TL-ECE").endswith("were these rows used for fitting?")


@pytest.mark.parametrize(
    ("above", "tied", "p_value"),
    [
        (35, 20, 56 / 1001 - 0.01),
        (45, 20, 66 / 1001 - 0.01),
        (50, 30, 81 / 1001 - 0.015),  # 3 % are few
        (50, 31, 82 / 1001),
        (0, 100, 101 / 1001),
    ],
)
def test_few_ties_count_half_and_many_whole(above, tied, p_value):
    samples = np.repeat([0.2, 0.4, 0.5, 0.6], [800, 200 - above - tied, tied, above])
    floor = floor_of(0.5, samples)
    assert floor.p_value == pytest.approx(p_value)
    if floor.p_value <= 0.05:
        assert "at most 0.400 in 94 of 100 cases" in verdict(floor, "TL-ECE")


def test_the_error_that_would_show_by_a_folded_normal():
    """Redraws of 0.04 and 0.06 in equal parts: mean 0.05, deviation 0.01, 95 % quantile 0.06.

    An error shows in 80 of 100 samples if the mean of |d + s Z| is 0.06 + 0.8416 * 0.01 / sqrt(1 - 2 / pi) =
    0.0739612; s = 0.05 * sqrt(pi / 2) gives a perfect model the mean 0.05.
    """
    samples, spread = np.repeat([0.04, 0.06], 500), 0.05 * np.sqrt(np.pi / 2.0)
    found = floor_of(0.05, samples).smallest
    assert stats.foldnorm.mean(found / spread, scale=spread) == pytest.approx(0.0739612, abs=1e-6)
    largest = NoiseFloor("mce", "top-label", "uniform", 15, 100, 0.05, samples)
    assert largest.smallest == pytest.approx(
        0.0739612, abs=1e-6
    )  # of the largest gap only this bound is known
    # Scores without noise: one of 100 rows is wrong in 80 of 100 samples if 1 - (1 - d)^100 = 0.8.
    assert floor_of(0.0, np.zeros(100)).smallest == pytest.approx(1.0 - 0.2**0.01)


def test_size_with_one_distinct_score():
    """0.7 for 200 rows: the chance of each verdict is a sum of binomial chances, without any draw."""
    k = np.arange(201)
    chance, gap = stats.binom.pmf(k, 200, 0.7), np.round(np.abs(k / 200 - 0.7), 9)
    samples = np.sort(np.repeat(gap, np.round(1e5 * chance).astype(int)))
    rejected = [floor_of(each, samples).p_value <= 0.05 for each in gap]
    assert 0.04 < chance @ rejected < 0.06


@given(st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_printed_numbers_never_contradict_the_words(observed, samples):
    words = verdict(floor_of(observed, samples), "x")
    printed = float(words.split(",")[0].split()[1])
    most = float(words.split("at most ")[1].split()[0])
    if "above noise" in words:
        assert printed >= most - 2e-6
    elif floor_of(observed, samples).quantile(0.95) >= observed:
        assert printed <= most + 2e-6


def test_errors_say_what_to_do():
    model = simulated(20, 3, seed=0)
    with pytest.raises(InputError, match=r'metric must be "ece" or "mce"; got .brier.'):
        noise_floor(model.labels, model, metric="brier")
    with pytest.raises(InputError, match="aggregate must be"):
        noise_floor(model.labels, model, aggregate="class")
    with pytest.raises(InputError, match="norm must be a number of at least 1"):
        noise_floor(model.labels, model, norm=0.5)
    with pytest.raises(InputError, match="n_resamples must be a whole number"):
        noise_floor(model.labels, model, n_resamples=0)
    with pytest.raises(InputError, match=r"level must be inside \(0, 1\)"):
        consistency_band(reduce_to_binary(model.labels, model, "confidence"), level=95)


def test_frame_has_one_row():
    model = simulated(50, 3, seed=0)
    row = noise_floor(model.labels, model, n_resamples=20, random_state=0).frame()
    assert len(row) == 1
    assert row["n_resamples"][0] == 20


def coarse(n_classes, n=3000):
    """Many rows alike: scores of few trees, in pairs of classes that are mistaken for each other."""
    random = np.random.default_rng(0)
    votes = np.full((n, n_classes), 0.01 / n_classes)
    pair = 2 * random.integers(0, n_classes // 2, n)
    share = random.integers(0, 11, n) / 10
    votes[np.arange(n), pair] += 0.99 * share
    votes[np.arange(n), pair + 1] += 0.99 * (1 - share)
    return votes


@pytest.mark.parametrize(
    "proba",
    [
        simulated(3000, 2, seed=0).proba,
        simulated(3000, 6, seed=0).proba,
        coarse(12),
        simulated(3000, 6, seed=0, sharpness=4.0).proba,
    ],
    ids=["two", "six", "coarse", "sharp"],
)
def test_floors_of_sums_are_those_of_rows(proba):
    """To 4 standard errors of 2,000 redraws each; rows of equal scores are no copies, as labels differ."""
    problems = reduce_to_binary(np.arange(len(proba)) % proba.shape[1], proba, "class-wise")
    rows, sums = (
        noise_floor(problems, n_resamples=2000, random_state=seed, sampler=sampler)
        for seed, sampler in enumerate(["rows", "sums"])
    )
    assert_same_floor(sums, rows)


def assert_same_floor(quick, slow):
    spread = slow.samples.std()
    assert not np.array_equal(quick.samples, slow.samples)
    assert quick.observed == pytest.approx(slow.observed, abs=1e-12)
    assert quick.mean == pytest.approx(slow.mean, abs=4 * spread * np.sqrt(2 / 2000))
    assert quick.samples.std() == pytest.approx(spread, rel=4 / np.sqrt(2000))
    assert quick.quantile(0.95) == pytest.approx(
        slow.quantile(0.95), abs=4 * 2.1 * spread * np.sqrt(2 / 2000)
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sampler", ["rows", "sums"])
def test_floors_of_columns_are_those_of_their_sorted_problems(dtype, sampler):
    model = simulated(2000, 5, seed=0, sharpness=4.0)
    proba = model.proba.astype(dtype)
    options = {"n_resamples": 100, "random_state": 0, "sampler": sampler}
    sorted_ = noise_floor(reduce_to_binary(model.labels, proba, "class-wise"), **options)
    unsorted = noise_floor(model.labels, proba, notion="class-wise", **options)
    assert unsorted.observed == pytest.approx(sorted_.observed, abs=1e-12)
    assert unsorted.samples == pytest.approx(sorted_.samples, abs=1e-6)


def test_spread_of_many_classes_without_their_correlations_is_little_too_large():
    """More than 2,000 cells: the mean is exact, the spread up to 15 % larger than of rows drawn."""
    model = simulated(1000, 200, seed=0, sharpness=3.0)
    rows, sums = (
        noise_floor(model.labels, model, notion="class-wise", random_state=0, sampler=sampler)
        for sampler in ("rows", "sums")
    )
    spread = rows.samples.std()
    assert sums.mean == pytest.approx(rows.mean, abs=4 * spread * np.sqrt(2 / 1000))
    assert 0.9 < sums.samples.std() / spread < 1.15


def test_canonical_floor_of_one_cell_is_that_of_class_frequencies():
    """All rows in one cell: the mean of sum_l |frequency - mean score| by its normal limit."""
    proba = simulated(4000, 3, seed=0).proba
    floor = canonical_noise_floor(np.zeros(4000, int), proba, np.zeros(4000, int), random_state=0)
    deviation = np.sqrt((proba * (1 - proba)).mean(axis=0) / 4000)
    expected = np.sqrt(2 / np.pi) * deviation.sum()
    assert floor.mean == pytest.approx(expected, abs=5 * floor.samples.std() / np.sqrt(1000))


def test_the_smallest_error_of_one_cell_is_the_difference_of_normal_theory():
    """One cell of 500 rows at 0.5: (z_0.975 + z_0.8) standard errors of 0.5 / sqrt(500)."""
    rows = ConfidencePrediction(np.full(500, 0.5))
    floor = noise_floor(np.arange(500) % 2, rows, notion="confidence", n_resamples=20_000, random_state=0)
    assert floor.smallest == pytest.approx(2.80 * 0.5 / np.sqrt(500), rel=0.03)
    assert f"error of {np.ceil(1000 * floor.smallest) / 1000:.3f} would show" in floor.words
