"""Views of many classes as three, for the triangle: all others merged, or three classes renormalised."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calib.base.exceptions import InputError
from calib.base.parallel import map_row_blocks
from calib.data.predictions import Predictions


def most_mistaken(predictions: Predictions, n_classes: int = 3) -> list[int]:
    """Return the codes of the classes that are most often mistaken for each other.

    The pair with the most rows of one class predicted as the other comes first, then the class with the most
    such rows with the pair. Ties go to more frequent classes.
    """
    size = predictions.n_classes
    if predictions.labels is None or not 2 <= n_classes <= size:
        raise InputError(
            f"expected labels and 2 to {size} of {size} classes; got {n_classes} classes and "
            f"{'no ' if predictions.labels is None else ''}labels"
        )
    true, predicted = predictions.labels, predictions.label
    frequent = np.bincount(true, minlength=size) / (len(true) + 1)  # below 1: decides among equals only
    wrong = true != predicted
    pairs, count = np.unique(
        np.sort(np.column_stack([true[wrong], predicted[wrong]]), axis=1), axis=0, return_counts=True
    )
    chosen: list[int] = []
    if len(pairs):
        chosen = pairs[int(np.argmax(count + frequent[pairs].sum(axis=1) / 2))].tolist()
        chosen.sort(key=lambda code: -frequent[code])
    while len(chosen) < n_classes:
        with_them = frequent.copy()
        for column in (0, 1):
            beside = np.isin(pairs[:, 1 - column], chosen)
            np.add.at(with_them, pairs[beside, column], count[beside])
        with_them[chosen] = -1.0
        chosen.append(int(np.argmax(with_them)))
    return chosen


def merge_classes(predictions: Predictions, first: int, second: int) -> Predictions:
    """Keep two classes and merge all others into a third, as the paper does with COVTYPE (App. G.4).

    `first` and `second` of L >= 3 classes become classes 0 and 1; the third is called "other" (with L = 3 it
    keeps its name).
    """
    chosen = _chosen(predictions, (first, second), 2)
    rest = np.setdiff1d(np.arange(predictions.n_classes), chosen)

    def sum_others(block: np.ndarray) -> np.ndarray:
        exact = block.astype(np.float64)
        exact[:, chosen] = 0.0
        return exact.sum(axis=1)

    other = map_row_blocks(sum_others, predictions.proba)
    merged = np.column_stack([predictions.proba[:, chosen], np.minimum(other, 1.0)])
    codes = np.full(predictions.n_classes, 2)
    codes[chosen] = (0, 1)
    names = [predictions.class_names[code] for code in chosen]
    name = predictions.class_names[rest[0]] if len(rest) == 1 else "other"
    while name in names:
        name += " classes"
    labels = None if predictions.labels is None else codes[predictions.labels]
    return Predictions(merged.astype(predictions.proba.dtype), labels, (*names, name), **predictions.carried)


def renormalise_classes(predictions: Predictions, classes: Sequence[int]) -> Predictions:
    """Keep three of L >= 3 classes and divide by their sum: probabilities conditional on one of the three.

    Rows of other true classes, or whose three probabilities are all 0, are left out.
    """
    chosen = _chosen(predictions, classes, 3)
    rows = rows_of_classes(predictions, classes)
    if not len(rows):
        raise InputError("no row is left: none has one of these three classes as its true class")
    kept = predictions.take(rows)
    proba = kept.proba[:, chosen] / kept.proba[:, chosen].sum(axis=1, dtype=np.float64, keepdims=True)
    codes = np.full(predictions.n_classes, -1)
    codes[chosen] = (0, 1, 2)
    labels = None if kept.labels is None else codes[kept.labels]
    names = tuple(predictions.class_names[code] for code in chosen)
    return Predictions(proba.astype(kept.proba.dtype), labels, names, **kept.carried)


def rows_of_classes(predictions: Predictions, classes: Sequence[int]) -> np.ndarray:
    """Return the rows that `renormalise_classes` keeps, (m,) int64, ascending."""
    chosen = _chosen(predictions, classes, 3)
    kept = predictions.proba[:, chosen].sum(axis=1, dtype=np.float64) > 0.0
    if predictions.labels is not None:
        kept &= np.isin(predictions.labels, chosen)
    return np.flatnonzero(kept)


def _chosen(predictions: Predictions, classes: Sequence[int], wanted: int) -> list[int]:
    codes = [int(code) for code in classes]
    n_classes = predictions.n_classes
    if n_classes < 3:
        raise InputError(f"a simplex view needs at least 3 classes; these predictions have {n_classes}")
    if len(set(codes)) != wanted or len(codes) != wanted or not all(0 <= c < n_classes for c in codes):
        raise InputError(f"choose {wanted} different class codes in 0..{n_classes - 1}; got {codes}")
    return codes
