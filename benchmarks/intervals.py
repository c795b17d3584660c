"""How often 95 % intervals and the honest band hold the true number, and lie above or below it.

errors: intervals of calibration errors. Scores stay fixed, labels are drawn anew from a known truth. Rows
that cover in less than 95 % get five times as many draws. cells: the same in few cells.

shifted: the same if all scores are above 0.99 and the chance is 0.97, or if the truth is the scores at a
temperature. Rows are independent, or the latent numbers of the rows of a cluster are correlated.

means: the mean of the log loss, of the Brier score, or of how much the log loss rises if confidences are
sharpened. Confidences are mostly sure, with outcomes drawn from them. Student's interval stands beside.

areas: scores whose AUC is known are normal, of one spread or three times as wide if Y is 1, or rounded.
Clusters have five rows with Y = 1 each, and half of the variance of a score is its cluster's. DeLong's
normal interval stands beside.

few: numbers of 5 to 40 clusters, whose rows share a part of the log-odds and, with the correlation 0.1, of
the outcome. The delete-one jackknife with Student's quantile stands beside.

weighted: means of the rows of a calibrated model whose weights are unequal, and the difference from equally
good scores, which is 0. Weights are lognormal, or 20 for every twentieth row on average.

differences: of squared l2 errors of two models. If the true difference is 0, every direction is wrong.

bands: the honest band holds the curve at every score, and "calibrated within x everywhere above 1/2".
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
from scipy.special import expit, logit, softmax
from scipy.stats import norm, rankdata
from scipy.stats import t as student

import calib
from benchmarks.populations import (
    CONFIDENCES,
    Population,
    at_error,
    biased,
    correlated,
    decided,
    draw_labels,
    events,
    few_scores,
    labels_of,
    one_class,
    overconfident,
    scores,
)
from benchmarks.simulation import Draws, Table, main, sides
from calib.data.notions import Notion
from calib.evidence.rows import as_evidence
from calib.stats.bootstrap import Metric, mean_limits
from calib.stats.intervals import measure_interval

AGREED = "labels mostly agreed on"
#: Rows from which the true mean of a score is taken.
TRUTH_ROWS = 4_000_000


def error_coverage(population: Population, norm: int) -> Draws:
    truth = population.error(norm)
    options: Any = {"notion": population.notion, "n_bins": population.n_bins, "strategy": population.strategy}
    for labels in labels_of(population.truth):
        found = calib.error_interval(labels, population.scores, norm=norm, **options)
        held = sides(found.lower - 1e-12, found.upper + 1e-12, truth)
        yield held | {"mean width": found.upper - found.lower}


def error_settings() -> list[tuple[Any, ...]]:
    top, made = ("top-label", "uniform"), []
    for n, multiples in ((1_000, (0.0, 0.2, 0.5, 0.9)), (10_000, (0.0, 0.6, 1.6, 2.9))):
        for floors in multiples:
            made.append(("overconfident", n, 10, *top, (overconfident, floors, scores, 1)))
            if floors:
                made.append(("one class", n, 10, *top, (one_class, floors, scores, 1)))
        for notion in ("confidence", "top-label", "class-wise"):
            made.append((AGREED, n, 10, notion, "uniform", (decided, 0.0, scores, 1)))
    for floors in (0.0, 1.0, 3.0):
        made += [
            ("two classes", 2_000, 2, "class-wise", "uniform", (biased, floors, scores, 2)),
            ("two classes", 2_000, 2, "confidence", "quantile", (overconfident, floors, scores, 2)),
            ("100 classes", 5_000, 100, *top, (biased, floors, scores, 3)),
            ("votes of 20 trees", 3_000, 5, "top-label", "discrete", (biased, floors, few_scores, 4)),
            ("10 classes", 1_000, 10, "class-wise", "uniform", (biased, floors, scores, 5)),
        ]
    return [(*setting[:3], norm, *setting[3:]) for setting in made for norm in (1, 2)]


@Table(
    ("population", "n", "L", "norm", "notion", "bins"),
    error_settings(),
    {"truth / floor": "g", "mean width": ".4f"},
    doubtful=("coverage (95 %)", 0.95),
)
def errors(name: str, n: int, classes: int, norm: int, notion: Any, bins: Any, more: tuple) -> Draws:
    pattern, floors, make, seed = more
    proba = make(seed, n, classes)
    if name == AGREED:
        population = Population(proba, decided(proba, 0.8), notion, bins)
        floors = population.error(1) / population.floor()
    else:
        population = at_error(proba, pattern, floors, notion=notion, strategy=bins)
    for found in error_coverage(population, norm):
        yield {"truth / floor": round(floors, 1)} | found


@Table(
    ("cells", "n", "truth / floor"),
    [*product((1, 2, 5), (200, 2_000), (0.0, 1.0, 4.0))],
    {"mean width": ".4f"},
)
def cells(n_bins: int, n: int, floors: float) -> Draws:
    bins: Any = {"notion": "confidence", "strategy": "quantile", "n_bins": n_bins}
    yield from error_coverage(at_error(scores(6, n, 2), overconfident, floors, **bins), 1)


def peaked(normal: np.ndarray, top: np.ndarray | float) -> np.ndarray:
    """Return vectors (n, L) with this largest entry, at the place of the largest number."""
    return np.where(normal == normal.max(axis=1, keepdims=True), top, (1.0 - top) / (normal.shape[1] - 1))


#: Scores and true probabilities, (n, L), from (n, L) normal numbers.
SHIFTS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "above 0.99, truth 0.97": lambda normal: (
        peaked(normal, 0.99 + 0.009 * norm.cdf(normal[:, :1])),
        peaked(normal, 0.97),
    ),
    "temperature 0.7": lambda normal: (softmax(2.0 * normal, axis=1), softmax(1.4 * normal, axis=1)),
}


@Table(
    ("population", "notion", "L", "clusters", "rows each", "correlation"),
    [
        (name, notion, 3, *sizes)
        for name, notion in product(SHIFTS, ("confidence", "class-wise"))
        for sizes in (
            (500, 1, 0.0),
            (2_000, 1, 0.0),
            (12, 100, 0.3),
            (20, 100, 0.3),
            (40, 50, 0.1),
            (40, 50, 0.3),
        )
    ],
    {"mean width": ".4f"},
)
def shifted(
    name: str, notion: Notion, n_classes: int, n_clusters: int, n_rows: int, correlation: float
) -> Draws:
    random, cluster = np.random.default_rng(n_clusters), np.repeat(np.arange(n_clusters), n_rows)
    proba, truth = SHIFTS[name](random.standard_normal((len(cluster), n_classes)))
    error = Population(proba, truth, notion).error(1)
    order = np.argsort(-truth, axis=1, kind="stable")
    reach = np.take_along_axis(truth, order, axis=1).cumsum(axis=1)[:, :-1]
    while True:
        common, own = random.standard_normal(n_clusters)[cluster], random.standard_normal(len(cluster))
        place = (reach < correlated(correlation, common, own)[:, None]).sum(axis=1)
        labels = np.take_along_axis(order, place[:, None], axis=1)[:, 0]
        together = {"cluster": cluster} if n_rows > 1 else {}
        found = calib.error_interval(labels, proba, notion=notion, **together)
        yield sides(found.lower, found.upper, error) | {"mean width": found.upper - found.lower}


def log_loss(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    return -np.log(np.where(right, sure, 1.0 - sure))


def sharpened(sure: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return the log loss less the log loss of confidences with 1.3 times the log-odds."""
    return log_loss(sure, right) - log_loss(np.clip(expit(1.3 * logit(sure)), 1e-12, 1 - 1e-12), right)


LOSSES: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "log loss": log_loss,
    "log loss, difference": sharpened,
    "Brier score": lambda sure, right: (right - sure) ** 2,
}


@Table(("mean of", "n"), [*product(LOSSES, (100, 300, 2_000))])
def means(name: str, n: int) -> Draws:
    def values(rows: int, generator: np.random.Generator) -> np.ndarray:
        sure = np.clip(CONFIDENCES["sure"](generator, rows), 1e-9, 1.0 - 1e-9)
        return LOSSES[name](sure, generator.random(rows) < sure)

    truth, generator = values(TRUTH_ROWS, np.random.default_rng(1)).mean(), np.random.default_rng(n)
    while True:
        drawn = values(n, generator)
        half = student.ppf(0.975, n - 1) * drawn.std(ddof=1) / np.sqrt(n)
        lower, upper = (end.item() for end in mean_limits(drawn[None], 0.95))
        beside = sides(drawn.mean() - half, drawn.mean() + half, truth, "Student's, ")
        yield sides(lower, upper, truth) | beside


@Table(
    ("scores", "AUC", "rows with Y = 1", "with Y = 0"),
    [
        (shape, area, *sizes)
        for shape in ("normal", "wide", "rounded", "clusters")
        for area in (0.7, 0.95, 0.99)
        for sizes in ((60 if shape == "clusters" else 20, 200), (200, 1_000))
    ],
    {"width": ".3f"},
)
def areas(shape: str, area: float, n_true: int, n_false: int) -> Draws:
    generator, wide = np.random.default_rng(n_true), 3.0 if shape == "wide" else 1.0
    apart, steps = norm.ppf(area) * np.sqrt(1.0 + wide**2), np.arange(-20, 21)
    if shape == "rounded":
        true, false = (np.diff(norm.cdf(steps - at - 0.5), append=1.0) for at in (apart, 0.0))
        area = float(true @ (false.cumsum() - false / 2.0))
    y = np.repeat([1, 0], [n_true, n_false])
    cluster = np.concatenate([np.arange(n_true) // 5, np.arange(n_false) * n_true // n_false // 5])
    while True:
        score = generator.standard_normal(len(y))
        if shape == "clusters":
            shared = generator.standard_normal(cluster.max() + 1)[cluster]
            score = np.sqrt(0.5) * (shared + score)
        score = score * np.where(y == 1, wide, 1.0) + apart * y
        score = norm.cdf(score.round() if shape == "rounded" else score)
        rows = as_evidence(y, score, cluster=cluster if shape == "clusters" else None)
        lower, upper = measure_interval(rows, "auc")
        found, variance, _ = rows.area("class-wise")
        half = norm.ppf(0.975) * np.sqrt(variance)
        beside = sides(found - half, found + half, area, "DeLong's, ")
        yield sides(lower, upper, area) | beside | {"width": upper - lower}


def area_of(score: np.ndarray, true: np.ndarray) -> float:
    n_true = true.sum()
    above = rankdata(score)[true].sum() - n_true * (n_true + 1) / 2.0
    return float(above / (n_true * (len(true) - n_true)))


#: A number of rows by the key of its interval, from scores and outcomes.
NUMBERS: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "auc": area_of,
    "accuracy": lambda score, true: float(np.mean((score > 0.5) == true)),
    "brier": lambda score, true: float(np.mean((score - true) ** 2)),
    "log_loss": lambda score, true: float(np.mean(log_loss(score, true))),
}


@Table(
    ("number", "clusters", "rows each"),
    [(key, *sizes) for key in NUMBERS for sizes in ((5, 1_000), (5, 100), (10, 100), (20, 100), (40, 100))],
    {"width": ".3f", "jackknife, width": ".3f"},
)
def few(key: str, n_clusters: int, n_rows: int) -> Draws:
    def rows(n: int, cluster: np.ndarray, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        own, shared = random.standard_normal((2, n)), random.standard_normal((2, cluster.max() + 1))
        score = expit(1.6 * (np.sqrt(0.9) * own[0] + np.sqrt(0.1) * shared[0, cluster]))
        return score, correlated(0.1, shared[1, cluster], own[1]) < score

    number, random = NUMBERS[key], np.random.default_rng(n_clusters)
    truth = number(*rows(TRUTH_ROWS // 4, np.arange(TRUTH_ROWS // 4), random))
    cluster = np.repeat(np.arange(n_clusters), n_rows)
    while True:
        score, true = rows(len(cluster), cluster, random)
        lower, upper = measure_interval(as_evidence(true.astype(int), score, cluster=cluster), key)
        left = [number(score[cluster != out], true[cluster != out]) for out in range(n_clusters)]
        half = student.ppf(0.975, n_clusters - 1) * np.std(left) * np.sqrt(n_clusters - 1)
        found = number(score, true)
        beside = sides(found - half, found + half, truth, "jackknife, ") | {"jackknife, width": 2 * half}
        yield sides(lower, upper, truth) | {"width": upper - lower} | beside


#: Weights of n rows.
WEIGHTS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "equal": lambda random, n: np.ones(n),
    "lognormal": lambda random, n: random.lognormal(size=n),
    "1 or 20": lambda random, n: np.where(random.random(n) < 0.05, 20.0, 1.0),
}


@Table(("weights", "n"), [*product(WEIGHTS, (60, 200, 600))])
def weighted(name: str, n: int) -> Draws:
    random = np.random.default_rng(n)
    truth = softmax(random.normal(size=(TRUTH_ROWS // 10, 3)) * 2.5, axis=1)
    right, square = truth.max(axis=1).mean(), np.mean(1.0 - (truth**2).sum(axis=1))
    while True:
        log_odds, noise = random.normal(size=(n, 3)) * 2.5, random.normal(size=(n, 3)) * 0.3
        truth = softmax(log_odds, axis=1)
        labels = draw_labels(truth, random)
        weights: dict[str, Any] = {"sample_weight": WEIGHTS[name](random, n)}
        found: dict[str, bool] = {}
        metrics: tuple[tuple[Metric, float], ...] = (("accuracy", right), ("brier", square))
        for metric, mean in metrics:
            own = calib.bootstrap_interval(labels, truth, metric=metric, **weights)
            found[f"{metric} misses (5 %)"] = not own.lower <= mean <= own.upper
        for metric, _ in metrics:
            both = (softmax(log_odds + side * noise, axis=1) for side in (1, -1))
            pair = calib.paired_interval(labels, *both, metric=metric, **weights)
            found[f"{metric} differs (5 %)"] = pair.lower > 0.0 or pair.upper < 0.0
        yield found


def pair_coverage(a: Population, b: Population) -> Draws:
    truth = a.error(2) ** 2 - b.error(2) ** 2
    side = 0.0 if abs(truth) < 1e-12 else np.sign(truth)
    options: Any = {"strategy_a": a.strategy, "strategy_b": b.strategy, "notion": a.notion}
    for labels in labels_of(a.truth):
        found = calib.paired_difference(labels, a.scores, b.scores, **options)
        claim = {"lower": -1, "higher": 1}.get(found.verdict, 0)
        yield {
            "true difference": truth,
            "coverage (95 %)": found.lower - 1e-12 <= truth <= found.upper + 1e-12,
            "wrong direction": claim != 0 and claim != side,
            "right direction": claim != 0 and claim == side,
        }


PAIRS: tuple[tuple[str, Notion], ...] = (
    ("perfect, TL-HB with k = 100", "top-label"),
    ("overconfident, TS", "top-label"),
    ("overconfident, TS", "class-wise"),
    (f"overconfident, TS; {AGREED}", "top-label"),
    (f"overconfident, TS; {AGREED}", "class-wise"),
    (f"perfect, TL-HB with k = 100; {AGREED}", "top-label"),
    ("perfect, noisy", "top-label"),
    ("perfect, the same in equal-mass bins", "top-label"),
)


@Table(
    ("models a, b", "n", "notion"),
    [(name, n, notion) for n in (1_000, 10_000) for name, notion in PAIRS],
    {"true difference": "+.5f"},
)
def differences(name: str, n: int, notion: Notion) -> Draws:
    fitted_on, base = scores(901, 1_000, 10), scores(101, n, 10)
    truth = overconfident(base, 0.6) if name.startswith("overconfident") else base
    other, strategy = base, "uniform"
    if "TL-HB" in name:
        labels = draw_labels(fitted_on, np.random.default_rng(501))
        binning = calib.MulticlassToBinary(calib.HistogramBinning(points_per_bin=100)).fit(fitted_on, labels)
        other, strategy = binning.predict_top(base), "discrete"
    elif "TS" in name:
        labels = draw_labels(overconfident(fitted_on, 0.6), np.random.default_rng(501))
        other = calib.TemperatureScaling().fit(fitted_on, labels).predict_proba(base)
    elif "noisy" in name:
        other = softmax(np.log(base) + 0.5 * np.random.default_rng(7).normal(size=base.shape), axis=1)
    else:
        strategy = "quantile"
    if AGREED in name:
        truth = decided(truth, 0.8)
    return pair_coverage(Population(base, truth, notion), Population(other, truth, notion, strategy))


#: Confidences and the true curve, by name.
CURVES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "calibrated": ("even", np.asarray),
    "overconfident": ("even", lambda s: 0.3 + 0.4 * s),
    "steep": ("even", lambda s: expit(12.0 * (s - 0.5))),
    "a step": ("even", lambda s: np.where(s < 0.5, 0.3, 0.7)),
    "sure": ("sure", np.asarray),
    "20 values": ("20 values", np.asarray),
}


@Table(
    ("curve", "n"),
    [*product(CURVES, (300, 2_000, 20_000))],
    {"mean x above 1/2": ".3f", "median width": ".3f"},
)
def bands(name: str, n: int, most_groups: int = 400) -> Draws:
    confidences, curve = CURVES[name]
    for labels, top in events(np.random.default_rng(0), n, confidences, curve):
        band = calib.calibration_band(labels, top, most_groups=most_groups)
        truth, x = curve(band.score), band.within(0.5)
        holds = (band.lower <= truth + 1e-9) & (truth <= band.upper + 1e-9)
        yield {
            "band holds (95 %)": holds.all(),
            "statement holds (95 %)": np.abs(truth - band.score)[band.score > 0.5].max() <= x,
            "mean x above 1/2": x,
            "median width": np.median(band.upper - band.lower),
        }


if __name__ == "__main__":
    main()
