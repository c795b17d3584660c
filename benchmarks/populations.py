"""Simulated populations whose true probabilities are known, to see how often an interval holds the truth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

from calib.data.notions import Notion
from calib.evidence.binning import BinaryProblems, BinStatistics, Strategy, bin_statistics
from calib.evidence.reductions import reduce_to_binary


def scores(seed: int, n_samples: int, n_classes: int) -> np.ndarray:
    """Return scores (n, L) that are often sure: a class prior, noise, and a gamma push for one class."""
    generator = np.random.default_rng(seed)
    logits = np.log(generator.dirichlet(np.full(n_classes, 5.0)) * n_classes)
    logits = logits + 0.3 * generator.normal(size=(n_samples, n_classes))
    pushed = generator.integers(n_classes, size=n_samples)
    logits[np.arange(n_samples), pushed] += generator.gamma(2.0, 1.8, n_samples)
    return softmax(logits)


def few_scores(seed: int, n_samples: int, n_classes: int) -> np.ndarray:
    """Return scores of a forest of 20 trees: shares of votes, with many ties."""
    generator = np.random.default_rng(seed)
    votes = generator.multinomial(20, scores(seed, n_samples, n_classes))
    return votes / 20.0


def softmax(logits: np.ndarray) -> np.ndarray:
    """Return the softmax of each row."""
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exponentials / exponentials.sum(axis=1, keepdims=True)


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


def labels_of(truth: np.ndarray, generator: np.random.Generator | None = None) -> Iterator[np.ndarray]:
    """Draw labels of the same rows again and again."""
    generator = np.random.default_rng(0) if generator is None else generator
    while True:
        yield draw_labels(truth, generator)


@dataclass(frozen=True, eq=False)
class Population:
    """Fixed scores in cells, and the truth behind them."""

    name: str
    proba: np.ndarray
    truth: np.ndarray
    notion: Notion
    strategy: Strategy
    n_bins: int
    weights: np.ndarray | None = None

    @property
    def problems(self) -> BinaryProblems:
        """The binary problems, with outcomes of no meaning."""
        labels = np.zeros(len(self.proba), dtype=int)
        return reduce_to_binary(labels, self.proba, self.notion, sample_weight=self.weights)

    @property
    def cells(self) -> BinStatistics:
        """The cells, with outcomes of no meaning."""
        return bin_statistics(self.problems, n_bins=self.n_bins, strategy=self.strategy)

    def gaps(self) -> np.ndarray:
        """Return the true gap of each cell, chance minus score."""
        problems, cells = self.problems, self.cells
        owner = np.repeat(np.arange(problems.n_problems), np.diff(problems.offsets))
        event = owner if self.notion == "class-wise" else self.proba.argmax(axis=1)[problems.rows]
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
    name: str,
    proba: np.ndarray,
    pattern: Callable[[np.ndarray, float], np.ndarray],
    floors: float,
    notion: Notion = "top-label",
    strategy: Strategy = "uniform",
    n_bins: int = 15,
    weights: np.ndarray | None = None,
) -> Population:
    """Return the population whose true l1 error is `floors` times the floor, or the most it can be."""

    def population(size: float) -> Population:
        truth = proba if size == 0.0 else pattern(proba, size)
        return Population(name, proba, truth, notion, strategy, n_bins, weights)

    if floors == 0.0:
        return population(0.0)
    target, top = floors * population(0.0).floor(), 0.05
    while population(top).error(1) < target and top < 20.0:
        top *= 2.0
    if population(top).error(1) < target:
        return population(top)
    return population(brentq(lambda size: population(size).error(1) - target, 0.0, top, xtol=1e-6))
