"""Populations that tests draw rows from."""

from __future__ import annotations

import numpy as np

from calib import Predictions

#: Classes of `rows`.
L = 4


def rows(seed: int, n: int = 300, n_classes: int = L) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities with one class almost never predicted, and labels with the last class absent."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.array([1.0] * (n_classes - 1) + [0.1]), n)
    return proba, random.integers(0, n_classes - 1, n)


def population(
    n: int = 2000, n_classes: int = 10, seed: int = 0, spread: float = 6.0
) -> tuple[np.ndarray, np.ndarray]:
    """Draw (proba, labels): logits are normal with one raised class, labels follow the probabilities."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(n, n_classes))
    logits[np.arange(n), random.integers(0, n_classes, n)] += spread * random.random(n)
    proba = softmax(logits)
    return proba, drawn(proba, random)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities of (n, L) logits."""
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exps / exps.sum(axis=1, keepdims=True)


def drawn(proba: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Labels (n,) that follow (n, L) probabilities."""
    return (proba.cumsum(axis=1) > random.random(len(proba))[:, None]).argmax(axis=1)


def dirichlet(n: int, n_classes: int = 3, seed: int = 0, sharpen: float = 1.0) -> Predictions:
    """Labels drawn from Dirichlet vectors; the prediction is the vector raised to a power."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.full(n_classes, 0.8), size=n)
    labels = drawn(truth, rng)
    powered = truth**sharpen
    return Predictions(powered / powered.sum(axis=1, keepdims=True), labels)
