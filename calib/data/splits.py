"""Rows divided at random, stratified by class, with the rows of a cluster on one side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from calib.data.validation import random_generator

#: Roles of further columns: ids of rows, and cross-validation folds.
ID, FOLD = "id", "fold"


def column_of(rows: Any, role: str) -> pd.Series | None:
    """Return the further column that has a role; None without, as for an array of scores."""
    table = getattr(rows, "metadata", None)
    return None if table is None else table.get(rows.columns.get(role))


def units_of(cluster: np.ndarray | None, n_samples: int) -> np.ndarray:
    return np.arange(n_samples) if cluster is None else pd.factorize(cluster)[0]


def in_order_of_strata(labels: np.ndarray, unit: np.ndarray, random_state: Any) -> np.ndarray:
    """Return units sorted by class, in random order inside a class: every k-th unit is a stratified draw."""
    strata = labels if labels.ndim == 1 else labels.sum(axis=1)
    first = np.unique(unit, return_index=True)[1]
    shuffled = random_generator(random_state).permutation(len(first))
    return shuffled[np.argsort(strata[first][shuffled], kind="stable")]


def stratified_folds(
    labels: np.ndarray, n_folds: int, random_state: Any, cluster: np.ndarray | None = None
) -> np.ndarray:
    """Return the fold of each row, (n,) int64; folds differ by at most one row or cluster in a class."""
    unit = units_of(cluster, len(labels))
    order = in_order_of_strata(labels, unit, random_state)
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.arange(len(order)) % n_folds
    return fold[unit]
