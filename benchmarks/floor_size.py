"""How often a calibrated model is "above noise": the size of the test by class-wise noise floors, at 5 %.

``python -m benchmarks.floor_size``: a draw is a set of scores, for which labels are drawn anew from the
truth `LABELS` times; each observed CW-ECE gets its p-value from the noise floor. Scores of histogram
binning class by class do not sum to 1: labels follow one vector per row, scores are its mean over each
cell. The second table is about scores of classes several of which can be true: labels of a row are
independent, share a cause, or come together as often as their scores allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.populations import draw_labels
from benchmarks.simulation import Draws, Table, main, rate
from calib import MultilabelPrediction, ece, noise_floor
from calib.evidence.binning import Strategy
from calib.stats.floors import SIGNIFICANCE

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
    """Return scores binned class by class, and the chances behind them."""

    def make(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        truth = generator.dirichlet(np.full(len(bins), concentration), n)
        return np.column_stack([binned(truth[:, i], count) for i, count in enumerate(bins)]), truth

    return make


def exact(n: int, n_classes: int, concentration: float) -> Make:
    """Return scores that are the chances."""

    def make(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        truth = generator.dirichlet(np.full(n_classes, concentration), n)
        return truth, truth

    return make


def few_values(n: int, *values: float) -> Make:
    """Return two-class scores with these chances of the first class, which are the chances."""

    def make(generator: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        first = generator.choice(values, n)
        truth = np.column_stack([first, 1.0 - first])
        return truth, truth

    return make


POPULATIONS: list[tuple[str, Strategy, Make]] = [
    ("2 classes, scores sum to 1", "uniform", exact(1_000, 2, 1.0)),
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

#: How labels of a row go together, where several can be true.
DEPENDENCE = {"independent": 0.0, "share a cause": 0.5, "come together": 1.0}


def size(name: str, strategy: Any, make: Make, labels: int = LABELS, n_resamples: int = 2_000) -> Draws:
    """Yield the share of rejections at 5 % for each set of scores."""
    options: Any = {"notion": "class-wise", "strategy": strategy}
    for seed in count():
        generator = np.random.default_rng(seed)
        scores, truth = make(generator)
        drawn = np.stack([draw_labels(truth, generator) for _ in range(labels)])
        floor = noise_floor(drawn[0], scores, n_resamples=n_resamples, random_state=generator, **options)
        errors = [ece(each, scores, **options) for each in drawn]
        yield {
            "rejected": np.mean([replace(floor, observed=each).p_value <= SIGNIFICANCE for each in errors])
        }


def several_true(scores: np.ndarray, dependence: float, generator: np.random.Generator) -> np.ndarray:
    """Return whether each class is true, (n, L), each with its score as its chance.

    `dependence` is the correlation of the normal variables whose thresholds the scores are: 0 for independent
    labels, 1 for those that come together as often as the scores allow.
    """
    common, own = generator.standard_normal((len(scores), 1)), generator.standard_normal(scores.shape)
    uniform = ndtr(np.sqrt(dependence) * common + np.sqrt(1.0 - dependence) * own)
    return uniform < scores


def size_of_several(
    n: int, n_classes: int, words: str, labels: int = LABELS, n_resamples: int = 1_000
) -> Draws:
    """Yield the share of rejections at 5 % for each set of scores of which several can be true."""
    for seed in count():
        generator = np.random.default_rng(seed)
        cause = generator.standard_normal((n, 1))
        scores = ndtr(0.7 * cause + 0.7 * ndtri(generator.random((n, n_classes))) - 0.5)
        drawn = [several_true(scores, DEPENDENCE[words], generator) for _ in range(labels)]
        rows, options = MultilabelPrediction(scores), {"n_resamples": n_resamples, "random_state": generator}
        floor = noise_floor(drawn[0], rows, notion="class-wise", **options)
        errors = [ece(each, rows, notion="class-wise") for each in drawn]
        yield {"rejected": np.mean(np.array(errors) > floor.quantile(0.95))}


SIZES = {
    "mean size (5 %)": ("rejected", rate),
    "smallest": ("rejected", lambda rates: f"{100 * rates.min():.1f} %"),
    "largest": ("rejected", lambda rates: f"{100 * rates.max():.1f} %"),
}
TABLES = [
    Table(("scores", "cells"), POPULATIONS, size, SIZES),
    Table(
        ("rows", "classes", "labels of a row"),
        [(*shape, words) for shape in ((300, 5), (2_000, 5), (1_000, 20)) for words in DEPENDENCE],
        size_of_several,
        SIZES,
    ),
]

if __name__ == "__main__":
    main(8)
