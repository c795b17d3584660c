"""Populations that tests draw rows from."""

from __future__ import annotations

import numpy as np

#: Classes of `rows`.
L = 4


def rows(seed: int, n: int = 300, n_classes: int = L) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities with one class almost never predicted, and labels with the last class absent."""
    random = np.random.default_rng(seed)
    proba = random.dirichlet(np.array([1.0] * (n_classes - 1) + [0.1]), n)
    return proba, random.integers(0, n_classes - 1, n)
