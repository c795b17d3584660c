"""How often a calibrated model is "above noise": the size of the test by class-wise noise floors, at 5 %.

``python -m benchmarks.floor_size``: scores stay fixed, labels are drawn anew from the truth, and each
observed CW-ECE gets its p-value from the noise floor. Scores of histogram binning class by
class do not sum to 1: labels follow one vector per row, scores are its mean over each cell. A second table
is about scores of classes several of which can be true: labels of a row are independent, share a cause, or
come together as often as their scores allow. ``--draws`` sets the draws of labels for each of the score sets
(default 1,000), ``--sets`` their number (8).
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import ndtr, ndtri

from benchmarks.populations import draw_labels
from calib.data.announcements import MultilabelPrediction
from calib.evidence.binning import Strategy
from calib.stats import ece, noise_floor
from calib.stats.floors import LEVEL

Make = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


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


def size(make: Make, strategy: Strategy, sets: int, draws: int, *, n_resamples: int = 2_000) -> np.ndarray:
    """Return the share of rejections at 5 % for each set of scores."""
    rates = np.empty(sets)
    for seed in range(sets):
        generator = np.random.default_rng(seed)
        scores, truth = make(generator)
        labels = np.stack([draw_labels(truth, generator) for _ in range(draws)])
        floor = noise_floor(
            labels[0],
            scores,
            notion="class-wise",
            strategy=strategy,
            n_resamples=n_resamples,
            random_state=generator,
        )
        errors = [ece(each, scores, notion="class-wise", strategy=strategy) for each in labels]
        rates[seed] = np.mean([replace(floor, observed=each).p_value <= LEVEL for each in errors])
    return rates


def several_true(scores: np.ndarray, dependence: float, generator: np.random.Generator) -> np.ndarray:
    """Return whether each class is true, (n, L), each with its score as its chance.

    `dependence` is the correlation of the normal variables whose thresholds the scores are: 0 for independent
    labels, 1 for those that come together as often as the scores allow.
    """
    common, own = generator.standard_normal((len(scores), 1)), generator.standard_normal(scores.shape)
    uniform = ndtr(np.sqrt(dependence) * common + np.sqrt(1.0 - dependence) * own)
    return uniform < scores


def size_of_several(
    n: int, n_classes: int, dependence: float, sets: int, draws: int, *, n_resamples: int = 1_000
) -> np.ndarray:
    """Return the share of rejections at 5 % for each set of scores of which several can be true."""
    rates = np.empty(sets)
    for seed in range(sets):
        generator = np.random.default_rng(seed)
        cause = generator.standard_normal((n, 1))
        scores = ndtr(0.7 * cause + 0.7 * ndtri(generator.random((n, n_classes))) - 0.5)
        labels = [several_true(scores, dependence, generator) for _ in range(draws)]
        rows = MultilabelPrediction(scores)
        floor = noise_floor(
            labels[0], rows, notion="class-wise", n_resamples=n_resamples, random_state=generator
        )
        errors = [ece(each, rows, notion="class-wise") for each in labels]
        rates[seed] = np.mean(np.array(errors) > floor.quantile(0.95))
    return rates


def _printed(rates: np.ndarray) -> str:
    shares = 100 * rates
    return f"{shares.mean():.1f} % | {shares.min():.1f} % | {shares.max():.1f} %"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=1_000)
    parser.add_argument("--sets", type=int, default=8)
    options = parser.parse_args()
    print("| scores | cells | mean size | smallest | largest |")
    print("| :-- | :-- | --: | --: | --: |")
    for name, strategy, make in POPULATIONS:
        rates = size(make, strategy, options.sets, options.draws)
        print(f"| {name} | {strategy} | {_printed(rates)} |", flush=True)
    print("\n| rows | classes | labels of a row | mean size | smallest | largest |")
    print("| --: | --: | :-- | --: | --: | --: |")
    for n, n_classes in ((300, 5), (2_000, 5), (1_000, 20)):
        for words, dependence in DEPENDENCE.items():
            rates = size_of_several(n, n_classes, dependence, options.sets, options.draws)
            print(f"| {n:,} | {n_classes} | {words} | {_printed(rates)} |", flush=True)


if __name__ == "__main__":
    main()
