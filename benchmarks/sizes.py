"""How often perfect models are called worse than they are: sizes of tests at 5 %, and intervals that miss.

floors, several: a draw is a set of scores, for which labels are drawn anew `LABELS` times; each CW-ECE gets
its p-value from the noise floor. Scores of histogram binning class by class do not sum to 1: labels follow
one vector per row, scores are its mean over each cell. If several classes can be true, the labels of a row
are independent, share a cause, or come together as often as their scores allow.

reach: how often an error of the size that is said to show in 80 of 100 samples shows: in every bin, with
the signs of the gaps by turns, or in the bin of most rows alone.

binless, weighted, kernel: tests without bins, by redraws of the outcomes and by the limits for many rows;
the line in log-odds of weighted rows; the kernel test of whole vectors, also of models that are not
calibrated.

clusters, column, untold: labels follow the scores, and the latent numbers of the rows of a cluster depend on
each other. Every statement is wrong. calib is given the clusters, finds them in a column, or is not told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from benchmarks.populations import draw_labels, softmax
from benchmarks.simulation import Draws, Table, main
from calib import (
    ConfidencePrediction,
    MultilabelPrediction,
    Predictions,
    TopLabelPrediction,
    calibration_slope,
    calibration_test,
    conclude,
    ece,
    error_interval,
    noise_floor,
    reduce_to_binary,
)
from calib.evidence.binning import Strategy
from calib.stats.binless import REJECTED
from calib.stats.floors import ABOVE_NOISE, SIGNIFICANCE
from calib.stats.intervals import measure_interval

Make = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]

#: Draws of the labels of each set of scores.
LABELS = 1_000


def binned(chance: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the mean of the chances in each of some bins of equal mass."""
    scores = np.empty_like(chance)
    for part in np.array_split(np.argsort(chance, kind="stable"), n_bins):
        scores[part] = chance[part].mean()
    return scores


def class_by_class(n: int, bins: tuple[int, ...], concentration: float) -> Make:
    """Return scores binned class by class, 0 for chances as they are, and the chances behind them."""

    def make(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        truth = generator.dirichlet(np.full(len(bins), concentration), n)
        columns = [binned(truth[:, i], count) if count else truth[:, i] for i, count in enumerate(bins)]
        return np.column_stack(columns), truth

    return make


def few_values(n: int, *values: float) -> Make:
    """Return two-class scores with these chances of the first class, which are the chances."""

    def make(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first = generator.choice(values, n)
        truth = np.column_stack([first, 1.0 - first])
        return truth, truth

    return make


POPULATIONS: list[tuple[str, Strategy, Make]] = [
    ("2 classes, scores sum to 1", "uniform", class_by_class(1_000, (0, 0), 1.0)),
    ("2 classes, 10 and 7 bins", "discrete", class_by_class(1_000, (10, 7), 1.0)),
    ("2 classes, 10 and 10 bins", "discrete", class_by_class(1_000, (10, 10), 1.0)),
    ("2 classes, 20 and 13 bins", "discrete", class_by_class(2_000, (20, 13), 0.5)),
    ("2 classes, 20 and 13 bins", "uniform", class_by_class(2_000, (20, 13), 2.0)),
    ("2 classes, one value, 60 rows", "discrete", few_values(60, 0.7)),
    ("2 classes, one value, 200 rows", "uniform", few_values(200, 0.5)),
    ("2 classes, 4 values, 100 rows", "discrete", few_values(100, 0.2, 0.4, 0.6, 0.8)),
    ("2 classes, tenths, 150 rows", "uniform", few_values(150, *np.arange(1, 10) / 10)),
    ("3 classes, 10 bins each", "discrete", class_by_class(1_000, (10,) * 3, 1.0)),
    ("10 classes, 15 bins each", "discrete", class_by_class(1_000, (15,) * 10, 0.3)),
]


def floors(name: str, strategy: Any, make: Make, labels: int = LABELS, n_resamples: int = 2_000) -> Draws:
    options: Any = {"notion": "class-wise", "strategy": strategy}
    for seed in count():
        generator = np.random.default_rng(seed)
        scores, truth = make(generator)
        drawn = np.stack([draw_labels(truth, generator) for _ in range(labels)])
        floor = noise_floor(drawn[0], scores, n_resamples=n_resamples, random_state=generator, **options)
        errors = [ece(each, scores, **options) for each in drawn]
        yield size([replace(floor, observed=each).p_value <= SIGNIFICANCE for each in errors])


def reach(n: int, n_bins: int, where: str) -> Draws:
    for seed in count():
        generator = np.random.default_rng(seed)
        scores = generator.beta(2.0, 2.0, n)
        at = np.minimum((scores * n_bins).astype(int), n_bins - 1)
        share = np.bincount(at, minlength=n_bins) / n
        options: Any = {"notion": "confidence", "n_bins": n_bins}
        floor = noise_floor(scores > 0.5, ConfidencePrediction(scores), random_state=generator, **options)
        gap = np.full(n_bins, floor.smallest) * (-1.0) ** np.arange(n_bins)
        if where == "one bin":
            gap *= (share == share.max()) / share.max()
        true = scores + gap[at]
        if true.min() < -0.1 or true.max() > 1.1:
            raise ValueError(f"no chances have gaps of {floor.smallest:.3f}")
        outcomes = generator.random((LABELS, n)) < true
        errors = [ece(each, ConfidencePrediction(scores), **options) for each in outcomes]
        shown = [replace(floor, observed=each).p_value <= SIGNIFICANCE for each in errors]
        yield {"smallest error": floor.smallest, "shows (80 %)": float(np.mean(shown))}


def size(rejected: list[bool]) -> dict[str, float]:
    share = float(np.mean(rejected))
    return {"mean size (5 %)": share, "smallest": share, "largest": share}


#: Correlation of the normal variables whose thresholds the scores are, by how labels of a row go together.
DEPENDENCE = {"independent": 0.0, "share a cause": 0.5, "come together": 1.0}


def several(n: int, n_classes: int, words: str, labels: int = LABELS, n_resamples: int = 1_000) -> Draws:
    for seed in count():
        generator, drawn = np.random.default_rng(seed), []
        cause = generator.standard_normal((n, 1))
        scores = ndtr(0.7 * cause + 0.7 * ndtri(generator.random((n, n_classes))) - 0.5)
        for _ in range(labels):
            common, own = generator.standard_normal((n, 1)), generator.standard_normal(scores.shape)
            drawn.append(correlated(DEPENDENCE[words], common, own) < scores)
        rows, options = MultilabelPrediction(scores), {"n_resamples": n_resamples, "random_state": generator}
        floor = noise_floor(drawn[0], rows, notion="class-wise", **options)
        yield size([ece(each, rows, notion="class-wise") > floor.quantile(0.95) for each in drawn])


def correlated(correlation: float, common: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return uniform numbers from normal ones that share `common`."""
    return ndtr(np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own)


#: Confidences of one class: even, sure, rare, and of five values.
SCORES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "even": lambda generator, n: generator.random(n),
    "sure": lambda generator, n: 1.0 - generator.beta(0.3, 6.0, n),
    "rare": lambda generator, n: generator.beta(1.0, 60.0, n),
    "five values": lambda generator, n: generator.integers(1, 6, n) / 6.0,
}
#: Weights of rows, given their confidence.
WEIGHTS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "exponential": lambda random, scores: random.exponential(size=len(scores)),
    "1, and 10 of every tenth": lambda random, scores: np.where(random.random(len(scores)) < 0.1, 10, 1),
    "growing with the score": lambda random, scores: 0.1 + scores,
}
TESTS: dict[str, Any] = {"Kuiper": "kuiper", "KS": "ks", "Spiegelhalter": "spiegelhalter"}


def outcomes(name: str, n: int) -> tuple[np.random.Generator, Any]:
    """Return a generator, and what draws outcomes and confidences of one class with it."""
    generator = np.random.default_rng([list(SCORES).index(name), n])

    def draw() -> tuple[np.ndarray, TopLabelPrediction]:
        scores = SCORES[name](generator, n)
        top = TopLabelPrediction(np.zeros(n, dtype=int), scores)
        return np.where(generator.random(n) < scores, 0, 1), top

    return generator, draw


def line_misses(y: np.ndarray, top: TopLabelPrediction, weights: np.ndarray | None = None) -> dict[str, bool]:
    """Return whether intervals miss slope 1, intercept 0, and 0 in the large, and p for both is up to 5 %."""
    line = calibration_slope(y, top, sample_weight=weights)
    return {
        "slope (5 %)": not line.slope_lower <= 1.0 <= line.slope_upper,
        "intercept (5 %)": not line.intercept_lower <= 0.0 <= line.intercept_upper,
        "in the large (5 %)": not line.in_the_large_lower <= 0.0 <= line.in_the_large_upper,
        "both (5 %)": line.p_value <= SIGNIFICANCE,
    }


def binless(name: str, n: int, by: str, n_resamples: int = 199) -> Draws:
    _, draw = outcomes(name, n)
    for seed in count():
        y, top = draw()
        options = {"n_resamples": n_resamples if by == "redraws" else 0, "random_state": seed}
        p = {head: calibration_test(y, top, test=test, **options).p_value for head, test in TESTS.items()}
        yield {f"{head} (5 %)": value <= SIGNIFICANCE for head, value in p.items()} | line_misses(y, top)


def weighted(name: str, weights: str, n: int) -> Draws:
    generator, draw = outcomes(name, n)
    while True:
        y, top = draw()
        yield line_misses(y, top, WEIGHTS[weights](generator, top.confidence))


def kernel(n: int, n_classes: int, truth: str, exponent: float, n_resamples: int = 199) -> Draws:
    """Yield whether the kernel test rejects if the truth is the scores to a power (1: calibrated)."""
    generator = np.random.default_rng(0)
    for seed in count():
        logits = generator.normal(0.0, 1.5, (n, n_classes))
        y = draw_labels(softmax(exponent * logits), generator)
        options = {"n_resamples": n_resamples, "random_state": seed}
        found = calibration_test(y, softmax(logits), test="skce", **options)
        yield {"kernel test rejects (5 % of the scores)": found.p_value <= SIGNIFICANCE}


HEAVY, SERIES, QUESTIONS = "sites of heavy-tailed sizes", "AR(1) series", "questions, one score each"


def perfect(
    random: np.random.Generator, name: str, n_clusters: int, n_rows: int, correlation: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, labels and clusters of a perfect model; rows of each cluster are about `n_rows`.

    The latent number of a row picks its class, the predicted one first. In a series both it and the logits
    have the correlation with what follows; else the latent numbers of rows of a cluster have it.
    """
    n_classes, sizes = 3, np.full(n_clusters, n_rows)
    if name == HEAVY:
        n_classes, share = 6, random.pareto(1.2, n_clusters) + 1.0
        sizes = np.maximum(np.rint(share / share.mean() * n_rows), 1.0).astype(np.int64)
    cluster = np.repeat(np.arange(n_clusters), sizes)
    logits = random.standard_normal((len(cluster), n_classes))
    common, own = random.standard_normal(n_clusters)[cluster], random.standard_normal(len(cluster))
    uniform = correlated(correlation, common, own)
    if name == SERIES:
        logits, uniform = series(logits, correlation, n_rows), ndtr(series(own, correlation, n_rows))
    if name == QUESTIONS:
        logits = logits[np.searchsorted(cluster, cluster)]
    proba = softmax(2.0 * logits)
    order = np.argsort(-proba, axis=1, kind="stable")
    reach = np.take_along_axis(proba, order, axis=1).cumsum(axis=1)
    place = (reach < uniform[:, None]).sum(axis=1).clip(0, n_classes - 1)
    return proba, np.take_along_axis(order, place[:, None], axis=1)[:, 0], cluster


def series(own: np.ndarray, correlation: float, n_rows: int) -> np.ndarray:
    """Return series of normal numbers, each of which has this correlation with the one before it."""
    values = own.copy()
    for row in range(len(values)):
        if row % n_rows:
            values[row] = correlation * values[row - 1] + np.sqrt(1.0 - correlation**2) * own[row]
    return values


def rates(
    name: str, n_clusters: int, n_rows: int, correlation: float, told: str = "clusters", n: int = 199
) -> Draws:
    """Yield what is said about each file, by `n` redraws.

    calib is `told` the "clusters", has a "column" of them that nobody named, or "nothing".
    """
    for seed in count():
        random = np.random.default_rng(seed)
        proba, labels, cluster = perfect(random, name, n_clusters, n_rows, correlation)
        given: Any = {"clusters": {"cluster": cluster}, "column": {"metadata": pd.DataFrame({"k": cluster})}}
        rows, confidence = Predictions(proba, labels, **given.get(told, {})), proba.max(axis=1)
        options: Any = {"n_resamples": n, "random_state": random}
        top = reduce_to_binary(labels, rows, "confidence")
        floor = noise_floor(labels, rows, notion="confidence", **options)
        found = {
            "conf-ECE above noise (5 %)": floor.verdict == ABOVE_NOISE,
            "TL-ECE above noise (5 %)": noise_floor(labels, rows, **options).verdict == ABOVE_NOISE,
            "a direction (5 %)": bool(len(conclude(labels, rows).frame())),
            "conf-ECE interval above 0 (2.5 %)": error_interval(labels, rows, notion="confidence").lower
            > 0.0,
            "Kuiper (5 %)": calibration_test(
                labels, rows, test="kuiper", notion="confidence", **options
            ).verdict
            == REJECTED,
            "slope (5 %)": calibration_slope(None, top).p_value <= SIGNIFICANCE,
        }
        brier = (confidence * (1.0 - confidence)).mean()
        for key, head, truth in (
            ("accuracy", "accuracy interval misses (5 %)", confidence.mean()),
            ("top_brier", "Brier interval misses (5 %)", brier),
        ):
            low, high = measure_interval(labels, rows, key)
            found[head] = not low <= truth <= high
        yield found


SETTINGS = [
    ("patients", 20, 100, 0.3),
    ("patients", 50, 20, 0.3),
    (QUESTIONS, 200, 10, 0.8),
    ("pairs", 500, 2, 0.5),
    (HEAVY, 30, 60, 0.3),
    (SERIES, 20, 100, 0.9),
    ("clusters without dependence", 40, 25, 0.0),
]
CLUSTERS = ("population", "clusters", "rows each", "correlation")
PLACES = ("every bin", "one bin")
EXTREMES = {
    "smallest": lambda sizes: f"{100 * sizes.min():.1f} %",
    "largest": lambda sizes: f"{100 * sizes.max():.1f} %",
}
TABLES = {
    "floors": Table(("scores", "cells"), POPULATIONS, floors, EXTREMES),
    "several": Table(
        ("rows", "classes", "labels of a row"),
        [(*shape, words) for shape in ((300, 5), (2_000, 5), (1_000, 20)) for words in DEPENDENCE],
        several,
        EXTREMES,
    ),
    "reach": Table(
        ("n", "bins", "gaps"),
        [(n, bins, where) for n, bins in ((500, 1), (500, 5), (2_000, 15)) for where in PLACES],
        reach,
        {"smallest error": ".3f"},
    ),
    "binless": Table(
        ("scores", "n", "p-values"),
        [(name, n, by) for n in (100, 1_000, 5_000) for name in SCORES for by in ("redraws", "limit")],
        binless,
    ),
    "weighted": Table(
        ("scores", "weights", "n"),
        [(name, weights, n) for n in (100, 1_000) for name in SCORES for weights in WEIGHTS],
        weighted,
    ),
    "kernel": Table(
        ("n", "L", "truth"),
        [
            (*shape, *truth)
            for shape in ((150, 3), (300, 10), (2_000, 10))
            for truth in (("the scores", 1.0), ("their power 0.7", 0.7))
        ],
        kernel,
    ),
    "clusters": Table(CLUSTERS, SETTINGS, rates),
    "column": Table(CLUSTERS, [(*setting, "column") for setting in SETTINGS], rates),
    "untold": Table(CLUSTERS, [(*setting, "nothing") for setting in SETTINGS], rates),
}

if __name__ == "__main__":
    main()
