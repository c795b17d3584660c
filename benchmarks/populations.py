"""Simulated populations whose true probabilities are known, to see how often an interval holds the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, softmax

from calib import TopLabelPrediction
from calib.data.notions import Notion, Strategy
from calib.evidence.binning import BinaryProblems, BinStatistics, bin_statistics
from calib.evidence.rows import reduce_to_binary


def scores(seed: int, n_samples: int, n_classes: int) -> np.ndarray:
    """Return scores (n, L) that are often sure: a class prior, noise, and a gamma push for one class."""
    generator = np.random.default_rng(seed)
    logits = np.log(generator.dirichlet(np.full(n_classes, 5.0)) * n_classes)
    logits = logits + 0.3 * generator.normal(size=(n_samples, n_classes))
    pushed = generator.integers(n_classes, size=n_samples)
    logits[np.arange(n_samples), pushed] += generator.gamma(2.0, 1.8, n_samples)
    return softmax(logits, axis=1)


def few_scores(seed: int, n_samples: int, n_classes: int) -> np.ndarray:
    """Return scores of a forest of 20 trees: shares of votes, with many ties."""
    generator = np.random.default_rng(seed)
    votes = generator.multinomial(20, scores(seed, n_samples, n_classes))
    return votes / 20.0


def overconfident(proba: np.ndarray, size: float) -> np.ndarray:
    """Return true probabilities flatter than the scores; size 0 is a calibrated model."""
    powered = np.where(proba > 0, proba, 1e-300) ** (1.0 / (1.0 + size))
    return powered / powered.sum(axis=1, keepdims=True)


def one_class(proba: np.ndarray, size: float) -> np.ndarray:
    """Return true probabilities that differ where class 0 is predicted: a share of it is class 1."""
    truth, rows = proba.copy(), np.flatnonzero(proba.argmax(axis=1) == 0)
    moved = min(size, 1.0) * truth[rows, 0]
    truth[rows, 0] -= moved
    truth[rows, 1] += moved
    return truth


def biased(proba: np.ndarray, size: float) -> np.ndarray:
    """Return true probabilities with every second class more frequent than its score, the others less."""
    tilted = proba * np.exp(size * (-1.0) ** np.arange(proba.shape[1]))
    return tilted / tilted.sum(axis=1, keepdims=True)


def decided(truth: np.ndarray, share: float, seed: int = 0) -> np.ndarray:
    """Return true probabilities of rows on whose label people mostly agree: this much of it is one class.

    The classes agreed on are drawn from `truth`, so that scores show no trace of them.
    """
    agreed = np.eye(truth.shape[1])[draw_labels(truth, np.random.default_rng(seed))]
    return (1.0 - share) * truth + share * agreed


def draw_labels(truth: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """Draw one label a row."""
    reach = truth.cumsum(axis=1)
    drawn = (generator.random((len(truth), 1)) * reach[:, -1:] > reach[:, :-1]).sum(axis=1)
    return drawn.astype(np.int64)


def labels_of(truth: np.ndarray) -> Iterator[np.ndarray]:
    """Draw labels of the same rows again and again."""
    generator = np.random.default_rng(0)
    while True:
        yield draw_labels(truth, generator)


#: Confidences of one class: even, sure, rare, and of few values.
CONFIDENCES: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "even": np.random.Generator.random,
    "sure": lambda generator, n: 1.0 - generator.beta(0.3, 6.0, n),
    "rare": lambda generator, n: generator.beta(1.0, 60.0, n),
    "five values": lambda generator, n: generator.integers(1, 6, n) / 6.0,
    "20 values": lambda generator, n: generator.integers(1, 20, n) / 20.0,
}


def events(
    generator: np.random.Generator,
    n: int,
    confidences: str,
    chance: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> Iterator[tuple[np.ndarray, TopLabelPrediction]]:
    """Draw labels and confidences of one class again and again, given the chance of a confidence."""
    while True:
        drawn = CONFIDENCES[confidences](generator, n)
        labels = np.where(generator.random(n) < chance(drawn), 0, 1)
        yield labels, TopLabelPrediction(np.zeros(n, dtype=int), drawn)


def correlated(correlation: float, common: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return uniform numbers from normal ones that share `common`."""
    return ndtr(np.sqrt(correlation) * common + np.sqrt(1.0 - correlation) * own)


@dataclass(frozen=True, eq=False)
class Population:
    """Fixed scores (a matrix, or predicted classes with confidences) in cells, and the truth behind them."""

    scores: Any
    truth: np.ndarray
    notion: Notion = "top-label"
    strategy: Strategy = "uniform"
    n_bins: int = 15
    weights: np.ndarray | None = None

    @cached_property
    def problems(self) -> BinaryProblems:
        """The binary problems, with outcomes of no meaning."""
        labels = np.zeros(len(self.truth), dtype=int)
        return reduce_to_binary(labels, self.scores, self.notion, sample_weight=self.weights)

    @cached_property
    def cells(self) -> BinStatistics:
        """The cells, with outcomes of no meaning."""
        return bin_statistics(self.problems, n_bins=self.n_bins, strategy=self.strategy)

    def gaps(self) -> np.ndarray:
        """Return the true gap of each cell, chance minus score."""
        problems, cells = self.problems, self.cells
        event = np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets))
        if self.notion != "class-wise":
            scores = self.scores
            label = scores.argmax(axis=1) if isinstance(scores, np.ndarray) else scores.label
            event = label[problems.rows]
        chance = self.truth[problems.rows, event]
        if problems.weights is not None:
            chance = chance * problems.weights
        return np.add.reduceat(chance, cells.start) / cells.weight - cells.mean_score

    def error(self, norm: int) -> float:
        """Return the true error of these cells given these scores."""
        return float((self.cells.share @ np.abs(self.gaps()) ** norm) ** (1.0 / norm))

    def floor(self) -> float:
        """Return about what a calibrated model of this size shows on average."""
        cells = self.cells
        spread = np.sqrt(cells.mean_score * (1.0 - cells.mean_score) / cells.effective)
        return float(np.sqrt(2.0 / np.pi) * cells.share @ spread)


def at_error(
    proba: np.ndarray, pattern: Callable[[np.ndarray, float], np.ndarray], floors: float, **cells: Any
) -> Population:
    """Return the population whose true l1 error is `floors` times the floor, or the most it can be."""

    def population(size: float) -> Population:
        return Population(proba, proba if size == 0.0 else pattern(proba, size), **cells)

    if floors == 0.0:
        return population(0.0)
    target, top = floors * population(0.0).floor(), 0.05
    while population(top).error(1) < target and top < 20.0:
        top *= 2.0
    if population(top).error(1) < target:
        return population(top)
    return population(brentq(lambda size: population(size).error(1) - target, 0.0, top, xtol=1e-6))
