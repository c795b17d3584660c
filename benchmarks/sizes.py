"""How often perfect models are called worse than they are: sizes of tests at 5 %, and intervals that miss.

floors, several: a draw is a set of scores, for which labels are drawn anew `LABELS` times; each CW-ECE gets
its p-value from the noise floor. Scores of histogram binning class by class do not sum to 1: labels follow
one vector per row, scores are its mean over each cell. If several classes can be true, the labels of a row
are independent, share a cause, or come together as often as their scores allow.

reach: how often an error of the size that is said to show in 80 of 100 samples shows: in every bin, with
the signs of the gaps by turns, or in the bin of most rows alone.

binless, weighted, kernel: tests without bins, by redraws of the outcomes and by the limits for many rows;
the line in log-odds of weighted rows and of rounded scores; the kernel test of whole vectors, also of models
that are not calibrated.

clusters, untold: labels follow the scores, and the latent numbers of the rows of a cluster depend on each
other. Every statement is wrong. calib is given the clusters, or is not told.

combined: the conclusion and its tests, of perfect models with 100 classes and with clusters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, softmax

from benchmarks.populations import correlated, draw_labels, events
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
from calib.data.notions import Strategy
from calib.evidence.rows import as_evidence
from calib.stats.binless import REJECTED
from calib.stats.floors import ABOVE_NOISE, SIGNIFICANCE
from calib.stats.intervals import measure_interval

Made = tuple[np.ndarray, np.ndarray]

#: Draws of the labels of each set of scores.
LABELS = 1_000


def binned(chance: np.ndarray, n_bins: int) -> np.ndarray:
    """Return the mean of the chances in each of some bins of equal mass."""
    scores = np.empty_like(chance)
    for part in np.array_split(np.argsort(chance, kind="stable"), n_bins):
        scores[part] = chance[part].mean()
    return scores


def class_by_class(n: int, bins: tuple[int, ...], concentration: float, random: np.random.Generator) -> Made:
    """Return scores binned class by class, 0 for chances as they are, and the chances behind them."""
    truth = random.dirichlet(np.full(len(bins), concentration), n)
    columns = [binned(truth[:, i], count) if count else truth[:, i] for i, count in enumerate(bins)]
    return np.column_stack(columns), truth


def few_values(n: int, values: tuple[float, ...], random: np.random.Generator) -> Made:
    """Return two-class scores with these chances of the first class, which are the chances."""
    first = random.choice(values, n)
    truth = np.column_stack([first, 1.0 - first])
    return truth, truth


POPULATIONS: list[tuple[str, Strategy, Callable[[np.random.Generator], Made]]] = [
    ("2 classes, scores sum to 1", "uniform", partial(class_by_class, 1_000, (0, 0), 1.0)),
    ("2 classes, 10 and 7 bins", "discrete", partial(class_by_class, 1_000, (10, 7), 1.0)),
    ("2 classes, 10 and 10 bins", "discrete", partial(class_by_class, 1_000, (10, 10), 1.0)),
    ("2 classes, 20 and 13 bins", "discrete", partial(class_by_class, 2_000, (20, 13), 0.5)),
    ("2 classes, 20 and 13 bins", "uniform", partial(class_by_class, 2_000, (20, 13), 2.0)),
    ("2 classes, one value, 60 rows", "discrete", partial(few_values, 60, (0.7,))),
    ("2 classes, one value, 200 rows", "uniform", partial(few_values, 200, (0.5,))),
    ("2 classes, 4 values, 100 rows", "discrete", partial(few_values, 100, (0.2, 0.4, 0.6, 0.8))),
    ("2 classes, tenths, 150 rows", "uniform", partial(few_values, 150, np.arange(1, 10) / 10)),
    ("3 classes, 10 bins each", "discrete", partial(class_by_class, 1_000, (10,) * 3, 1.0)),
    ("10 classes, 15 bins each", "discrete", partial(class_by_class, 1_000, (15,) * 10, 0.3)),
]


EXTREMES = {
    "smallest": lambda sizes: f"{100 * sizes.min():.1f} %",
    "largest": lambda sizes: f"{100 * sizes.max():.1f} %",
}


def size(rejected: list[bool]) -> dict[str, float]:
    share = float(np.mean(rejected))
    return {"mean size (5 %)": share, "smallest": share, "largest": share}


@Table(("scores", "cells"), POPULATIONS, EXTREMES)
def floors(name: str, strategy: Any, make: Any, labels: int = LABELS, n_resamples: int = 2_000) -> Draws:
    options: Any = {"notion": "class-wise", "strategy": strategy}
    for seed in count():
        generator = np.random.default_rng(seed)
        scores, truth = make(generator)
        drawn = np.stack([draw_labels(truth, generator) for _ in range(labels)])
        floor = noise_floor(drawn[0], scores, n_resamples=n_resamples, random_state=generator, **options)
        errors = [ece(each, scores, **options) for each in drawn]
        yield size([replace(floor, observed=each).p_value <= SIGNIFICANCE for each in errors])


@Table(
    ("n", "bins", "gaps"),
    [(*shape, where) for shape in ((500, 1), (500, 5), (2_000, 15)) for where in ("every bin", "one bin")],
    {"smallest error": ".3f"},
)
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


#: Correlation of the normal variables whose thresholds the scores are, by how labels of a row go together.
DEPENDENCE = {"independent": 0.0, "share a cause": 0.5, "come together": 1.0}


@Table(
    ("rows", "classes", "labels of a row"),
    [(*shape, words) for shape in ((300, 5), (2_000, 5), (1_000, 20)) for words in DEPENDENCE],
    EXTREMES,
)
def several(n: int, n_classes: int, words: str, labels: int = LABELS, n_resamples: int = 1_000) -> Draws:
    for seed in count():
        generator, drawn = np.random.default_rng(seed), []
        cause = generator.standard_normal((n, 1))
        scores = ndtr(0.7 * cause + 0.7 * ndtri(generator.random((n, n_classes))) - 0.5)
        for _ in range(labels):
            common, own = generator.standard_normal((n, 1)), generator.standard_normal(scores.shape)
            drawn.append(correlated(DEPENDENCE[words], common, own) < scores)
        rows, options = MultilabelPrediction(scores), {"notion": "class-wise"}
        floor = noise_floor(drawn[0], rows, n_resamples=n_resamples, random_state=generator, **options)
        yield size([ece(each, rows, **options) > floor.quantile(0.95) for each in drawn])


#: Weights of rows, given their confidence.
WEIGHTS: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
    "exponential": lambda random, scores: random.exponential(size=len(scores)),
    "1, and 10 of every tenth": lambda random, scores: np.where(random.random(len(scores)) < 0.1, 10, 1),
    "growing with the score": lambda random, scores: 0.1 + scores,
}
NAMES = ("even", "sure", "rare", "five values")
TESTS: dict[str, Any] = {"Kuiper": "kuiper", "KS": "ks", "Spiegelhalter": "spiegelhalter"}


def line_misses(y: np.ndarray, top: TopLabelPrediction, weights: np.ndarray | None = None) -> dict[str, bool]:
    """Return whether intervals miss slope 1, intercept 0, and 0 in the large, and p for both is up to 5 %."""
    line = calibration_slope(y, top, sample_weight=weights)
    return {
        "slope (5 %)": not line.slope_lower <= 1.0 <= line.slope_upper,
        "intercept (5 %)": not line.intercept_lower <= 0.0 <= line.intercept_upper,
        "in the large (5 %)": not line.in_the_large_lower <= 0.0 <= line.in_the_large_upper,
        "both (5 %)": line.p_value <= SIGNIFICANCE,
    }


def generator_of(name: str, n: int) -> np.random.Generator:
    return np.random.default_rng([NAMES.index(name), n])


@Table(
    ("scores", "n", "p-values"),
    [(name, n, by) for n in (100, 1_000, 5_000) for name in NAMES for by in ("redraws", "limit")],
)
def binless(name: str, n: int, by: str, n_resamples: int = 199) -> Draws:
    for seed, (y, top) in enumerate(events(generator_of(name, n), n, name)):
        options = {"n_resamples": n_resamples if by == "redraws" else 0, "random_state": seed}
        p = {head: calibration_test(y, top, test=test, **options).p_value for head, test in TESTS.items()}
        yield {f"{head} (5 %)": value <= SIGNIFICANCE for head, value in p.items()} | line_misses(y, top)


@Table(
    ("scores", "weights", "n"),
    [(name, weights, n) for n in (100, 1_000) for name in NAMES for weights in WEIGHTS],
)
def weighted(name: str, weights: str, n: int) -> Draws:
    generator = generator_of(name, n)
    for y, top in events(generator, n, name):
        yield line_misses(y, top, WEIGHTS[weights](generator, top.confidence))


@Table(("scores", "n"), [(name, n) for name in ("even", "sure", "rare") for n in (1_000, 5_000)])
def rounded(name: str, n: int) -> Draws:
    """Yield what the line misses if scores are rounded to two decimals after the outcomes are drawn."""
    for y, top in events(generator_of(name, n), n, name):
        yield line_misses(y, TopLabelPrediction(top.label, top.confidence.round(2)))


@Table(
    ("n", "L", "truth"),
    [
        (*shape, *truth)
        for shape in ((150, 3), (300, 10), (2_000, 10))
        for truth in (("the scores", 1.0), ("their power 0.7", 0.7))
    ],
)
def kernel(n: int, n_classes: int, truth: str, exponent: float, n_resamples: int = 199) -> Draws:
    """Yield whether the kernel test rejects if the truth is the scores to a power (1: calibrated)."""
    generator = np.random.default_rng(0)
    for seed in count():
        logits = generator.normal(0.0, 1.5, (n, n_classes))
        y = draw_labels(softmax(exponent * logits, axis=1), generator)
        options = {"n_resamples": n_resamples, "random_state": seed}
        found = calibration_test(y, softmax(logits, axis=1), test="skce", **options)
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
    proba = softmax(2.0 * logits, axis=1)
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


@Table(CLUSTERS, [(*setting, "nothing") for setting in SETTINGS], name="untold")
@Table(CLUSTERS, SETTINGS, name="clusters")
def rates(
    name: str, n_clusters: int, n_rows: int, correlation: float, told: str = "clusters", n: int = 199
) -> Draws:
    """Yield what is said about each file, by `n` redraws.

    calib is `told` the "clusters", or "nothing".
    """
    for seed in count():
        random = np.random.default_rng(seed)
        proba, labels, cluster = perfect(random, name, n_clusters, n_rows, correlation)
        rows, confidence = Predictions(proba, labels), proba.max(axis=1)
        rows = rows.with_cluster(cluster) if told == "clusters" else rows
        options: Any = {"n_resamples": n, "random_state": random}
        pooled: Any = {"notion": "confidence"}
        floor = noise_floor(labels, rows, **pooled, **options)
        top_floor = noise_floor(labels, rows, **options)
        kuiper = calibration_test(labels, rows, test="kuiper", **pooled, **options)
        line = calibration_slope(reduce_to_binary(labels, rows, "confidence"))
        found = {
            "conf-ECE above noise (5 %)": floor.verdict == ABOVE_NOISE,
            "TL-ECE above noise (5 %)": top_floor.verdict == ABOVE_NOISE,
            "a direction (5 %)": bool(len(conclude(labels, rows).frame())),
            "conf-ECE interval above 0 (2.5 %)": error_interval(labels, rows, **pooled).lower > 0.0,
            "Kuiper (5 %)": kuiper.verdict == REJECTED,
            "slope (5 %)": line.p_value <= SIGNIFICANCE,
        }
        truths = {"accuracy": confidence, "top_brier": confidence * (1.0 - confidence)}
        for key, head in (("accuracy", "accuracy"), ("top_brier", "Brier")):
            low, high = measure_interval(as_evidence(labels, rows), key)
            found[f"{head} interval misses (5 %)"] = not low <= truths[key].mean() <= high
        yield found


@Table(
    ("population", "L", "clusters", "rows each", "correlation"),
    [
        ("100 classes", 100, 2_000, 1, 0.0),
        ("patients", 3, 20, 100, 0.3),
        ("patients", 3, 50, 20, 0.3),
        ("pairs", 3, 500, 2, 0.5),
    ],
)
def combined(name: str, n_classes: int, n_clusters: int, n_rows: int, correlation: float) -> Draws:
    """Yield what the conclusion about a perfect model says, and its single tests."""
    for seed in count():
        random = np.random.default_rng(seed)
        if n_rows == 1:
            proba = softmax(2.0 * random.standard_normal((n_clusters, n_classes)), axis=1)
            labels, cluster = draw_labels(proba, random), None
        else:
            proba, labels, cluster = perfect(random, name, n_clusters, n_rows, correlation)
        said = conclude(labels, proba, cluster=cluster, random_state=seed)
        tests = said.tests.without_bins
        found = {notion: floor.p_value for notion, floor in said.tests.floors.items()}
        found |= {test.title: test.p_value for test in tests} | {"slope": tests.slope.p_value}
        yield {"all tests together (5 %)": said.rejected, "a range or class is stated": bool(said.gaps)} | {
            f"{head} (5 %)": p_value <= SIGNIFICANCE for head, p_value in found.items()
        }


if __name__ == "__main__":
    main()
